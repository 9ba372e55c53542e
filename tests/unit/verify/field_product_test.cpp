#include "compiler/verify/field/product.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace tg {
namespace {

struct Sizes {
  int64_t m, n, k;
};

/// Compares the path with the definition, element by element.
void compare(Sizes s, const std::vector<Field>& a, const std::vector<Field>& b, FieldPath path) {
  std::vector<Field> results(static_cast<size_t>(s.m * s.n));
  std::vector<int> stored(results.size());
  auto row = [&](int64_t l, int64_t first, int64_t count, Field* out) {
    std::copy_n(b.data() + l * s.n + first, count, out);
  };
  auto store = [&](int64_t i, int64_t first, llvm::ArrayRef<Field> sums) {
    for (size_t at = 0; at < sums.size(); ++at) {
      size_t place = static_cast<size_t>(i * s.n + first) + at;
      ++stored[place];
      results[place] = sums[at];
    }
  };
  multiply({s.m, s.n, s.k, a.data(), s.k, row, store}, path);
  EXPECT_EQ(std::count(stored.begin(), stored.end(), 1), s.m * s.n); // each once
  for (int64_t i = 0; i < s.m; ++i)
    for (int64_t j = 0; j < s.n; ++j) {
      Field wanted{};
      for (int64_t l = 0; l < s.k; ++l)
        wanted += a[static_cast<size_t>(i * s.k + l)] * b[static_cast<size_t>(l * s.n + j)];
      ASSERT_EQ(results[static_cast<size_t>(i * s.n + j)], wanted) << i << ", " << j;
    }
}

void compare_paths(Sizes s, const std::vector<Field>& a, const std::vector<Field>& b) {
  for (FieldPath path : {FieldPath::Wide, FieldPath::Avx2, FieldPath::Ifma}) {
    if (!has_field_path(path)) continue;
    SCOPED_TRACE(std::to_string(s.m) + " x " + std::to_string(s.n) + " x " + std::to_string(s.k) +
                 ", path " + std::to_string(static_cast<int>(path)));
    compare(s, a, b, path);
  }
}

TEST(FieldProduct, IsTheSumOfProducts) {
  uint64_t drawn = 0;
  // Around the sizes of tiles, panels and blocks.
  for (Sizes s : {Sizes{1, 1, 1},
                  {3, 5, 7},
                  {4, 120, 33},
                  {8, 24, 384},
                  {9, 25, 385},
                  {300, 7, 129},
                  {260, 125, 2100},
                  {17, 121, 40},
                  {2, 241, 800}}) {
    std::vector<Field> a(static_cast<size_t>(s.m * s.k)), b(static_cast<size_t>(s.k * s.n));
    for (auto* matrix : {&a, &b})
      for (Field& x : *matrix) x = Field::random(drawn++);
    compare_paths(s, a, b);
  }
}

// The largest residues, and enough terms that halves are folded more than once.
TEST(FieldProduct, NeverOverflows) {
  Field largest;
  for (int i = 0; i < kFieldLanes; ++i) largest.lane[i] = field_point.prime[i] - 1;
  for (int64_t k : {2048, 2049, 10'000}) {
    Sizes s{5, 7, k};
    std::vector<Field> a(static_cast<size_t>(s.m * s.k), largest);
    std::vector<Field> b(static_cast<size_t>(s.k * s.n), largest);
    compare_paths(s, a, b);
  }
}

TEST(FieldProduct, IsTheSameOnManyThreads) {
  Sizes s{300, 130, 64};
  std::vector<Field> a(static_cast<size_t>(s.m * s.k)), b(static_cast<size_t>(s.k * s.n));
  uint64_t drawn = 0;
  for (auto* matrix : {&a, &b})
    for (Field& x : *matrix) x = Field::random(drawn++);
  FieldPoint point = draw_point(digest_of({"threads"}), 0);
  point.threads = 4;
  FieldScope scope(point);
  compare_paths(s, a, b);
}

} // namespace
} // namespace tg
