#include "compiler/equiv/field_product.h"

#include "lang/core/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace tg {
namespace {

struct Sizes {
  int64_t m, n, k;
};

/// Every path against the definition, element by element.
void compare(Sizes s, const std::vector<Field>& a, const std::vector<Field>& b, FieldPath path) {
  std::vector<int> stored(static_cast<size_t>(s.m * s.n));
  auto row = [&](int64_t l, int64_t first, int64_t count, Field* out) {
    std::copy_n(b.data() + l * s.n + first, count, out);
  };
  auto store = [&](int64_t i, int64_t first, llvm::ArrayRef<Field> sums) {
    for (size_t at = 0; at < sums.size(); ++at) {
      int64_t j = first + static_cast<int64_t>(at);
      ++stored[static_cast<size_t>(i * s.n + j)];
      ASSERT_LT(sums[at].lazy, Field::kLazyLimit);
      Field wanted{};
      for (int64_t l = 0; l < s.k; ++l)
        wanted += a[static_cast<size_t>(i * s.k + l)] * b[static_cast<size_t>(l * s.n + j)];
      ASSERT_EQ(sums[at].value(), wanted.value()) << i << ", " << j;
    }
  };
  multiply({s.m, s.n, s.k, a.data(), s.k, row, store}, path);
  EXPECT_EQ(std::count(stored.begin(), stored.end(), 1), s.m * s.n); // each once
}

void compare_paths(Sizes s, const std::vector<Field>& a, const std::vector<Field>& b) {
  for (FieldPath path : {FieldPath::Wide, FieldPath::Evaluate}) {
    if (!has_field_path(path)) continue;
    SCOPED_TRACE(std::to_string(s.m) + " x " + std::to_string(s.n) + " x " + std::to_string(s.k) +
                 ", path " + std::to_string(static_cast<int>(path)));
    compare(s, a, b, path);
  }
}

TEST(FieldProduct, IsTheSumOfProducts) {
  RandomStream random(1, "field products");
  uint64_t drawn = 0;
  // Around the sizes of tiles, panels and blocks.
  for (Sizes s : {Sizes{1, 1, 1},
                  {3, 5, 7},
                  {4, 120, 33},
                  {8, 24, 384},
                  {9, 25, 385},
                  {17, 121, 40},
                  {2, 241, 800}}) {
    std::vector<Field> a(static_cast<size_t>(s.m * s.k)), b(static_cast<size_t>(s.k * s.n));
    for (auto* matrix : {&a, &b})
      for (Field& x : *matrix) x = Field::of_bits(random.bits(drawn++));
    compare_paths(s, a, b);
  }
}

// 2^61 + 7 is the largest lazy value, and 2^61 - 1 has all bits of its limbs set.
TEST(FieldProduct, NeverOverflows) {
  for (uint64_t largest : {Field::kLazyLimit - 1, kFieldPrime, kFieldPrime - 1}) {
    Sizes s{2, 3, 140'000};
    std::vector<Field> a(static_cast<size_t>(s.m * s.k), Field{largest});
    std::vector<Field> b(static_cast<size_t>(s.k * s.n), Field{largest});
    compare_paths(s, a, b);
  }
}

} // namespace
} // namespace tg
