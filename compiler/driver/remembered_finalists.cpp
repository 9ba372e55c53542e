#include "compiler/driver/remembered_finalists.h"

#include "compiler/driver/measured_cost.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/SHA1.h>

namespace tg {

namespace {

std::string digest(const Graph& graph) {
  llvm::SHA1 hash;
  hash.update(dump(graph)); // without the names of outputs, which cost nothing
  return llvm::toHex(hash.final(), /*LowerCase=*/true);
}

/// Which pair it is that two rows are of: what the first takes, and what the second takes while the
/// first takes that.
std::string pair_of(const Graph& first, const Graph& second, llvm::StringRef conditions) {
  return digest(first) + " beside " + digest(second) + " in " + conditions.str();
}

std::string row_of(llvm::StringRef which, const std::string& pair) {
  return "whole run of the " + which.str() + ", " + pair;
}

/// The second graph is faster, slower, or the runs do not say it.
int verdict(const Comparison& times) { return times.low > 1 ? 1 : times.high < 1 ? -1 : 0; }

/// There is nothing to be said beside the times.
bool plain(const WholeRuns& runs) {
  return runs.fault.empty() && runs.note.empty() && runs.times.ratio > 0 && runs.times.low > 0;
}

bool worth_keeping(const WholeRuns& runs) {
  constexpr double kNearlyEqual = 0.1; // from one end of the interval to the other
  bool narrow = runs.times.high - runs.times.low <= kNearlyEqual;
  return !runs.disturbed && (verdict(runs.times) != 0 || narrow);
}

std::optional<Comparison> comparison_of(const std::optional<CostRow>& first,
                                        const std::optional<CostRow>& second) {
  if (!first || !second || !(first->microseconds > 0) || !(second->low_us > 0)) return std::nullopt;
  auto timing = [](const CostRow& row) {
    double us = row.microseconds;
    return Timing{static_cast<size_t>(row.runs), us, us, us, us};
  };
  Comparison times{timing(*first), timing(*second)};
  times.ratio = first->microseconds / second->microseconds;
  times.low = first->microseconds / second->high_us;
  times.high = first->microseconds / second->low_us;
  times.remembered = true;
  return times;
}

} // namespace

std::optional<Comparison> RememberedFinalists::known(const std::string& pair) {
  return comparison_of(database_->find_row(row_of("first", pair)),
                       database_->find_row(row_of("second", pair)));
}

void RememberedFinalists::keep(const std::string& pair, const Comparison& times) {
  double us = times.first.median_us;
  database_->store(
      {{row_of("first", pair), us, "whole run", us, us, static_cast<int>(times.first.runs)},
       {row_of("second", pair), us / times.ratio, "whole run", us / times.high, us / times.low,
        static_cast<int>(times.second.runs)}});
}

Result<WholeRuns> RememberedFinalists::compare(const Graph& first, const Graph& second) {
  std::string pair = pair_of(first, second, conditions_), once = pair + ", once";
  if (auto times = known(pair)) return WholeRuns{*times};
  TG_TRY(WholeRuns runs, runner_.compare(first, second));
  if (!plain(runs)) return runs;
  auto earlier = known(once);
  bool confirmed = earlier && verdict(*earlier) == verdict(runs.times);
  keep(confirmed || worth_keeping(runs) ? pair : once, runs.times);
  return runs;
}

std::unique_ptr<CostDb> open_whole_runs(const std::string& path, const Backend& backend,
                                        int threads) {
  CostEnvironment environment = environment_of(backend, threads);
  environment.layout = "whole runs";
  return CostDb::open(path.empty() ? default_cost_db_path() : path, environment);
}

} // namespace tg
