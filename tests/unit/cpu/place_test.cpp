// Tests views and loop nests by brute force: each element of a view must be the one that the
// operator's definition selects.
#include "runtime/cpu/lowering/place.h"

#include <gtest/gtest.h>

#include <random>

namespace tg::cpu {
namespace {

/// Returns the addresses of the elements in row-major order of the place's shape.
std::vector<int64_t> addresses(const Place& p) {
  std::vector<int64_t> out;
  for (int64_t i = 0; i < p.elements(); ++i) {
    int64_t rest = i, at = p.offset;
    for (size_t k = p.shape.size(); k-- > 0;) {
      at += rest % p.shape[k] * p.strides[k];
      rest /= p.shape[k];
    }
    out.push_back(at);
  }
  return out;
}

Place plain(Shape shape) { return {0, 0, shape, contiguous_strides(shape)}; }

TEST(Place, KnowsLayouts) {
  Place p = plain({2, 3, 4, 5});
  EXPECT_TRUE(is_plain(p));
  EXPECT_FALSE(is_nhwc(p));
  p.strides = nhwc_strides(p.shape);
  EXPECT_TRUE(is_nhwc(p));
  EXPECT_FALSE(is_plain(p));
  EXPECT_TRUE(is_dense(p));
  EXPECT_FALSE(is_dense(slice(p, 1, 0, 2)));
  EXPECT_TRUE(is_dense(slice(p, 0, 1, 2)));
}

TEST(Place, ViewsInterleaveWhereAnAxisStepsWithinOthers) {
  Place p = plain({4, 6, 5});
  EXPECT_FALSE(interleaves(p));
  EXPECT_FALSE(interleaves(transpose(p, {2, 0, 1})));
  EXPECT_FALSE(interleaves(slice(slice(p, 1, 2, 4), 2, 0, 3)));
  EXPECT_TRUE(interleaves(broadcast(plain({1, 5}), {4, 5})));
  EXPECT_FALSE(interleaves(broadcast(plain({1, 5}), {1, 5})));
  EXPECT_TRUE(interleaves({0, 0, {7, 3}, {1, 1}})) << "windows one after the other";
  EXPECT_TRUE(interleaves({0, 0, {4, 3}, {2, 1}})) << "that overlap";
  EXPECT_FALSE(interleaves({0, 0, {3, 3}, {3, 1}})) << "side by side";
  EXPECT_TRUE(interleaves({0, 0, {2, 3, 2}, {9, 3, 2}})) << "every second of three";
}

TEST(Place, OnePixelImagesAreBothPlainAndNhwc) {
  Place p = plain({1, 7, 1, 1});
  EXPECT_TRUE(is_plain(p));
  EXPECT_TRUE(is_nhwc(p));
  auto view = reshape({0, 0, {1, 7, 1, 1}, nhwc_strides({1, 7, 1, 1})}, {1, 7});
  ASSERT_TRUE(view);
  EXPECT_TRUE(is_plain(*view));
}

TEST(Place, ReshapeOfAnImageNeedsACopy) {
  Place p{0, 0, {1, 4, 3, 3}, nhwc_strides({1, 4, 3, 3})};
  EXPECT_FALSE(reshape(p, {1, 36}));
  auto pixels = reshape(p, {4, 9});
  ASSERT_TRUE(pixels);
  EXPECT_EQ(addresses(*pixels), addresses(p));
}

TEST(Place, ReshapeIsRightWhereverItIsAView) {
  std::mt19937_64 random(3);
  auto in = [&](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random() % static_cast<uint64_t>(high - low + 1));
  };
  int views = 0;
  for (int round = 0; round < 2000; ++round) {
    Shape shape;
    for (int64_t i = in(1, 4); i > 0; --i) shape.push_back(in(1, 4));
    Place p = plain(shape);
    if (in(0, 1)) p = slice(p, 0, in(0, shape[0] - 1), shape[0]);
    if (in(0, 1)) {
      llvm::SmallVector<int64_t> perm;
      for (size_t i = 0; i < shape.size(); ++i) perm.push_back(static_cast<int64_t>(i));
      std::shuffle(perm.begin(), perm.end(), random);
      p = transpose(p, perm);
    }
    Shape into;
    for (int64_t left = p.elements(); left > 1;) {
      int64_t size = in(1, left);
      if (left % size != 0) continue;
      into.push_back(size);
      left /= size;
    }
    if (in(0, 1)) into.push_back(1);
    std::optional<Place> view = reshape(p, into);
    if (!view) {
      EXPECT_FALSE(is_plain(p)) << "a row-major tensor never needs a copy";
      continue;
    }
    ++views;
    EXPECT_EQ(addresses(*view), addresses(p));
  }
  EXPECT_GT(views, 1000);
}

TEST(Place, LoopsVisitTheSamePairsAsTheDefinition) {
  std::mt19937_64 random(4);
  for (int round = 0; round < 500; ++round) {
    Shape shape;
    for (uint64_t i = random() % 5; i > 0; --i) shape.push_back(1 + random() % 4);
    llvm::SmallVector<int64_t> order;
    for (size_t i = 0; i < shape.size(); ++i) order.push_back(static_cast<int64_t>(i));
    std::shuffle(order.begin(), order.end(), random);
    Place a{0, 0, shape, dense_strides(shape, order)}, b = plain(shape);
    for (int64_t& stride : b.strides)
      if (random() % 3 == 0) stride = 0;
    std::vector<std::pair<int64_t, int64_t>> want, got = {{0, 0}};
    std::vector<int64_t> as = addresses(a), bs = addresses(b);
    for (size_t i = 0; i < as.size(); ++i) want.push_back({as[i], bs[i]});
    for (const Loop& loop : loops({&a, &b})) {
      std::vector<std::pair<int64_t, int64_t>> next;
      for (auto [x, y] : got)
        for (int64_t i = 0; i < loop.extent; ++i)
          next.push_back({x + i * loop.strides[0], y + i * loop.strides[1]});
      got = std::move(next);
    }
    std::sort(want.begin(), want.end());
    std::sort(got.begin(), got.end());
    EXPECT_EQ(want, got);
  }
}

TEST(Place, MergesContiguousLoops) {
  Place p = plain({2, 3, 4, 5});
  EXPECT_EQ(loops({&p, &p}).size(), 1u);
  Place channel{0, 0, p.shape, {0, 1, 0, 0}};
  Place image{0, 0, p.shape, nhwc_strides(p.shape)};
  EXPECT_EQ(loops({&image, &channel}).size(), 2u);
}

TEST(Place, BroadcastHasStrideZero) {
  Place p = broadcast(plain({3, 1}), {2, 3, 4});
  EXPECT_EQ(p.strides, (Shape{0, 1, 0}));
  EXPECT_EQ(p.span(), 3);
}

} // namespace
} // namespace tg::cpu
