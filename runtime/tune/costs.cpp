// Counts lines, requests and registers. A box is walked row by row.
// The addresses of threads are sums of one table per loop, so a warp costs 32 additions.
#include "runtime/tune/costs.h"

#include "runtime/tune/factors.h"

#include <algorithm>
#include <limits>

namespace tg::tune {

namespace {

constexpr int64_t kLine = 8; // elements
constexpr size_t kWarp = 32; // threads, and shared-memory banks

/// The points of all loops that a block reads in one fetch.
Extents covered_by(llvm::ArrayRef<int64_t> block, llvm::ArrayRef<int64_t> reduction) {
  Extents covered(block.begin(), block.end());
  covered.insert(covered.end(), reduction.begin(), reduction.end());
  return covered;
}

/// The rows of a box inside a tensor. Inner dimensions that the box covers completely
/// are merged into one row.
class BoxRows {
public:
  BoxRows(int64_t base, const Extents& whole, const Extents& box) : base_(base) {
    int64_t pitch = 1;
    bool is_row = true;
    for (size_t d = whole.size(); d-- > 0; pitch *= whole[d]) {
      if (is_row) {
        length_ = box[d] * pitch;
        is_row = box[d] == whole[d];
      } else {
        counts_.push_back(box[d]); // innermost first
        pitches_.push_back(pitch);
      }
    }
  }

