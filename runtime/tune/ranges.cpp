// Ranges of features, and the values in them that divide the loops of the target.
#include "runtime/tune/ranges.h"

#include "runtime/tune/costs.h"
#include "runtime/tune/factors.h"

#include <algorithm>
#include <cmath>

namespace tg::tune {

namespace {

constexpr double kEqual = 1e-9;

bool is_one(double ratio) { return std::abs(ratio - 1) < kEqual; }

double real(int64_t number) { return static_cast<double>(number); }

/// Returns the nearest divisor of `total` on the side of `from` opposite to the growth.
std::optional<int64_t> nearest_divisor_beyond(int64_t from, bool below, int64_t total) {
  std::optional<int64_t> found;
  for (int64_t d : divisors(total)) {
    if (below && d < from) found = d;
    if (!below && d > from) return d;
  }
  return found;
}

void add_once(std::vector<int64_t>& list, std::optional<int64_t> one) {
  if (one && !llvm::is_contained(list, *one)) list.push_back(*one);
}

int64_t ceil_multiple(int64_t number, int64_t step) { return (number + step - 1) / step * step; }

Range ordered(double a, double b) { return {std::min(a, b), std::max(a, b)}; }

} // namespace

bool comparable(llvm::ArrayRef<int64_t> a, llvm::ArrayRef<int64_t> b) {
  if (a.size() != b.size()) return false;
  bool less = true, more = true;
  for (size_t i = 0; i < a.size(); ++i) {
    less &= a[i] <= b[i];
    more &= a[i] >= b[i];
  }
  return less || more;
}

bool can_reuse(const Operator& target, const Operator& reused) {
  return target.type == reused.type && sketches_of(target) == sketches_of(reused) &&
         comparable(comparable_loops(target), comparable_loops(reused));
}

double distance(const Operator& a, const Operator& b) {
  auto far = [](llvm::ArrayRef<int64_t> a, llvm::ArrayRef<int64_t> b) {
    double sum = 0;
    for (size_t i = 0; i < std::max(a.size(), b.size()); ++i)
      sum += std::abs(std::log(real(i < a.size() ? a[i] : 1) / real(i < b.size() ? b[i] : 1)));
    return sum;
  };
  return far(comparable_loops(a), comparable_loops(b)) + far(a.stride, b.stride) +
         far(a.dilation, b.dilation);
}

Growth growth(double target_space, double target_reduction, double reused_space,
              double reused_reduction) {
  double space = target_space / reused_space, reduction = target_reduction / reused_reduction;
  return {space * reduction, space, reduction};
}

Growth growth(const Operator& target, const Operator& reused) {
  return growth(volume(target.space), volume(target.reduction), volume(reused.space),
                volume(reused.reduction));
}

FeatureRanges feature_ranges(const Growth& growth) {
  Range others = ordered(1, growth.all);
  return {ordered(1 / growth.reduction, growth.all), others, others};
}

Footprint footprint(const Program& program, const Nest& nest) {
  const Tile& tile = program.tile;
  return {product(tile.block()), tile.threads(), tile.rounds(nest),
          staged_elements(nest, tile.block(), tile.fetched()), registers(nest, tile, tile.unroll)};
}

std::vector<int64_t> block_sizes(const Growth& growth, const Footprint& reused, int64_t points) {
  std::vector<int64_t> sizes =
      dividers(real(reused.block) / growth.reduction, real(reused.block) * growth.all, points);
  bool grows = growth.all > 1 + kEqual;
  if (is_one(growth.reduction))
    add_once(sizes, nearest_divisor_beyond(reused.block, grows, points));
  std::sort(sizes.begin(), sizes.end());
  if (grows) std::reverse(sizes.begin(), sizes.end());
  return sizes;
}

std::vector<int64_t> thread_counts(const Growth& growth, const Footprint& reused, int64_t points,
                                   int64_t limit) {
  double same_threads = real(reused.threads) * (real(points) / real(reused.block)) / growth.space;
  std::vector<int64_t> counts = dividers(same_threads, same_threads * growth.all, points);
  llvm::erase_if(counts, [&](int64_t count) { return count >= limit; });
  return counts;
}

std::vector<int64_t> round_counts(const Growth& growth, const Footprint& reused, int64_t points,
                                  double load_growth, int64_t load_extent) {
  double same_memory =
      real(reused.rounds) * load_growth * growth.space / (real(points) / real(reused.block));
  return dividers(same_memory / growth.all, same_memory, load_extent);
}

std::optional<int64_t> default_rounds(int64_t reused_rounds, double load_growth,
                                      int64_t load_extent) {
  std::vector<int64_t> found =
      dividers(real(reused_rounds), real(reused_rounds) * load_growth, load_extent);
  if (found.empty()) return {};
  auto [least, most] = std::minmax_element(found.begin(), found.end());
  return load_growth >= 1 ? *most : *least;
}

std::vector<int64_t> flat_threads(const Growth& growth, int64_t reused, int64_t length) {
  std::vector<int64_t> counts =
      dividers(real(reused) / growth.reduction, real(reused) * growth.all, length);
  if (is_one(growth.reduction))
    add_once(counts, nearest_divisor_beyond(reused, growth.all > 1 + kEqual, length));
  return counts;
}

std::vector<int64_t> cross_threads(const Growth& growth, int64_t reused, int64_t length) {
  return dividers(real(reused) / growth.space, real(reused) * growth.reduction, length);
}

std::vector<int64_t> norm_threads(int64_t reused, int64_t reused_length, int64_t length) {
  auto same = real(ceil_multiple(reused_length, reused));
  Range range = ordered(same, same * real(length) / real(reused_length));
  std::vector<int64_t> counts;
  for (int64_t d : divisors(length))
    if (auto padded = real(ceil_multiple(length, d)); padded >= range.low && padded <= range.high)
      counts.push_back(d);
  return counts;
}

} // namespace tg::tune
