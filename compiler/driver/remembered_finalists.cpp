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

/// Two rows: what the first takes, and what the second takes while the first takes that.
struct PairOfRows {
  std::string first, second;
};

PairOfRows rows_of(const Graph& first, const Graph& second, llvm::StringRef conditions) {
  std::string pair = digest(first) + " beside " + digest(second) + " in " + conditions.str();
  return {"whole run of the first, " + pair, "whole run of the second, " + pair};
}

bool worth_keeping(const WholeRuns& runs) {
  constexpr double kNearlyEqual = 0.1; // from one end of the interval to the other
  const Comparison& times = runs.times;
  bool decided = times.low > 1 || times.high < 1;
  bool narrow = times.high - times.low <= kNearlyEqual;
  return runs.fault.empty() && runs.note.empty() && !runs.disturbed && times.ratio > 0 &&
         times.low > 0 && (decided || narrow);
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

Result<WholeRuns> RememberedFinalists::compare(const Graph& first, const Graph& second) {
  PairOfRows rows = rows_of(first, second, conditions_);
  if (auto known = comparison_of(database_->find_row(rows.first), database_->find_row(rows.second)))
    return WholeRuns{*known};
  TG_TRY(WholeRuns runs, runner_.compare(first, second));
  if (!worth_keeping(runs)) return runs;
  const Comparison& times = runs.times;
  double us = times.first.median_us;
  database_->store({{rows.first, us, "whole run", us, us, static_cast<int>(times.first.runs)},
                    {rows.second, us / times.ratio, "whole run", us / times.high, us / times.low,
                     static_cast<int>(times.second.runs)}});
  return runs;
}

std::unique_ptr<CostDb> open_whole_runs(const std::string& path, const Backend& backend,
                                        int threads) {
  CostEnvironment environment = environment_of(backend, threads);
  environment.layout = "whole runs";
  return CostDb::open(path.empty() ? default_cost_db_path() : path, environment);
}

} // namespace tg
