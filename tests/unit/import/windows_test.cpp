// Tests how much of the image each window of a convolution or pool covers.
#include "compiler/import/onnx/read/shared/windows.h"

#include <gtest/gtest.h>

namespace tg::onnx {
namespace {

TEST(SlidingWindow, CountsElementsInside) {
  SlidingWindow window{5, 3, 2, 1, 1, 1, 3}; // starts at -1, 1, 3
  EXPECT_EQ(window.inside(0), 2);
  EXPECT_EQ(window.inside(1), 3);
  EXPECT_EQ(window.inside(2), 2);
  EXPECT_EQ(window.count(2, -1, 6), 3);
  EXPECT_EQ(window.reach(), 1);
}

TEST(SlidingWindow, ADilatedOneMayHaveNothingInside) {
  SlidingWindow window{1, 2, 1, 2, 1, 1, 1}; // elements -1 and 1
  EXPECT_EQ(window.inside(0), 0);
  EXPECT_EQ(window.count(0, -1, 2), 2);
}

TEST(SlidingWindow, ReachesBeyondThePaddingWhereItsNumberIsRoundedUp) {
  SlidingWindow window{4, 3, 2, 1, 0, 0, 2}; // the second one ends at 5
  EXPECT_EQ(window.reach(), 1);
  EXPECT_EQ(window.inside(1), 2);
}

} // namespace
} // namespace tg::onnx
