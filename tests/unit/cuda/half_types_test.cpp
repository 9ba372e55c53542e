// Tests f16 and bf16 on generated kernels, executed on the processor. Random networks,
// retyped like `tg run --dtype`, are compared with `ref` in the same dtype,
// which differs only in the places of rounding. Layers of real networks are compared with `ref`
// in f32, within the bounds for runs.
#include "compiler/emit/plan_from_graph.h"
#include "compiler/ir/retype.h"
#include "tests/property/backends/random_graph.h"
#include "tests/unit/cuda/cpp_target.h"

namespace tg::test {
namespace {

/// A bound relative to a network's largest output. A unit in the last place is 1e-3 or 8e-3.
double bound(DType dtype) { return dtype == DType::F16 ? 1e-2 : 8e-2; }

bool by_library(const PlanStep& step) { return !cuda::can_generate(step.op); }

TEST(HalfTypes, RandomNetworksAgreeWithRefInTheSameType) {
  std::vector<Generated> networks;
  std::vector<cuda::KernelSource> sources;
  for (DType dtype : {DType::F16, DType::BF16})
    for (uint64_t seed = 300; seed < 312; ++seed) {
      auto narrow = retype(RandomGraph(seed, 6, Operators::Generated).graph, dtype);
      if (!narrow) continue; // an operator does not support the dtype
      networks.push_back(generate_all(plan_from_graph(*narrow), by_library));
      for (const cuda::KernelSource& source : sources_of(networks.back()))
        sources.push_back(source);
    }
  ASSERT_GE(networks.size(), 12u);
  CppLibrary library;
  library.compile(sources);
  for (const Generated& network : networks)
    EXPECT_LE(difference(network, library), bound(DType::BF16)) << dump(network.plan);
}

/// act(x @ w + b), layer norm, softmax over scores.
Graph layer() {
  Graph g(std::make_shared<Symbols>());
  Symbols& symbols = g.symbols();
  auto one = [&](const Value& value) {
    return llvm::SmallVector<ValueId, 1>{symbols.value(value)};
  };
  NodeId x = g.input("x", f32({16, 64}));
  NodeId product = g.add(OpKind::Matmul, one(Value::of_enum("gelu")),
                         {x, g.weight("w", f32({64, 64})), g.weight("b", f32({64})), g.none()});
  NodeId sum = g.add(OpKind::Add, {}, {product, x});
  NodeId norm = g.add(OpKind::LayerNorm, one(Value::of_float(1e-5)),
                      {sum, g.weight("s", f32({64})), g.weight("c", f32({64}))});
  NodeId scores = g.add(OpKind::Matmul, one(Value::of_enum("none")),
                        {norm, g.weight("k", f32({64, 32})), g.none(), g.none()});
  g.add_output("y", g.add(OpKind::Softmax, one(Value::of_int(1)), {scores}));
  return g;
}

TEST(HalfTypes, ALayerIsWithinItsBoundOfF32) {
  Graph wide = layer();
  auto want = by_ref(plan_from_graph(wide), 7);
  for (DType dtype : {DType::F16, DType::BF16}) {
    auto narrow = retype(wide, dtype);
    ASSERT_TRUE(narrow.ok());
    Generated network = generate_all(plan_from_graph(*narrow), by_library);
    CppLibrary library;
    library.compile(sources_of(network));
    auto got = HostRun(network, library).outputs(7);
    double worst = max_rel_diff(got[0], want[0]);
    EXPECT_LE(worst, bound(dtype));
    EXPECT_GT(worst, 1e-6) << "nothing was computed in the narrow type";
  }
}

} // namespace
} // namespace tg::test
