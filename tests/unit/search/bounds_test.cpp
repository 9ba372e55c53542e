// Tests which certified bounds apply to a result.
#include "compiler/search/portfolio/portfolio.h"

#include <gtest/gtest.h>

namespace tg {
namespace {

GraphBound bound(double lower_us, double best_us, size_t nodes, bool saturated) {
  GraphBound out;
  out.lower_us = lower_us, out.best_us = best_us, out.nodes = nodes, out.saturated = saturated;
  return out;
}

std::vector<size_t> nodes_of(llvm::ArrayRef<GraphBound> bounds) {
  std::vector<size_t> out;
  for (const GraphBound& one : bounds) out.push_back(one.nodes);
  return out;
}

TEST(Bounds, AreEmptyForEGraphsWithoutAnEquallyCheapGraph) {
  EXPECT_TRUE(bounds_on(10, {bound(20, 20, 300, true), bound(5, 11, 400, false)}).empty());
}

TEST(Bounds, TheLargestProofComesFirstThenTheLargestEGraph) {
  EXPECT_EQ(nodes_of(bounds_on(10, {bound(10, 10, 300, true), bound(10, 10, 100, true),
                                    bound(7, 10, 900, false), bound(8, 10, 600, false)})),
            (std::vector<size_t>{300, 900}));
}

TEST(Bounds, AProofInAnEGraphThatEndedByItselfIsPreferred) {
  EXPECT_EQ(nodes_of(bounds_on(10, {bound(10, 10, 300, true), bound(10, 10, 900, false)})),
            (std::vector<size_t>{300, 900}));
}

TEST(Bounds, WithoutAProofTheLargestEGraphIsAllThereIs) {
  EXPECT_EQ(nodes_of(bounds_on(10, {bound(9, 10, 200, true), bound(8, 10, 500, false)})),
            (std::vector<size_t>{500}));
}

TEST(Bounds, EachEGraphIsReportedOnce) {
  EXPECT_EQ(nodes_of(bounds_on(10, {bound(10, 10, 300, true)})), (std::vector<size_t>{300}));
}

} // namespace
} // namespace tg
