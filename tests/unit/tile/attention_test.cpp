// Tests attention on register tiles, and with plain loops for processors without them,
// against sums in float64: odd sizes, tails, few rows, groups of heads that share keys,
// operands with gaps or transposed, both kinds of masks. Operands and results are between
// inaccessible pages.
#include "runtime/cpu/tile/attention.h"

#include "tests/unit/random_draws.h"
#include "tests/unit/tile/guarded.h"

#include <cmath>
#include <cstring>
#include <limits>

namespace tg::tile {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kUnwritten = -77;

float max_of_row(const float* a, int64_t n) {
  float most = a[0];
  for (int64_t i = 1; i < n; ++i)
    if (!std::isnan(most)) most = a[i] > most || std::isnan(a[i]) ? a[i] : most;
  return most;
}

void softmax_of_row(float* out, const float* a, int64_t n) {
  float most = max_of_row(a, n);
  double total = 0;
  for (int64_t i = 0; i < n; ++i) total += out[i] = std::exp(a[i] - most);
  for (int64_t i = 0; i < n; ++i) out[i] = static_cast<float>(out[i] / total);
}

void mask_one_row(float* row, const float* mask, const uint8_t* seen, float otherwise, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    if (mask) row[i] += mask[i];
    if (seen && !seen[i]) row[i] = otherwise;
  }
}

enum class Lying : uint8_t { Any, AlongColumns };

/// The steps of a matrix for each of `count` heads, the step between heads, and the total size.
struct Lies {
  int64_t row, column, head, size;
};
Lies lie_of(RandomDraws& r, int64_t rows, int64_t columns, int64_t count, Lying lying) {
  int64_t gap = r.coin() ? 0 : r.in(1, 9);
  bool turned = lying == Lying::Any && r.coin();
  Lies l{turned ? 1 : columns + gap, turned ? rows + gap : 1, 0, 0};
  int64_t one = (rows - 1) * l.row + (columns - 1) * l.column + 1;
  l.head = one + (r.coin() ? 0 : r.in(1, 9));
  l.size = (count - 1) * l.head + one;
  return l;
}

struct AttentionCase {
  AttentionShape shape;
  int64_t q_size, keys_size, values_size, y_size, mask_size = 0, seen_size = 0;
  bool causal = false, at_end = false;
};

AttentionCase random_attention(RandomDraws& r) {
  AttentionCase c;
  AttentionShape& s = c.shape;
  s.rows = r.in(0, 2) == 0 ? 1 : r.in(1, r.coin() ? 5 : 70);
  s.places = r.in(0, 5) == 0 ? 1 : r.in(1, r.coin() ? 20 : 150);
  s.width = r.coin() ? 8 * r.in(1, 9) : r.in(1, 40);
  s.value_width = r.coin() ? 16 * r.in(1, 5) : r.in(1, 70);
  int64_t groups = r.in(1, 3), each = r.coin() ? 1 : r.in(2, 4), heads = groups * each;
  Lies q = lie_of(r, s.rows, s.width, heads, Lying::Any);
  Lies keys = lie_of(r, s.width, s.places, groups, Lying::Any);
  Lies values = lie_of(r, s.places, s.value_width, groups, Lying::Any);
  Lies y = lie_of(r, s.rows, s.value_width, heads, Lying::AlongColumns);
  Lies mask = lie_of(r, s.rows, s.places, heads, Lying::Any);
  Lies seen = lie_of(r, s.rows, s.places, heads, r.coin() ? Lying::Any : Lying::AlongColumns);
  s.q_row = q.row, s.q_width = q.column;
  s.key_width = keys.row, s.key_place = keys.column;
  s.value_place = values.row, s.value_column = values.column;
  s.y_row = y.row;
  s.mask_row = r.coin() ? mask.row : 0, s.mask_place = r.in(0, 4) ? mask.column : 0;
  s.seen_row = r.in(0, 3) ? seen.row : 0, s.seen_place = r.in(0, 4) ? seen.column : 0;
  bool one_mask = r.coin();
  s.heads.clear();
  for (int64_t i = 0; i < heads; ++i)
    s.heads.push_back({i * q.head, i / each * keys.head, i / each * values.head, i * y.head,
                       one_mask ? 0 : i * mask.head, one_mask ? 0 : i * seen.head});
  c.q_size = q.size, c.keys_size = keys.size, c.values_size = values.size, c.y_size = y.size;
  if (r.coin()) c.mask_size = mask.size;
  if (r.coin()) c.seen_size = seen.size;
  c.causal = r.coin();
  c.at_end = r.coin();
  return c;
}

/// The operands of a case, and one of its results by definition.
struct Operands {
  Operands(RandomDraws& r, const AttentionCase& c)
      : shape(c.shape), q(c.q_size, c.at_end), keys(c.keys_size, c.at_end),
        values(c.values_size, c.at_end), mask(c.mask_size, c.at_end), seen(c.seen_size, c.at_end),
        y(c.y_size, c.at_end) {
    for (Guarded* one : {&q, &keys, &values, &mask})
      for (float& x : *one) x = r.number();
    for (float& x : mask)
      if (r.in(0, 9) == 0) x = -kInfinity;
    for (uint8_t& flag : seen) flag = r.in(0, 5) != 0;
    if (c.causal && c.seen_size > 0) hide_later();
    std::fill(y.begin(), y.end(), kUnwritten);
    otherwise = r.coin() ? -1e9F : r.coin() ? -kInfinity : -3;
  }

  void hide_later() {
    for (const HeadOffsets& head : shape.heads)
      for (int64_t i = 0; i < shape.rows; ++i)
        for (int64_t j = 0; j < shape.places; ++j)
          seen.data[head.seen + i * shape.seen_row + j * shape.seen_place] =
              j <= i + shape.places / 3;
  }

