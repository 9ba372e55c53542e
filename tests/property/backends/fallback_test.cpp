// Tests every operator in every dtype that it supports, on `cpu` against `ref`:
// with the chosen kernels, oneDNN's, the own ones, and the operator's definition between the
// conversions around its kernels. A kernel that reads or writes another dtype than its neighbours
// is wrong by orders of magnitude.
#include "tests/property/backends/every_operator.h"

#include <cstdlib>

namespace tg::test {
namespace {

/// The tolerance relative to the largest element. A sum near a tie may round either way.
double slack_of(DType floats) {
  switch (floats) {
  case DType::F64: return 1e-13;
  case DType::F16: return 0x1p-10;
  case DType::BF16: return 0x1p-7;
  default: return 2e-5;
  }
}

/// Runs the graph with each choice of kernels.
void check(const Graph& graph, DType floats, uint64_t draw) {
  Plan plan = plan_from_graph(graph);
  std::vector<Tensor> want = outputs_of(*make_ref_backend(), plan, {});
  CompileOptions options;
  options.threads = draw / 4 % 2 != 0 ? 2 : 1;
  options.io_layout = draw / 8 % 2 != 0 ? IoLayout::Native : IoLayout::Plain;
  for (Products products :
       {Products::Chosen, Products::Library, Products::Tiles, Products::Reference}) {
    Comparison info;
    std::vector<Tensor> got = outputs_of(*make_cpu_backend(products), plan, options, 1, &info);
    ASSERT_EQ(got.size(), want.size()) << dump(graph);
    for (size_t i = 0; i < got.size(); ++i)
      EXPECT_EQ(first_disagreement(got[i], want[i], slack_of(floats)), "")
          << dump(graph) << implementations(info) << "products " << static_cast<int>(products);
  }
}

/// Random instances, many more with TANGRAM_FULL_TESTS.
TEST(Fallback, EveryOperatorInEveryDTypeComputesInTheTypeThatItReads) {
  size_t of_each = std::getenv("TANGRAM_FULL_TESTS") ? 400 : 12, ran = 0;
  uint64_t draw = 0;
  for (const Instance& one : instances(1, of_each))
    for (DType floats : {DType::F32, DType::F16, DType::BF16, DType::F64}) {
      auto operands = static_cast<Operands>(++draw % 3);
      InstanceGraph drawn(one, floats, operands, draw / 3);
      if (!drawn.is_valid()) continue;
      check(drawn.graph(), floats, draw);
      ++ran;
      if (testing::Test::HasFailure()) return;
    }
  EXPECT_GT(ran, of_each * 200);
}

/// Windows of every stride, dilation and output padding, many of which oneDNN does not support.
TEST(Fallback, TransposedConvolutionsOfHalves) {
  uint64_t draw = 0;
  for (DType floats : {DType::F16, DType::BF16, DType::F64})
    for (int64_t stride : {1, 2, 3})
      for (int64_t extra : {0, 1, 2, 3})
        for (int64_t dilation : {1, 2})
          for (int64_t groups : {1, 2}) {
            Instance one{OpKind::ConvTranspose2d,
                         {pair(stride, 1), Value::of_int(0), pair(extra, extra),
                          pair(dilation, dilation), Value::of_int(groups)},
                         {f32({1, 2 * groups, 3, 2}), f32({2 * groups, 3, 2, 2}), TensorType{}}};
            ++draw;
            InstanceGraph drawn(one, floats, static_cast<Operands>(draw % 3), draw);
            ASSERT_TRUE(drawn.is_valid());
            check(drawn.graph(), floats, draw);
          }
}

} // namespace
} // namespace tg::test
