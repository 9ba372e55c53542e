// Algorithm 1, one number of blocks at a time.
#include "runtime/tune/reuse.h"

#include "runtime/tune/factors.h"
#include "runtime/tune/stages.h"

#include <llvm/ADT/STLExtras.h>

#include <cmath>
#include <random>

namespace tg::tune {

namespace {

using ThreadChooser = llvm::function_ref<std::optional<ThreadShape>(
    const Nest&, const Extents& block, const Extents& fetched, int64_t threads)>;

/// The rounds of Algorithm 1 for one number of blocks.
class BlockSearch {
public:
  BlockSearch(Trials& trials, const Program& start, const Growth& growth, const Footprint& reused,
              ThreadChooser choose, BlockTrace& trace)
      : trials_(trials), nest_(trials.nest()), growth_(growth), reused_(reused), choose_(choose),
        trace_(trace), best_(start) {}

  void run() {
    if (!choose_default_rounds()) return;
    try_threads();
    if (!best_us_) {
      trace_.skipped = "no program ran";
      return;
    }
    try_rounds();
    try_unrolls();
    for (size_t input = nest_.inputs.size(); input-- > 0;) try_vectors(input); // kernel first
  }

private:
  int64_t load_extent() const { return nest_.reduction[*nest_.load_axis]; }

  Extents fetched(int64_t rounds) const {
    Extents all = nest_.reduction;
    if (nest_.load_axis) all[*nest_.load_axis] /= rounds;
    return all;
  }

  bool choose_default_rounds() {
    if (!nest_.load_axis) return true;
    // If the rounds of the reused program do not divide this loop,
    // the ratio is computed with real numbers.
    Extents one_round = fetched(1);
    double loads =
        staged_elements(nest_, trace_.block, one_round) / static_cast<double>(reused_.rounds);
    if (load_extent() % reused_.rounds == 0)
      loads = staged_elements(nest_, trace_.block, fetched(reused_.rounds));
    load_growth_ = loads / reused_.loads;
    std::optional<int64_t> rounds = default_rounds(reused_.rounds, load_growth_, load_extent());
    if (!rounds) {
      trace_.skipped = "the number of fetches is out of range";
      return false;
    }
    trace_.rounds = *rounds;
    return true;
  }

  /// Chooses the unrolling that needs as many registers as the reused program,
  /// in proportion to its fetches.
  void set_default_unroll(Tile& tile, int64_t rounds) const {
    double target = reused_.registers * load_growth_ * static_cast<double>(reused_.rounds) /
                    static_cast<double>(rounds);
    tile.unroll = default_unroll(nest_, tile, target);
  }

  void try_program(const Program& program) {
    std::optional<double> us = trials_.measure(program);
    if (!us || (best_us_ && *best_us_ <= *us)) return;
    best_us_ = us;
    best_ = program;
  }

  void try_threads() {
    Program program = best_;
    for (int64_t threads :
         thread_counts(growth_, reused_, trace_.points, trials_.limits().threads_of_block + 1)) {
      auto shape = choose_(nest_, trace_.block, fetched(trace_.rounds), threads);
      if (!shape) continue;
      trace_.threads.push_back(threads);
      program.tile = tile_of(nest_, *shape, trace_.block, trace_.rounds);
      set_default_unroll(program.tile, trace_.rounds);
      try_program(program);
    }
  }

  void try_rounds() {
    if (!nest_.load_axis) return;
    Program base = best_;
    for (int64_t rounds :
         round_counts(growth_, reused_, trace_.points, load_growth_, load_extent())) {
      if (rounds == trace_.rounds) continue;
      trace_.other_rounds.push_back(rounds);
      Program program = base;
      auto [outer, inner] = split_by_least_prime(load_extent() / rounds);
      program.tile.reduction[*nest_.load_axis] = {rounds, outer, inner};
      set_default_unroll(program.tile, rounds);
      try_program(program);
    }
  }

  void try_unrolls() {
    Program base = best_;
    std::vector<int> seen = {unrolled_loops(base.tile, base.tile.unroll)};
    for (int64_t step : kUnrollSteps) {
      int count = unrolled_loops(base.tile, step);
      if (llvm::is_contained(seen, count)) continue;
      seen.push_back(count);
      trace_.unrolls.push_back(step);
      Program program = base;
      program.tile.unroll = step;
      try_program(program);
    }
  }

  void try_vectors(size_t input) {
    Program base = best_;
    const Tile& tile = base.tile;
    auto elements = static_cast<int64_t>(
        staged_elements(nest_, nest_.inputs[input], tile.block(), tile.fetched()));
    int64_t each = (elements + tile.threads() - 1) / tile.threads();
    for (int64_t vector : kVectors) {
      if (vector == 1 || each % vector != 0) continue;
      trace_.vectors.push_back({input, vector});
      Program program = base;
      program.tile.vectors[input] = vector;
      try_program(program);
    }
  }