  int64_t lines() const {
    std::vector<int64_t> at(counts_.size(), 0);
    int64_t start = base_, found = 0, last = -1;
    for (;;) {
      int64_t first = start / kLine, end = (start + length_ - 1) / kLine;
      found += end - first + (first == last ? 0 : 1);
      last = end;
      size_t d = 0;
      for (; d < at.size(); ++d) {
        start += pitches_[d];
        if (++at[d] < counts_[d]) break;
        start -= pitches_[d] * counts_[d];
        at[d] = 0;
      }
      if (d == at.size()) return found;
    }
  }

private:
  int64_t base_, length_ = 1;
  std::vector<int64_t> counts_, pitches_;
};

/// The touched points of each loop, for counting the different elements of an input.
using Positions = std::vector<std::vector<int64_t>>;

int64_t distinct_of(const Dimension& dimension, const Positions& positions) {
  if (dimension.terms.size() == 1 && dimension.terms[0].divisor == 1)
    return static_cast<int64_t>(positions[dimension.terms[0].axis].size());
  std::vector<int64_t> sums = {0};
  for (const Term& term : dimension.terms) {
    std::vector<int64_t> next;
    for (int64_t sum : sums)
      for (int64_t at : positions[term.axis]) next.push_back(sum + at / term.divisor * term.scale);
    std::sort(next.begin(), next.end());
    next.erase(std::unique(next.begin(), next.end()), next.end());
    sums = std::move(next);
  }
  return static_cast<int64_t>(sums.size());
}

double distinct_elements(const Input& input, const Positions& positions) {
  double all = 1;
  for (const Dimension& dimension : input.dimensions)
    all *= static_cast<double>(distinct_of(dimension, positions));
  return all;
}

std::vector<int64_t> first_integers(int64_t count) {
  std::vector<int64_t> all(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) all[static_cast<size_t>(i)] = i;
  return all;
}

/// Returns the number of different addresses in the bank with the most.
int64_t conflicts(llvm::MutableArrayRef<int64_t> addresses) {
  constexpr auto kBanks = static_cast<int64_t>(kWarp);
  llvm::sort(addresses);
  auto* end = std::unique(addresses.begin(), addresses.end());
  std::array<int64_t, kWarp> wanted{};
  for (auto* at = addresses.begin(); at != end; ++at) ++wanted[static_cast<size_t>(*at % kBanks)];
  return *std::max_element(wanted.begin(), wanted.end());
}

/// The loops of a thread, innermost first: the axis to which each belongs and its trip count.
struct ThreadLoop {
  enum Level { Virtual, S4, R2, S3, R1, R0 } level;
  size_t axis; // among the axes of its kind
  int64_t extent;
};

std::vector<ThreadLoop> thread_loops(const Tile& tile) {
  std::vector<ThreadLoop> loops = {{ThreadLoop::Virtual, 0, product(tile.virtuals())}};
  auto add = [&](ThreadLoop::Level level, const auto& splits, size_t factor) {
    for (size_t axis = splits.size(); axis-- > 0;)
      loops.push_back({level, axis, splits[axis][factor]});
  };
  add(ThreadLoop::S4, tile.space, 4);
  add(ThreadLoop::R2, tile.reduction, 2);
  add(ThreadLoop::S3, tile.space, 3);
  add(ThreadLoop::R1, tile.reduction, 1);
  add(ThreadLoop::R0, tile.reduction, 0);
  return loops;
}

/// Returns the points of a loop that some of its factors touch:
/// each factor has a count and a distance between two points.
std::vector<int64_t>
touched(std::initializer_list<std::pair<int64_t, int64_t>> counts_and_distances) {
  std::vector<int64_t> all = {0};
  for (auto [count, distance] : counts_and_distances) {
    std::vector<int64_t> next;
    for (int64_t at : all)
      for (int64_t i = 0; i < count; ++i) next.push_back(at + i * distance);
    all = std::move(next);
  }
  return all;
}

/// Returns the points that the first `count` loops of a thread touch.
Positions unrolled_positions(const Tile& tile, int count) {
  Tile ones = tile; // loops that are not unrolled have factor 1
  std::vector<ThreadLoop> loops = thread_loops(tile);
  for (size_t i = static_cast<size_t>(count); i < loops.size(); ++i) {
    size_t axis = loops[i].axis;
    switch (loops[i].level) {
    case ThreadLoop::Virtual:
      for (auto& split : ones.space) split[1] = 1;
      break;
    case ThreadLoop::S4: ones.space[axis][4] = 1; break;
    case ThreadLoop::S3: ones.space[axis][3] = 1; break;
    case ThreadLoop::R2: ones.reduction[axis][2] = 1; break;
    case ThreadLoop::R1: ones.reduction[axis][1] = 1; break;
    case ThreadLoop::R0: ones.reduction[axis][0] = 1; break;
    }
  }
  Positions positions;
  for (size_t a = 0; a < tile.space.size(); ++a) {
    const auto &full = tile.space[a], &some = ones.space[a];
    positions.push_back(
        touched({{some[1], full[2] * full[3] * full[4]}, {some[3], full[4]}, {some[4], 1}}));
  }
  for (size_t a = 0; a < tile.reduction.size(); ++a) {
    const auto &full = tile.reduction[a], &some = ones.reduction[a];
    positions.push_back(touched({{some[0], full[1] * full[2]}, {some[1], full[2]}, {some[2], 1}}));
  }
  return positions;
}

} // namespace

double staged_elements(const Nest&, const Input& input, llvm::ArrayRef<int64_t> block,
                       llvm::ArrayRef<int64_t> fetched) {
  return volume(box_of(input, covered_by(block, fetched)));
}

double staged_elements(const Nest& nest, llvm::ArrayRef<int64_t> block,
                       llvm::ArrayRef<int64_t> fetched) {
  double all = 0;
  for (const Input& input : nest.inputs) all += staged_elements(nest, input, block, fetched);
  return all;
}

BlockCost::BlockCost(const Nest& nest) : nest_(nest), seen_(nest.inputs.size()) {
  int64_t base = 0;
  for (const Input& input : nest.inputs) {
    whole_.push_back(box_of(input, nest.loops()));
    base_.push_back(base);
    base += product(whole_.back());
  }
}

int64_t BlockCost::of(llvm::ArrayRef<int64_t> block) {
  Extents covered = covered_by(block, nest_.reduction);
  int64_t all = 0;
  for (size_t i = 0; i < nest_.inputs.size(); ++i) {
    Extents box = box_of(nest_.inputs[i], covered);
    auto [place, is_new] = seen_[i].try_emplace(box, 0);
    if (is_new) place->second = BoxRows(base_[i], whole_[i], box).lines();
    all += place->second;
  }
  return all;
}

ThreadCost::ThreadCost(const Nest& nest, Extents block, Extents fetched)
    : nest_(nest), block_(std::move(block)), fetched_(std::move(fetched)) {
  for (const Input& input : nest.inputs) {
    Extents box = box_of(input, covered_by(block_, fetched_));
    Extents pitch(box.size(), 1);
    for (size_t d = box.size(); d-- > 1;) pitch[d - 1] = pitch[d] * box[d];
    staged_.push_back({&input, pitch});
  }
}

double ThreadCost::requests(const Staged& staged, const ThreadShape& shape) const {
  std::vector<Extents> table(nest_.space.size());
  for (size_t a = 0; a < table.size(); ++a) table[a].assign(static_cast<size_t>(shape.grid[a]), 0);
  for (size_t d = 0; d < staged.pitch.size(); ++d)
    for (const Term& term : staged.input->dimensions[d].terms) {
      if (term.axis >= table.size()) continue; // reductions begin at 0
      for (int64_t t = 0; t < shape.grid[term.axis]; ++t)
        table[term.axis][static_cast<size_t>(t)] +=
            t * shape.inner[term.axis] / term.divisor * term.scale * staged.pitch[d];
    }
  std::vector<int64_t> addresses = {0}; // one per thread, the last axis fastest
  for (const Extents& of_axis : table) {
    std::vector<int64_t> next;
    next.reserve(addresses.size() * of_axis.size());
    for (int64_t outer : addresses)
      for (int64_t inner : of_axis) next.push_back(outer + inner);
    addresses = std::move(next);
  }
  int64_t all = 0;
  for (size_t first = 0; first < addresses.size(); first += kWarp)
    all += conflicts(llvm::MutableArrayRef<int64_t>(addresses).slice(
        first, std::min(kWarp, addresses.size() - first)));
  return static_cast<double>(all);
}

double ThreadCost::loads(const Staged& staged, const ThreadShape& shape) const {
  Positions positions;
  for (size_t a = 0; a < nest_.space.size(); ++a)
    positions.push_back(
        touched({{shape.virtuals[a], shape.grid[a] * shape.inner[a]}, {shape.inner[a], 1}}));
  for (int64_t extent : fetched_) positions.push_back(first_integers(extent));
  return distinct_elements(*staged.input, positions);
}

double ThreadCost::of(const ThreadShape& shape, double at_most) const {
  std::vector<double> each;
  double warps = static_cast<double>((product(shape.grid) + 31) / 32), bound = 0;
  for (const Staged& staged : staged_) {
    each.push_back(loads(staged, shape));
    bound += each.back() * warps; // every warp makes at least one request
  }
  if (bound > at_most) return bound;
  double all = 0;
  for (size_t i = 0; i < staged_.size(); ++i) all += each[i] * requests(staged_[i], shape);
  return all;
}

Extents best_block(const Nest& nest, int64_t points, BlockCost& cost) {
  Extents best;
  int64_t least = std::numeric_limits<int64_t>::max();
  for_factorizations(points, nest.space, [&](const Extents& block) {
    for (size_t a = 0; a < block.size(); ++a)
      if (block[a] % nest.block_step[a] != 0) return true;
    if (int64_t lines = cost.of(block); lines < least) {
      least = lines;
      best = block;
    }
    return true;
  });
  return best;
}

std::optional<ThreadShape> best_threads(const Nest& nest, const Extents& block,
                                        const Extents& fetched, int64_t threads) {
  ThreadCost cost(nest, block, fetched);
  std::optional<ThreadShape> best;
  double least = std::numeric_limits<double>::max();
  int64_t fewest = 0;
  for_factorizations(threads, block, [&](const Extents& grid) {
    Extents left;
    for (size_t a = 0; a < grid.size(); ++a) left.push_back(block[a] / grid[a]);
    for_divisors(left, [&](const Extents& virtuals) {
      ThreadShape shape{grid, virtuals, left};
      for (size_t a = 0; a < left.size(); ++a) shape.inner[a] /= virtuals[a];
      double found = cost.of(shape, least);
      int64_t copies = product(virtuals);
      if (found > least || (found == least && copies >= fewest)) return;
      best = std::move(shape);
      least = found;
      fewest = copies;
    });
    return true;
  });
  return best;
}

int unrolled_loops(const Tile& tile, int64_t step) {
  int count = 0;
  int64_t points = 1;
  for (const ThreadLoop& loop : thread_loops(tile)) {
    points *= loop.extent;
    if (points >= step) break;
    ++count;
  }
  return count;
}

double registers(const Nest& nest, const Tile& tile, int64_t step) {
  Positions positions = unrolled_positions(tile, unrolled_loops(tile, step));
  double all = 1;
  for (const auto& split : tile.space) all *= static_cast<double>(split[1] * split[3] * split[4]);
  for (const Input& input : nest.inputs) all += distinct_elements(input, positions);
  return all;
}

int64_t default_unroll(const Nest& nest, const Tile& tile, double target) {
  std::optional<std::pair<int64_t, double>> below;
  for (int64_t step : kUnrollSteps) {
    if (unrolled_loops(tile, step) == 0) continue;
    double wanted = registers(nest, tile, step);
    if (wanted <= target) {
      below = {step, wanted};
      continue;
    }
    return below && target - below->second <= wanted - target ? below->first : step;
  }
  return kUnrollSteps.back();
}

} // namespace tg::tune
