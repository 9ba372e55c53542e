// Legality checks, and trials that count each program once.
#include "runtime/tune/device.h"

#include <llvm/Support/FormatVariadic.h>

#include <algorithm>

namespace tg::tune {

namespace {

std::string too_many(const char* what, double got, int64_t limit) {
  return llvm::formatv("{0} {1}, at most {2}", static_cast<int64_t>(got), what, limit).str();
}

} // namespace

std::string why_illegal(const Program& program, const Nest& nest, const DeviceLimits& limits) {
  for (int64_t threads : program.threads)
    if (threads > limits.threads_of_block)
      return too_many("threads of a block", static_cast<double>(threads), limits.threads_of_block);
  if (program.tile.space.empty()) return {};
  const Tile& tile = program.tile;
  if (tile.threads() > limits.threads_of_block)
    return too_many("threads of a block", static_cast<double>(tile.threads()),
                    limits.threads_of_block);
  if (tile.blocks() > limits.blocks)
    return too_many("blocks", static_cast<double>(tile.blocks()), limits.blocks);
  double shared = staged_elements(nest, tile.block(), tile.fetched());
  if (shared > static_cast<double>(limits.shared_elements))
    return too_many("elements of shared memory", shared, limits.shared_elements);
  if (int64_t results = product(tile.block()) / tile.threads();
      results > limits.registers_of_thread)
    return too_many("results of a thread", static_cast<double>(results),
                    limits.registers_of_thread);
  return {};
}

std::optional<double> Trials::measure(const Program& asked) {
  Program program = device_.adapted(asked);
  auto [place, is_new] = known_.try_emplace(text(program));
  if (!is_new) return place->second;
  if (!device_.why_not(program, nest_).empty()) {
    ++filtered_;
    return {};
  }
  if (spent()) {
    known_.erase(place);
    return {};
  }
  ++count_;
  std::optional<double> found = remembered_ && remembered_->program == program
                                    ? remembered_->microseconds
                                    : device_.measure(program);
  place->second = found;
  if (!found) return found;
  best_us_ = std::min(best_us_, *found);
  constexpr double kGain = 0.99;
  if (*found < kGain * gained_at_us_) {
    gained_at_us_ = *found;
    last_gain_ = count_;
  }
  ran_.push_back({std::move(program), *found});
  return found;
}

std::vector<Measured> Trials::ranking() const {
  constexpr size_t kRanking = 16;
  std::vector<Measured> all = ran_;
  std::stable_sort(all.begin(), all.end(), [](const Measured& a, const Measured& b) {
    return a.microseconds < b.microseconds;
  });
  if (all.size() > kRanking) all.resize(kRanking);
  return all;
}

const Measured* Trials::best() const {
  auto least = std::min_element(ran_.begin(), ran_.end(), [](const Measured& a, const Measured& b) {
    return a.microseconds < b.microseconds;
  });
  return least == ran_.end() ? nullptr : &*least;
}

} // namespace tg::tune
