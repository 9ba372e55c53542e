#include "compiler/trial/remembered_finalists.h"

#include "compiler/api/files/model.h"
#include "compiler/ir/graph.h"
#include "compiler/ir/to_text.h"
#include "compiler/optimizer/strategy/strategy.h"
#include "compiler/pricing/measured_cost.h"
#include "compiler/rules/text.h"
#include "runtime/measure/whole_run_keys.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/FormatVariadic.h>
#include <llvm/Support/SHA1.h>

#include <cmath>

namespace tg {

namespace {

/// Returns the key of a pair in one of the two rows of a comparison: the time of the first graph,
/// and the time of the second beside it.
std::string pair_of(const Graph& first, const Graph& second, llvm::StringRef conditions) {
  return digest(first) + " beside " + digest(second) + " in " + conditions.str();
}

std::string row_of(llvm::StringRef which, const std::string& pair) {
  return kWholeRunRow.str() + which.str() + ", " + pair;
}

/// Returns 1 if the second graph is faster, -1 if it is slower, and 0 if the runs do not decide.
int verdict(const Comparison& times) { return times.low > 1 ? 1 : times.high < 1 ? -1 : 0; }

/// Returns true if there is nothing to note besides the times. Two comparisons beside the same busy
/// program agree, and say nothing about an idle machine.
bool plain(const WholeRuns& runs) {
  return runs.fault.empty() && runs.note.empty() && !runs.times.cut && runs.times.ratio > 0 &&
         runs.times.low > 0 && runs.disturbance != Disturbance::Heavy;
}

bool worth_keeping(const WholeRuns& runs) {
  constexpr double kNearlyEqual = 0.1; // width of the interval
  bool narrow = runs.times.high - runs.times.low <= kNearlyEqual;
  return runs.disturbance == Disturbance::None && (verdict(runs.times) != 0 || narrow);
}

std::optional<Comparison> comparison_of(const std::optional<CostRow>& first,
                                        const std::optional<CostRow>& second) {
  if (!first || !second || !(first->microseconds > 0) || !(second->low_us > 0)) return std::nullopt;
  auto timing = [](const CostRow& row) {
    double us = row.microseconds;
    return Timing{static_cast<size_t>(row.runs), us, us, us, us};
  };
  Comparison times{timing(*first), timing(*second)};
  times.first_us = first->microseconds, times.second_us = second->microseconds;
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

void RememberedFinalists::keep_times(const std::string& pair, const Comparison& times) {
  double us = times.first_us;
  database_->store(
      {{row_of("first", pair), us, "whole run", us, us, static_cast<int>(times.first.runs)},
       {row_of("second", pair), us / times.ratio, "whole run", us / times.high, us / times.low,
        static_cast<int>(times.second.runs)}});
}

namespace {

/// Returns a key of everything that determines which graphs a search can find, except its limits:
/// results of longer and shorter searches are interchangeable.
std::string result_key(const Graph& source, llvm::ArrayRef<Rule> rules,
                       const OptimizeOptions& options, llvm::StringRef conditions) {
  llvm::SHA1 hash;
  for (const Rule& rule : rules) hash.update(rule_text(rule));
  return llvm::formatv(
      "{7}{0} by {1}, rules {2}, numerics {3}, weights {4:f9}, seed {5}, in {6}", digest(source),
      search_name(options), llvm::toHex(hash.final(), /*LowerCase=*/true),
      static_cast<int>(options.explore.numerics), options.extract.max_weight_growth,
      options.explore.seed, conditions, kResultRow);
}

/// Format: the graph's digest and its numbers; a line for each rule, "COUNT NAME"; an empty line;
/// the graph.
std::string kept_text(const Optimized& result) {
  const OptimizeReport& report = result.report;
  const Comparison times = report.comparison.value_or(Comparison());
  std::string text = digest(result.graph);
  for (double number :
       {report.cost_before_us, report.cost_after_us, report.tried_us, report.judging_s,
        times.first_us, times.second_us, times.ratio, times.low, times.high})
    text += llvm::formatv(" {0:f6}", number);
  text += "\n";
  for (const RuleCount& rule : result.report.rules_applied)
    text += std::to_string(rule.count) + " " + rule.rule + "\n";
  return text + "\n" + to_text(result.graph);
}

/// Returns false unless these are nine nonnegative numbers with positive prices.
bool read_numbers(llvm::StringRef text, KnownResult& out) {
  Comparison& times = out.times;
  double first = 0, second = 0;
  for (double* number : {&out.before_us, &out.after_us, &out.tried_us, &out.judging_s, &first,
                         &second, &times.ratio, &times.low, &times.high}) {
    auto [word, rest] = text.split(' ');
    if (word.getAsDouble(*number) || !std::isfinite(*number) || *number < 0) return false;
    text = rest;
  }
  times.first = {0, first, first, first, first};
  times.second = {0, second, second, second, second};
  times.first_us = first, times.second_us = second;
  times.remembered = true;
  return text.empty() && out.before_us > 0 && out.after_us > 0 && (times.high > 0) == (first > 0);
}

/// Returns nullopt for a text of another version, or a damaged one.
std::optional<KnownResult> read_kept(llvm::StringRef text, std::shared_ptr<Symbols> symbols) {
  auto [head, model] = text.split("\n\n");
  auto [first, lines] = head.split('\n');
  auto [expected, numbers] = first.split(' ');
  SourceManager sources;
  DiagnosticSink sink;
  Program program = load_program(sources, library(), sources.add("kept.tg", model.str()), sink);
  if (sink.failed()) return std::nullopt;
  std::optional<Graph> graph = instantiate(program, "", {}, std::move(symbols), sink);
  if (!graph || digest(*graph) != expected) return std::nullopt;
  KnownResult out{.graph = std::move(*graph)};
  if (!read_numbers(numbers, out)) return std::nullopt;
  for (llvm::StringRef line; std::tie(line, lines) = lines.split('\n'), !line.empty();) {
    auto [count, name] = line.split(' ');
    RuleCount rule{name.str(), 0};
    if (count.getAsInteger(10, rule.count)) return std::nullopt;
    out.rules_applied.push_back(std::move(rule));
  }
  return out;
}

} // namespace

std::optional<KnownResult> RememberedFinalists::recall(const Graph& source,
                                                       llvm::ArrayRef<Rule> rules,
                                                       const OptimizeOptions& options) {
  auto row = database_->find_row(result_key(source, rules, options, conditions_));
  return row ? read_kept(row->implementation, source.shared_symbols()) : std::nullopt;
}

void RememberedFinalists::keep(const Graph& source, llvm::ArrayRef<Rule> rules,
                               const OptimizeOptions& options, const Optimized& result) {
  std::string key = result_key(source, rules, options, conditions_);
  const OptimizeReport& report = result.report;
  bool lost = report.source_returned && report.disturbance != Disturbance::None;
  bool unsure = lost || !report.found_other;
  if (unsure && !database_->find_row(key + ", once")) key += ", once";
  database_->store({{key, report.cost_after_us, kept_text(result)}});
}

Result<WholeRuns> RememberedFinalists::compare(const Graph& first, const Graph& second) {
  std::string pair = pair_of(first, second, conditions_), once = pair + ", once";
  if (auto times = known(pair)) return WholeRuns{*times};
  TG_TRY(WholeRuns runs, runner_.compare(first, second));
  if (!plain(runs)) return runs;
  auto earlier = known(once);
  bool confirmed = earlier && verdict(*earlier) == verdict(runs.times);
  keep_times(confirmed || worth_keeping(runs) ? pair : once, runs.times);
  return runs;
}

std::unique_ptr<CostDb> open_whole_runs(const std::string& path, const Backend& backend,
                                        int threads) {
  CostEnvironment environment = environment_of(backend, threads);
  environment.layout = "whole runs";
  return CostDb::open(path.empty() ? default_cost_db_path() : path, environment);
}

} // namespace tg