  Trials& trials_;
  const Nest& nest_;
  const Growth& growth_;
  const Footprint& reused_;
  ThreadChooser choose_;
  BlockTrace& trace_;
  double load_growth_ = 1; // of one fetch, at the reused program's number of rounds
  Program best_;
  std::optional<double> best_us_;
};

/// Draws one of the lists that `visit_all` visits, each with the same probability.
template <class T> class Draw {
public:
  explicit Draw(std::mt19937_64& random) : random_(random) {}
  void see(const T& one) {
    if (random_() % ++seen_ == 0) drawn = one;
  }
  std::optional<T> drawn;

private:
  std::mt19937_64& random_;
  uint64_t seen_ = 0;
};

Extents random_block(const Nest& nest, int64_t points, std::mt19937_64& random) {
  Draw<Extents> draw(random);
  for_factorizations(points, nest.space, [&](const Extents& block) {
    for (size_t a = 0; a < block.size(); ++a)
      if (block[a] % nest.block_step[a] != 0) return true;
    draw.see(block);
    return true;
  });
  return draw.drawn.value_or(Extents{});
}

std::optional<ThreadShape> random_threads(const Extents& block, int64_t threads,
                                          std::mt19937_64& random) {
  Draw<ThreadShape> draw(random);
  for_factorizations(threads, block, [&](const Extents& grid) {
    Extents left;
    for (size_t a = 0; a < grid.size(); ++a) left.push_back(block[a] / grid[a]);
    for_divisors(left, [&](const Extents& virtuals) {
      ThreadShape shape{grid, virtuals, left};
      for (size_t a = 0; a < left.size(); ++a) shape.inner[a] /= virtuals[a];
      draw.see(shape);
    });
    return true;
  });
  return draw.drawn;
}

/// The search over all numbers of blocks.
class TileSearch {
public:
  TileSearch(Trials& trials, const Program& reused, const ReuseOptions& options)
      : trials_(trials), reused_(reused), options_(options), random_(options.seed) {}

  void run(const Program& start, std::vector<BlockTrace>& traces) {
    const Nest& nest = trials_.nest();
    Growth grows = growth(start.op, reused_.op);
    Footprint from = footprint(reused_, nest_of(reused_.op));
    BlockCost cost(nest);
    const Device& device = trials_.device();
    auto choose = [&](const Nest& nest, const Extents& block, const Extents& fetched,
                      int64_t threads) {
      return options_.use_thread_cost
                 ? device.choose_threads(start.op, nest, block, fetched, threads)
                 : random_threads(block, threads, random_);
    };
    for (int64_t points : points_of_blocks(grows, from)) {
      if (trials_.spent()) break;
      BlockTrace& trace = traces.emplace_back();
      trace.points = points;
      trace.block = options_.use_block_cost ? device.choose_block(start.op, nest, points, cost)
                                            : random_block(nest, points, random_);
      if (trace.block.empty())
        trace.skipped = "a block has too many points";
      else
        BlockSearch(trials_, start, grows, from, choose, trace).run();
    }
  }

private:
  /// If trials end early, sizes in the middle of the range come first.
  std::vector<int64_t> points_of_blocks(const Growth& grows, const Footprint& from) const {
    std::vector<int64_t> sizes = block_sizes(grows, from, product(trials_.nest().space));
    double middle = static_cast<double>(from.block) * std::sqrt(grows.all / grows.reduction);
    auto distance = [&](int64_t size) {
      return std::abs(std::log(static_cast<double>(size) / middle));
    };
    if (options_.patience > 0)
      llvm::stable_sort(sizes, [&](int64_t a, int64_t b) { return distance(a) < distance(b); });
    return sizes;
  }

  Trials& trials_;
  const Program& reused_;
  const ReuseOptions& options_;
  std::mt19937_64 random_;
};

} // namespace

Tile tile_of(const Nest& nest, const ThreadShape& shape, const Extents& block, int64_t rounds) {
  Tile tile;
  for (size_t a = 0; a < nest.space.size(); ++a) {
    auto [outer, inner] = split_by_least_prime(shape.inner[a]);
    tile.space.push_back(
        {nest.space[a] / block[a], shape.virtuals[a], shape.grid[a], outer, inner});
  }
  for (size_t r = 0; r < nest.reduction.size(); ++r) {
    int64_t fetches = nest.load_axis == r ? rounds : 1;
    auto [outer, inner] = split_by_least_prime(nest.reduction[r] / fetches);
    tile.reduction.push_back({fetches, outer, inner});
  }
  tile.vectors.assign(nest.inputs.size(), 1);
  return tile;
}

ReuseResult tune_by_reuse(const Operator& target, const Program& reused, Device& device,
                          const ReuseOptions& options) {
  Trials trials(device, target, INT64_MAX, options.to_the_end);
  trials.set_patience(options.patience);
  trials.remember(options.remembered);
  if (options.start) trials.measure(*options.start);
  ReuseResult result;
  Program start{target, reused.sketch, {}, default_flat_threads(target, reused.sketch)};
  if (!reused.tile.space.empty()) TileSearch(trials, reused, options).run(start, result.blocks);
  tune_flat_stages(trials, start, reused);
  if (const Measured* best = trials.best()) result.best = *best;
  result.ranking = trials.ranking();
  result.trials = trials.count();
  result.filtered = trials.filtered();
  return result;
}

} // namespace tg::tune
