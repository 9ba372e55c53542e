// Tests conversion of graphs to text and back, on random graphs of every operator:
// the result is the same graph, and its text is the same.
#include "tests/property/backends/random_graph.h"
#include "tests/unit/ir/ir_test.h"

namespace tg {
namespace {

class RoundTrip : public ::testing::TestWithParam<uint64_t> {};

TEST_P(RoundTrip, RandomGraphsComeBack) {
  Graph graph = std::move(test::RandomGraph(GetParam(), 60).graph);
  std::string text = to_text(graph);
  test::Built first(text);
  ASSERT_TRUE(first.graph) << first.rendered() << text;
  ASSERT_EQ(difference(graph, *first.graph), "") << text;
  ASSERT_EQ(verify(*first.graph), "");
  test::Built second(to_text(*first.graph));
  ASSERT_TRUE(second.graph) << second.rendered();
  EXPECT_EQ(difference(graph, *second.graph), "");
}

INSTANTIATE_TEST_SUITE_P(Seeds, RoundTrip, ::testing::Range<uint64_t>(1, 121));

} // namespace
} // namespace tg
