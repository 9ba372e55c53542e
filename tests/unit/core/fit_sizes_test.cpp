// Tests the fit of integers by expressions of open sizes: random expressions of the forms that
// models have are found from their values at the points of fit_points(), and wrong values are not.
#include "lang/core/sizes/fit.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <random>
#include <set>

namespace tg::sizes {
namespace {

using Random = std::mt19937_64;
using Function = std::function<int64_t(const Point&)>;

int64_t pick(Random& random, int64_t low, int64_t high) {
  return std::uniform_int_distribution<int64_t>(low, high)(random);
}

int64_t floor_of(int64_t a, int64_t by) { return (a - ((a % by) + by) % by) / by; }

Interval range(Random& random) {
  int64_t least = pick(random, 0, 3) ? pick(random, 0, 2) : pick(random, 3, 400);
  switch (pick(random, 0, 3)) {
  case 0: return {least, std::nullopt};
  case 1: return {least, least + pick(random, 12, 60)};
  default: return {least, least + pick(random, 100, 4000)};
  }
}

int64_t sample(Random& random, const Interval& range) {
  return pick(random, range.least, std::min(range.most.value_or(INT64_MAX), range.least + 700));
}

/// A size through layers with windows and strides, and enlargements by whole numbers. The strides
/// of a small range are small.
Function layers_of(Random& random, size_t size, llvm::ArrayRef<Interval> box) {
  int64_t count = box[size].most ? *box[size].most - box[size].least + 1 : 1000;
  int64_t most = count >= 400 ? kMostFitted : count >= 100 ? 8 : std::max<int64_t>(1, count / 12);
  struct Layer {
    int64_t offset = 0, stride = 1, times = 1;
  };
  std::vector<Layer> all;
  int64_t stride = 1;
  for (int64_t count = pick(random, 1, 6); count > 0; --count) {
    Layer layer;
    int64_t kernel = pick(random, 1, 7), padding = pick(random, 0, kernel / 2);
    layer.stride = pick(random, 1, 4);
    if (stride * layer.stride > most) layer.stride = 1;
    stride *= layer.stride;
    layer.offset = 2 * padding - kernel;
    if (stride == 1) layer.times = pick(random, 1, 2);
    all.push_back(layer);
  }
  int64_t last = pick(random, 1, 3);
  return [=](const Point& p) {
    int64_t n = p[size];
    for (const Layer& layer : all) n = (floor_of(n + layer.offset, layer.stride) + 1) * layer.times;
    return n * last;
  };
}

/// The same, above 0 at all points, as dimensions of layers are.
Function layers(Random& random, size_t size, llvm::ArrayRef<Interval> box,
                llvm::ArrayRef<Point> points) {
  for (;;) {
    Function f = layers_of(random, size, box);
    if (std::all_of(points.begin(), points.end(), [&](const Point& p) { return f(p) > 0; }))
      return f;
  }
}

Function expression(Random& random, llvm::ArrayRef<Interval> box, llvm::ArrayRef<Point> points) {
  size_t sizes = box.size();
  auto any = [&] { return static_cast<size_t>(pick(random, 0, static_cast<int64_t>(sizes) - 1)); };
  int64_t c = pick(random, -9, 99), times = pick(random, 1, 64);
  size_t a = any(), b = any(), d = any();
  switch (pick(random, 0, 6)) {
  case 0: return [=](const Point&) { return c; };
  case 1: {
    std::vector<int64_t> factors;
    for (size_t i = 0; i < sizes; ++i) factors.push_back(pick(random, -3, 5));
    return [=](const Point& p) {
      int64_t sum = c;
      for (size_t i = 0; i < p.size(); ++i) sum += factors[i] * p[i];
      return sum;
    };
  }
  case 2: return [=](const Point& p) { return times * p[a] * p[b]; };
  case 3: return [=](const Point& p) { return times * p[a] * p[b] * p[d] + c * p[a]; };
  case 4: return layers(random, a, box, points);
  case 5: {
    Function x = layers(random, a, box, points), y = layers(random, b, box, points);
    if (a == b) return [=](const Point& p) { return times * x(p) + c; };
    return [=](const Point& p) { return times * x(p) * y(p) + c; };
  }
  default: {
    int64_t by = pick(random, 2, 4);
    return [=](const Point& p) {
      int64_t sum = c;
      for (int64_t n : p) sum += n;
      return floor_of(sum, by) * times;
    };
  }
  }
}

TEST(FitSizes, ExpressionsAreFoundFromTheirValues) {
  Random random(7);
  int rounds = std::getenv("TANGRAM_FULL_TESTS") ? 200000 : 20000;
  for (int round = 0; round < rounds; ++round) {
    auto sizes = static_cast<size_t>(pick(random, 1, 3));
    std::vector<Interval> box;
    Point defaults;
    std::vector<std::string> names;
    for (size_t i = 0; i < sizes; ++i) {
      box.push_back(range(random));
      defaults.push_back(sample(random, box.back()));
      names.push_back(std::string(1, static_cast<char>('L' + i)));
    }
    std::vector<Point> points = fit_points(box, defaults);
    Function value = expression(random, box, points);
    std::vector<int64_t> values;
    for (const Point& point : points) values.push_back(value(point));
    Algebra algebra(names);
    std::optional<Expr> found = fit(algebra, points, values);
    ASSERT_TRUE(found) << "round " << round;
    for (int i = 0; i < 50; ++i) {
      Point point;
      for (const Interval& one : box) point.push_back(sample(random, one));
      ASSERT_EQ(algebra.value(*found, point), value(point))
          << "round " << round << ": " << algebra.text(*found);
    }
  }
}

TEST(FitSizes, OtherValuesAreRefused) {
  Random random(8);
  for (int round = 0; round < 300; ++round) {
    auto sizes = static_cast<size_t>(pick(random, 1, 3));
    std::vector<Interval> box(sizes, {1, std::nullopt});
    std::vector<Point> points = fit_points(box, Point(sizes, 1));
    std::vector<std::string> names(sizes, "N");
    Algebra algebra(names);
    Function value = expression(random, box, points);
    std::vector<int64_t> values;
    for (const Point& point : points)
      values.push_back(round % 2 ? pick(random, 1, 50) : value(point) + pick(random, 0, 1));
    EXPECT_EQ(fit(algebra, points, values), std::nullopt) << "round " << round;
  }
}

TEST(FitSizes, PointsAreDistinctAndInTheRanges) {
  Random random(9);
  for (int round = 0; round < 500; ++round) {
    auto sizes = static_cast<size_t>(pick(random, 0, 5));
    std::vector<Interval> box;
    Point defaults;
    for (size_t i = 0; i < sizes; ++i) {
      box.push_back(range(random));
      defaults.push_back(sample(random, box.back()));
    }
    std::vector<Point> points = fit_points(box, defaults);
    EXPECT_EQ(std::set<Point>(points.begin(), points.end()).size(), points.size());
    for (const Point& point : points)
      for (size_t i = 0; i < sizes; ++i) EXPECT_TRUE(box[i].contains(point[i]));
    for (size_t i = 0; i < sizes; ++i)
      for (int64_t by = 2; by <= kMostFitted; ++by) {
        std::set<int64_t> remainders;
        for (const Point& point : points) remainders.insert(point[i] % by);
        int64_t count = box[i].most ? *box[i].most - box[i].least + 1 : by;
        EXPECT_GE(static_cast<int64_t>(remainders.size()),
                  std::min(by, std::max<int64_t>(count - 2, 1)));
      }
  }
}

/// Known divisions make forms possible that are not looked for otherwise.
TEST(FitSizes, DivisionsOfEarlierFitsAreUsed) {
  std::vector<Interval> box(2, {32, std::nullopt});
  std::vector<Point> points = fit_points(box, {64, 64});
  Algebra algebra({"H", "W"});
  auto found = [&](const Function& value) {
    std::vector<int64_t> values;
    for (const Point& point : points) values.push_back(value(point));
    std::optional<Expr> e = fit(algebra, points, values);
    return e ? algebra.text(*e) : "none";
  };
  auto boxes = [](const Point& p) {
    return (p[0] / 8) * (p[1] / 8) + (p[0] / 16) * (p[1] / 16) + (p[0] / 32) * (p[1] / 32);
  };
  EXPECT_EQ(found(boxes), "none");
  for (int64_t by : {8, 16, 32})
    for (size_t i : {0, 1}) EXPECT_NE(found([=](const Point& p) { return p[i] / by; }), "none");
  EXPECT_EQ(found(boxes), "(H // 32) * (W // 32) + (H // 16) * (W // 16) + (H // 8) * (W // 8)");
  EXPECT_EQ(found([](const Point& p) { return p[0] / 16 - 2 * (p[0] / 32); }),
            "H // 16 - 2 * (H // 32)");
}

} // namespace
} // namespace tg::sizes