  std::vector<double> row(const HeadOffsets& head, int64_t i) const {
    std::vector<double> scores, result;
    for (int64_t j = 0; j < shape.places; ++j) {
      double score = 0;
      for (int64_t k = 0; k < shape.width; ++k)
        score +=
            static_cast<double>(q.data[head.q + i * shape.q_row + k * shape.q_width]) *
            static_cast<double>(keys.data[head.keys + k * shape.key_width + j * shape.key_place]);
      if (mask.size())
        score +=
            static_cast<double>(mask.data[head.mask + i * shape.mask_row + j * shape.mask_place]);
      if (seen.size() && !seen.data[head.seen + i * shape.seen_row + j * shape.seen_place])
        score = static_cast<double>(otherwise);
      scores.push_back(score);
    }
    double most = *std::max_element(scores.begin(), scores.end()), total = 0;
    for (double score : scores) most = std::isnan(score) ? score : most;
    for (double& score : scores) total += score = std::exp(score - most);
    for (int64_t v = 0; v < shape.value_width; ++v) {
      double sum = 0;
      for (int64_t j = 0; j < shape.places; ++j)
        sum += scores[static_cast<size_t>(j)] / total *
               static_cast<double>(
                   values.data[head.values + j * shape.value_place + v * shape.value_column]);
      result.push_back(sum);
    }
    return result;
  }

  void run(const Attention& attention, float* to) {
    Guarded scratch(std::max<int64_t>(1, attention.scratch_elements()), true);
    std::fill(scratch.begin(), scratch.end(), std::nanf("")); // stale values must not be used
    AttentionData data;
    data.q = q.data, data.keys = keys.data, data.values = values.data;
    data.mask = mask.size() ? mask.data : nullptr;
    data.seen = seen.size() ? seen.data : nullptr;
    data.y = to;
    data.scratch = scratch.data;
    data.otherwise = otherwise;
    data.max = max_of_row;
    data.softmax = softmax_of_row;
    data.mask_row = mask_one_row;
    for (int part = attention.parts(); part-- > 0;) attention.run(part, data);
  }

  const AttentionShape& shape;
  Guarded q, keys, values, mask;
  GuardedArray<uint8_t> seen;
  Guarded y;
  float otherwise;
};

/// Compares the results. Returns the error, or "".
std::string compare(const Operands& o) {
  const AttentionShape& s = o.shape;
  for (const HeadOffsets& head : s.heads)
    for (int64_t i = 0; i < s.rows; ++i) {
      std::vector<double> want = o.row(head, i);
      for (int64_t v = 0; v < (i + 1 < s.rows ? s.y_row : s.value_width); ++v) {
        float got = o.y.data[head.y + i * s.y_row + v];
        if (v >= s.value_width) {
          if (got != kUnwritten) return "wrote between rows";
          continue;
        }
        double wanted = want[static_cast<size_t>(v)];
        bool right = std::isfinite(wanted) ? std::abs(got - wanted) <= 2e-5
                                           : std::isnan(wanted) == std::isnan(got);
        if (!right)
          return "row " + std::to_string(i) + ", column " + std::to_string(v) + " is " +
                 std::to_string(got) + ", not " + std::to_string(wanted);
      }
    }
  return "";
}

/// Returns the kernels of each instruction set, and null for plain loops.
std::vector<const TileKernels*> all_kernels() {
  std::vector<const TileKernels*> all = {nullptr};
  for (Isa isa : instruction_sets()) all.push_back(&kernels(isa));
  return all;
}

void expect_right(uint64_t seed, const TileKernels* tiles, float special = 0) {
  RandomDraws r(seed);
  AttentionCase c = random_attention(r);
  Operands operands(r, c);
  if (special != 0)
    for (Guarded* one : {&operands.q, &operands.keys, &operands.values})
      if (r.coin()) one->data[r.in(0, one->size() - 1)] = special;
  Attention attention(c.shape, tiles, static_cast<int>(r.in(1, 4)), {4 << 10, 16 << 10});
  operands.run(attention, operands.y.data);
  ASSERT_EQ(compare(operands), "")
      << "seed " << seed << ", " << (tiles ? isa_name(tiles->isa()) : "plain") << ": "
      << c.shape.heads.size() << " heads of " << c.shape.rows << " x " << c.shape.width << " by "
      << c.shape.places << " by " << c.shape.value_width << ", " << attention.text();
}

TEST(TileAttention, RandomShapes) {
  for (const TileKernels* tiles : all_kernels())
    for (uint64_t seed = 0; seed < 700; ++seed) expect_right(seed, tiles);
}

TEST(TileAttention, HandlesNanAndInfinity) {
  for (const TileKernels* tiles : all_kernels())
    for (float special : {std::nanf(""), kInfinity, -kInfinity})
      for (uint64_t seed = 2000; seed < 2150; ++seed) expect_right(seed, tiles, special);
}

/// The bits do not depend on the number of threads or the order of parts.
TEST(TileAttention, PartsChangeNoBit) {
  for (const TileKernels* tiles : all_kernels())
    for (uint64_t seed = 5000; seed < 5060; ++seed) {
      RandomDraws r(seed);
      AttentionCase c = random_attention(r);
      Operands operands(r, c);
      std::vector<float> first, y(static_cast<size_t>(c.y_size), 0.0F);
      for (int threads : {1, 2, 3, 7}) {
        Attention attention(c.shape, tiles, threads, {8 << 10, 64 << 10});
        operands.run(attention, y.data());
        if (first.empty()) first = y;
        EXPECT_EQ(std::memcmp(first.data(), y.data(), y.size() * sizeof(float)), 0)
            << "seed " << seed << ", " << threads << " threads";
      }
    }
}

} // namespace
} // namespace tg::tile
