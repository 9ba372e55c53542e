// Equality saturation on TENSAT's schedule, and the strategy without any search, which only
// extracts from the source.
#include "compiler/optimizer/strategy/one_egraph.h"

namespace tg {

namespace {

/// Notes that "saturated" only refers to single-pattern rules; others run in the first iterations.
void note_joint_rules(const SaturateReport& explored, const SaturateOptions& options,
                      llvm::ArrayRef<Rule> rules, FindingReport& report) {
  if (explored.stop != StopReason::Saturated || explored.iterations <= options.multi_iterations)
    return;
  for (size_t i = 0; i < explored.rules.size() && i < rules.size(); ++i)
    if (rules[i].multi() && explored.rules[i].matches > 0) {
      int n = options.multi_iterations;
      report.notes.push_back(
          llvm::formatv("saturated, except for multi-pattern rules: they ran only "
                        "in the first {0} (--multi-iterations)",
                        n == 1 ? "iteration" : llvm::formatv("{0} iterations", n).str()));
      return;
    }
}

class Saturation final : public OneEGraph {
  bool takes_kernels() const override { return true; }
  void grow(EGraph& egraph, const StrategyTask& task, FindingReport& report) const override {
    ProgressReporter reporter(task.options, report);
    reporter.grown(node_count(egraph));
    SaturateOptions options = task.options.explore;
    if (reporter.has_listener()) options.progress = [&](size_t nodes) { reporter.grown(nodes); };
    SaturateReport explored = saturate(egraph, task.rules, options);
    note_activity(explored.rules, task.rules, report);
    note_egraph(explored, report);
    note_joint_rules(explored, options, task.rules, report);
  }
};

class NoSearch final : public OneEGraph {
  void grow(EGraph& egraph, const StrategyTask& task, FindingReport& report) const override {
    ProgressReporter(task.options, report).grown(node_count(egraph));
    report.egraph_nodes = node_count(egraph);
    report.egraph_classes = class_count(egraph);
    report.stopped_by = "no search";
  }
};

} // namespace

const SearchStrategy& saturation() {
  static const Saturation strategy;
  return strategy;
}

const SearchStrategy& no_search() {
  static const NoSearch strategy;
  return strategy;
}

} // namespace tg
