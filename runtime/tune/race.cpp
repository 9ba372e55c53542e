// Rounds, and the elimination of ways after them.
#include "runtime/tune/race.h"

#include <llvm/ADT/STLExtras.h>

namespace tg::tune {

namespace {

/// The rounds after which results are evaluated. Each evaluation adds a chance of error,
/// so there are few.
constexpr size_t kLooks[] = {kFewestRounds, 9, 13, 19};

class Rounds {
public:
  Rounds(size_t ways, const RaceOptions& options)
      : options_(options), times_(ways), open_(ways, true), won_(ways, false) {}

  std::optional<Race> run(llvm::function_ref<std::optional<double>(size_t)> run) {
    Race race;
    double spent = 0;
    for (; race.decided && should_continue(race.rounds, spent); ++race.rounds) {
      for (size_t way = 0; way < times_.size() && race.decided; ++way) {
        if (way > 0 && !open_[way]) continue;
        std::optional<double> us = run(way);
        if (!us) return std::nullopt;
        times_[way].push_back(*us);
        spent += *us;
        ++race.runs;
        race.decided = has_time(race.rounds, way, spent);
      }
      if (race.decided && llvm::is_contained(kLooks, race.rounds + 1)) look();
    }
    if (!race.decided) return race;
    conclude(race);
    return race;
  }

private:
  /// Limits the first kFewestRounds rounds, which all ways run and without which nothing
  /// is decided. In an unfinished round, the ways that have not run yet may be faster,
  /// so the estimate gets some slack.
  bool has_time(size_t rounds, size_t way, double spent) const {
    constexpr double kFaster = 2;
    if (!options_.strict || rounds + 1 >= kFewestRounds) return true;
    auto done = static_cast<double>(rounds * times_.size() + way + 1);
    double needed = spent / done * static_cast<double>(kFewestRounds * times_.size());
    bool over = way + 1 == times_.size();
    return needed <= options_.most_us * (over ? 1 : kFaster);
  }

  bool should_continue(size_t rounds, double spent) const {
    if (rounds == options_.most_rounds || (rounds >= kFewestRounds && spent >= options_.most_us))
      return false;
    for (size_t way = 1; way < times_.size(); ++way)
      if (open_[way] && !won_[way]) return true;
    return rounds == 0;
  }

  /// Compares two ways over the rounds in which both ran.
  Comparison compared(size_t first, size_t second) const {
    size_t rounds = std::min(times_[first].size(), times_[second].size());
    return compare_times(llvm::ArrayRef(times_[first]).take_front(rounds),
                         llvm::ArrayRef(times_[second]).take_front(rounds));
  }

  void look() {
    size_t best = fastest();
    for (size_t way = 1; way < times_.size(); ++way) {
      Comparison times = compared(0, way);
      won_[way] = times.low > options_.worth;
      open_[way] = open_[way] && times.high >= options_.worth &&
                   (way == best || compared(best, way).high >= 1);
    }
  }

  bool is_worth(const Comparison& times) const {
    return times.second.runs >= kFewestRounds && times.second_faster() &&
           times.ratio > options_.worth;
  }

  /// Returns the fastest way by medians, among those that are worth a change if there are any.
  size_t fastest() const {
    size_t best = 1;
    std::pair<bool, double> most = {false, 0};
    for (size_t way = 1; way < times_.size(); ++way) {
      Comparison times = compared(0, way);
      std::pair<bool, double> gain = {is_worth(times), times.ratio};
      if (gain > most) best = way;
      most = std::max(most, gain);
    }
    return best;
  }

  void conclude(Race& race) const {
    race.best = fastest();
    race.times = compared(0, race.best);
    race.worth = is_worth(race.times);
  }

  const RaceOptions& options_;
  std::vector<std::vector<double>> times_;
  std::vector<bool> open_, won_;
};

} // namespace

std::optional<Race> race(size_t ways, llvm::function_ref<std::optional<double>(size_t)> run,
                         const RaceOptions& options) {
  if (ways < 2) return std::nullopt;
  return Rounds(ways, options).run(run);
}

} // namespace tg::tune
