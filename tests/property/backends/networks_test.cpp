// Tests every backend on random networks against the float64 evaluator, which shares no runtime
// code with them: orders, lifetimes, in-place results, views, the load phase, layouts.
// A failure prints the smallest failing graph: one output, the earliest node that differs.
#include "compiler/emit/plan_from_graph.h"
#include "compiler/ir/evaluate.h"
#include "runtime/cpu/backend.h"
#include "runtime/random.h"
#include "runtime/ref/backend.h"
#include "tests/property/backends/random_graph.h"

#include <gtest/gtest.h>

namespace tg::test {
namespace {

constexpr uint64_t kSeed = 11;

/// Gives the evaluator the same floats as the backends.
NodeValues same_floats(const Graph& graph, NodeId id) {
  const std::string& name = graph.attr(id, 0).text;
  Result<Tensor> tensor = graph.node(id).op == OpKind::Input
                              ? random_input(name, graph.type(id), kSeed)
                              : random_weight(name, graph.type(id), graph.attr(id, 2).text, kSeed);
  return NodeValues(tensor->floats().begin(), tensor->floats().end());
}

struct Setting {
  const Backend* backend;
  CompileOptions options;
  std::string name;
};

std::vector<NodeValues> outputs(const Graph& graph, const Setting& setting) {
  Plan plan = plan_from_graph(graph);
  EXPECT_EQ(verify(plan), "");
  Result<std::unique_ptr<Executable>> executable = setting.backend->compile(plan, setting.options);
  EXPECT_TRUE(executable) << (executable ? "" : executable.error().message);
  if (!executable) return {};
  EXPECT_TRUE((*executable)->bind_inputs(*random_inputs(plan, kSeed)).ok());
  std::vector<NodeValues> values;
  for (int run = 0; run < 2; ++run) // twice: a run must not overwrite the data of the next
    EXPECT_TRUE((*executable)->run_once().ok());
  Result<std::vector<Tensor>> tensors = (*executable)->outputs();
  for (const Tensor& tensor : *tensors)
    values.emplace_back(tensor.floats().begin(), tensor.floats().end());
  return values;
}

/// Returns the same nodes with one output.
Graph only_output(const Graph& graph, NodeId node) {
  Graph copy(graph.shared_symbols(), graph.name());
  for (uint32_t i = 0; i < graph.size(); ++i)
    copy.add(graph.node({i}).op, graph.attrs({i}), graph.operands({i}));
  copy.add_output("y", node);
  return copy;
}

double difference(const Graph& graph, const Setting& setting, size_t* output = nullptr) {
  std::vector<NodeValues> want = *evaluate(graph, same_floats), got = outputs(graph, setting);
  double worst = 0;
  for (size_t i = 0; i < want.size(); ++i) {
    double d = i < got.size() ? max_rel_diff(got[i], want[i]) : 1;
    if (d > worst && output) *output = i;
    worst = std::max(worst, d);
  }
  return worst;
}

std::string smallest_failure(const Graph& graph, const Setting& setting, double tolerance) {
  for (uint32_t i = 0; i < graph.size(); ++i) {
    if (op_info(graph.node({i}).op).has(Trait::Leaf)) continue;
    if (graph.type({i}).dtype != DType::F32) continue; // compared through its cast or select
    Graph single = only_output(graph, {i});
    if (difference(single, setting) > tolerance)
      return "node %" + std::to_string(i) + " alone differs:\n" + dump(plan_from_graph(single));
  }
  return "no node alone differs; all outputs together do:\n" + dump(plan_from_graph(graph));
}

void check(const std::vector<Setting>& settings, double tolerance, int networks, int operators) {
  std::vector<size_t> seen(kOpCount, 0);
  for (int seed = 0; seed < networks; ++seed) {
    RandomGraph random(static_cast<uint64_t>(seed), operators);
    for (uint32_t i = 0; i < random.graph.size(); ++i)
      ++seen[static_cast<size_t>(random.graph.node({i}).op)];
    for (const Setting& setting : settings)
      ASSERT_LE(difference(random.graph, setting), tolerance)
          << setting.name << ", network " << seed << ": "
          << smallest_failure(random.graph, setting, tolerance);
  }
  for (const OpInfo& info : all_ops()) {
    bool weight_side = info.kind == OpKind::Enlarge || info.kind == OpKind::MergeGconv;
    bool declared = info.kind == OpKind::Extern;  // extern_op_test.cpp tests these
    bool resampled = info.kind == OpKind::Resize; // cpu_ref_test.cpp tests its shapes and modes
    if (info.has(Trait::Sugar) || weight_side || declared || resampled) continue;
    EXPECT_GT(seen[static_cast<size_t>(info.kind)], 0u) << info.name << " never occurs";
  }
}

TEST(Networks, RefAgreesWithFloat64) {
  std::unique_ptr<Backend> ref = make_ref_backend();
  check({{ref.get(), {.seed = kSeed}, "ref"}}, 2e-5, 150, 25);
}

TEST(Networks, CpuAgreesWithFloat64) {
  std::unique_ptr<Backend> cpu = make_cpu_backend();
  std::vector<Setting> settings;
  for (int threads : {1, 2})
    for (IoLayout layout : {IoLayout::Plain, IoLayout::Native})
      settings.push_back({cpu.get(),
                          {.threads = threads, .seed = kSeed, .io_layout = layout},
                          "cpu, " + std::to_string(threads) + " threads" +
                              (layout == IoLayout::Native ? ", native" : "")});
  check(settings, 1e-4, 60, 25);
}

/// In these cases, oneDNN 2.6.3 crashes or returns wrong results with its default kernel (found
/// by these networks).
TEST(Networks, ConvolutionsWithRowsThatSeeOnlyPadding) {
  std::unique_ptr<Backend> cpu = make_cpu_backend();
  for (int variant = 0; variant < 16; ++variant) {
    Graph graph(std::make_shared<Symbols>(), "m");
    auto attr = [&](const Value& value) { return graph.symbols().value(value); };
    int64_t height = variant & 1 ? 5 : 1;
    NodeId x = graph.input("x", f32({1, 6, height, 5})), residual = graph.none();
    if (variant & 2)
      residual = graph.add(OpKind::Tanh, {}, {graph.input("r", f32({1, 4, height, 5}))});
    graph.add_output(
        "y",
        graph.add(OpKind::Conv2d,
                  {attr(Value::of_int(1)), attr(Value::of_enum("same")), attr(Value::of_int(2)),
                   attr(Value::of_enum(variant & 4 ? "sigmoid" : "none"))},
                  {x, graph.weight("w", f32({4, 6, 2, 2})),
                   variant & 8 ? graph.weight("b", f32({4})) : graph.none(), residual}));
    EXPECT_LT(difference(graph, {cpu.get(), {.seed = kSeed}, "cpu"}), 1e-5)
        << "variant " << variant;
  }
}

/// A reshape of a slice requires a copy of the slice, and an output may need the same copy.
TEST(Networks, AViewOnACopyIsNotOverwrittenWhileTheCopyIsWanted) {
  std::unique_ptr<Backend> cpu = make_cpu_backend();
  Graph graph(std::make_shared<Symbols>(), "m");
  auto attr = [&](const Value& value) { return graph.symbols().value(value); };
  NodeId cut = graph.add(OpKind::Slice,
                         {attr(Value::of_int(1)), attr(Value::of_int(1)), attr(Value::of_int(2))},
                         {graph.input("x", f32({3, 4, 10}))});
  NodeId flat = graph.add(OpKind::Reshape, {attr(Value::of_ints({30}))}, {cut});
  graph.add_output("cut", cut);
  graph.add_output("minus", graph.add(OpKind::Neg, {}, {flat}));
  EXPECT_LT(difference(graph, {cpu.get(), {.seed = kSeed}, "cpu"}), 1e-6);
}

} // namespace
} // namespace tg::test
