#include "compiler/optimizer/strategy/notes.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/Support/FormatVariadic.h>

#include <algorithm>

namespace tg {

void note_activity(llvm::ArrayRef<RuleStats> stats, llvm::ArrayRef<Rule> rules,
                   OptimizeReport& report) {
  for (size_t i = 0; i < stats.size() && i < rules.size(); ++i)
    if (stats[i].matches > 0)
      report.activity.push_back(
          {rules[i].name, rules[i].declared, stats[i].matches, stats[i].applied});
}

void note_cut_extractions(size_t count, OptimizeReport& report) {
  report.cut_extractions = count;
  if (count > 0)
    report.notes.push_back(
        llvm::formatv("{0} extraction{1} ended by the clock", count, count == 1 ? "" : "s"));
}

StopToken end_of_explaining(const OptimizeOptions& options) {
  constexpr double kMemory = 0.6; // what is found is then trimmed, beside what it was found in
  return options.stop.with_memory(kMemory).with_grace(kGraceOfExplanation);
}

} // namespace tg
