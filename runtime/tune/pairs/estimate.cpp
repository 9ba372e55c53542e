// Blocks are drawn in proportion to their number of possible thread counts.
// All thread counts and all fetch counts of a block are equally likely.
// Threads and fetches contribute additively, so exact means need no pairs of them.
#include "runtime/tune/pairs/estimate.h"

#include "lang/core/support/random.h"
#include "runtime/tune/factors.h"

#include <llvm/ADT/STLExtras.h>

#include <algorithm>

namespace tg::tune {

namespace {

constexpr double kUnrolls = 4;      // all options but the default
constexpr double kVectorTrials = 4; // two lengths of two inputs

class TileEstimate {
public:
  TileEstimate(const Operator& target, const Operator& reused, const EstimateOptions& options)
      : options_(options), target_(nest_of(target)), reused_(nest_of(reused)),
        growth_(growth(target, reused)), random_(options.seed, text(target) + text(reused)) {
    if (reused_.load_axis) {
      fetches_ = divisors(reused_.reduction[*reused_.load_axis]);
      load_extent_ = target_.reduction[*target_.load_axis];
    }
    blocks_ = divisors(product(reused_.space));
  }

  double mean() {
    double all = 0, weight = 0;
    if (options_.samples == 0) {
      for (int64_t block : blocks_) {
        auto share = static_cast<double>(divisors(block).size());
        all += share * of_block(block, divisors(block), fetches_);
        weight += share;
      }
      return all / weight;
    }
    for (int i = 0; i < options_.samples; ++i) {
      int64_t block = drawn_block();
      std::vector<int64_t> fetch;
      if (!fetches_.empty()) fetch.push_back(pick(fetches_));
      all += of_block(block, {pick(divisors(block))}, fetch);
    }
    return all / options_.samples;
  }

private:
  int64_t pick(const std::vector<int64_t>& list) {
    return list[random_.bits(drawn_++) % list.size()];
  }

  int64_t drawn_block() {
    if (shares_.empty())
      for (int64_t block : blocks_)
        shares_.push_back((shares_.empty() ? 0 : shares_.back()) + divisors(block).size());
    uint64_t at = random_.bits(drawn_++) % shares_.back();
    auto place = std::upper_bound(shares_.begin(), shares_.end(), at);
    return blocks_[static_cast<size_t>(place - shares_.begin())];
  }

  /// The mean over these threads and fetches of a reused program with this block.
  double of_block(int64_t block, const std::vector<int64_t>& threads,
                  const std::vector<int64_t>& fetches) const {
    Footprint from{block, 1, 1, 0, 0};
    double all = 0;
    for (int64_t points : block_sizes(growth_, from, product(target_.space))) {
      double of_threads = 0, of_rounds = 0, share_with_rounds = fetches.empty() ? 1 : 0;
      for (int64_t one : threads) {
        from.threads = one;
        of_threads +=
            static_cast<double>(thread_counts(growth_, from, points, options_.thread_limit).size());
      }
      of_threads /= static_cast<double>(threads.size());
      double grown = static_cast<double>(points) / static_cast<double>(block) * growth_.reduction;
      for (int64_t one : fetches) {
        from.rounds = one;
        if (!default_rounds(one, grown, load_extent_)) continue; // such a block is skipped
        share_with_rounds += 1 / static_cast<double>(fetches.size());
        auto rounds =
            static_cast<double>(round_counts(growth_, from, points, grown, load_extent_).size());
        of_rounds += std::max(0.0, rounds - 1) / static_cast<double>(fetches.size());
      }
      all += share_with_rounds * (of_threads + kUnrolls + kVectorTrials) + of_rounds;
    }
    return all;
  }

  const EstimateOptions& options_;
  Nest target_, reused_;
  Growth growth_;
  RandomStream random_;
  uint64_t drawn_ = 0;
  int64_t load_extent_ = 1;
  std::vector<int64_t> blocks_, fetches_;
  std::vector<uint64_t> shares_; // prefix sums of the number of divisors of blocks_
};

/// The mean over all thread counts that the reused stage can have.
double mean_count(int64_t length, llvm::function_ref<size_t(int64_t)> count) {
  std::vector<int64_t> all = divisors(length);
  double sum = 0;
  for (int64_t threads : all) sum += static_cast<double>(count(threads));
  return sum / static_cast<double>(all.size());
}

double cross_trials(const Operator& target, const Operator& reused) {
  int64_t length = product(target.reduction), before = product(reused.reduction);
  Growth grows = growth(target, reused);
  return mean_count(before, [&](int64_t threads) {
    return target.type == OpType::FRB ? norm_threads(threads, before, length).size()
                                      : cross_threads(grows, threads, length).size();
  });
}

double flat_trials(const Operator& target, const Operator& reused) {
  std::vector<FlatStage> stages = flat_stages(target), before = flat_stages(reused);
  double all = 0;
  for (size_t i = 0; i < stages.size(); ++i) {
    Growth grows =
        growth(static_cast<double>(stages[i].length), 1, static_cast<double>(before[i].length), 1);
    all += mean_count(before[i].length, [&](int64_t threads) {
      return flat_threads(grows, threads, stages[i].length).size();
    });
  }
  return all;
}

} // namespace

double expected_trials(const Operator& target, const Operator& reused, Sketch sketch,
                       const EstimateOptions& options) {
  double all = 0;
  if (sketch == Sketch::Tiles || sketch == Sketch::TilesAndFlat)
    all += TileEstimate(target, reused, options).mean();
  if (sketch == Sketch::CrossThread) all += cross_trials(target, reused);
  if (sketch == Sketch::Flat || sketch == Sketch::TilesAndFlat) all += flat_trials(target, reused);
  return all;
}

double expected_trials(const Operator& target, const Operator& reused,
                       const EstimateOptions& options) {
  double most = 0;
  for (Sketch sketch : sketches_of(target))
    most = std::max(most, expected_trials(target, reused, sketch, options));
  return most;
}

} // namespace tg::tune
