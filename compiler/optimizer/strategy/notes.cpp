#include "compiler/optimizer/strategy/notes.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/Support/FormatVariadic.h>

#include <algorithm>

namespace tg {

void note_activity(llvm::ArrayRef<RuleStats> stats, llvm::ArrayRef<Rule> rules,
                   SearchSection& report) {
  for (size_t i = 0; i < stats.size() && i < rules.size(); ++i)
    if (stats[i].matches > 0)
      report.activity.push_back(
          {rules[i].name, rules[i].declared, stats[i].matches, stats[i].applied});
}

void note_cut_extractions(size_t count, FindingReport& report) {
  report.cut_extractions = count;
  if (count > 0)
    report.notes.push_back(
        llvm::formatv("{0} extraction{1} stopped by the time limit", count, count == 1 ? "" : "s"));
}

Result<Derivation> explain_moves(const Graph& source, const LocalMove* last,
                                 llvm::ArrayRef<Rule> rules, const StopToken& stop) {
  std::vector<const LocalMove*> moves;
  for (; last; last = last->earlier.get()) moves.push_back(last);
  Derivation chain = derivation_of(source);
  for (const LocalMove* move : llvm::reverse(moves)) {
    TG_TRY(Derivation next, explain(move->history, rules, move->before, move->after, stop));
    append(chain, next);
  }
  trim(chain);
  return chain;
}

} // namespace tg
