// The strategies over graphs, without a growing e-graph: annealing and TASO's search.
#include "compiler/optimizer/strategy/notes.h"

namespace tg {

namespace {

LocalOptions local_options(const StrategyTask& task) {
  const OptimizeOptions& options = task.options;
  LocalOptions local = options.local;
  static_cast<SearchLimits&>(local) = options.explore;
  local.finalists = candidates_to_keep(task);
  local.explore.numerics = options.explore.numerics;
  local.explore.node_limit = options.explore.node_limit;
  local.explain = options.explain;
  local.progress = options.portfolio.progress;
  return local;
}

void note_local(const LocalReport& found, llvm::ArrayRef<Rule> rules, FindingReport& report) {
  note_activity(found.rules, rules, report);
  report.rules_applied = named_counts(found.rules_applied, rules);
  report.extract = "none";
  report.egraph_nodes = found.most_nodes;
  report.egraphs = found.graphs;
  report.simulations = found.moves;
  report.search_memory_mb = static_cast<double>(found.memory_bytes) / (1 << 20);
  report.explore_s = found.seconds;
  report.cost_after_us = found.best_cost;
  report.stopped_by =
      found.stop == StopReason::Iterations ? "budget" : stop_reason_text(found.stop).str();
}

using LocalSearch = LocalReport (*)(const Graph&, llvm::ArrayRef<Rule>, PriceCache&,
                                    const LocalOptions&);

class Local final : public SearchStrategy {
public:
  explicit Local(LocalSearch search) : search_(search) {}
  Result<Candidate> find(const StrategyTask& task, FindingReport& report) const override {
    LocalReport found = search_(task.source, task.rules, task.pricing.prices, local_options(task));
    note_local(found, task.rules, report);
    auto candidate = [&](Graph graph, double cost_us, const LocalMove* last) {
      Candidate out{std::move(graph), cost_us};
      if (task.options.explain)
        out.set_explanation(
            explain_moves(task.source, last, task.rules, task.options.time.explanation()));
      return out;
    };
    for (LocalFinalist& other : found.finalists) {
      task.pricing.others->push_back(
          candidate(std::move(other.graph), other.cost_us, other.last_move.get()));
      task.pricing.others->back().rules = named_counts(other.rules_applied, task.rules);
    }
    return candidate(std::move(found.best), found.best_cost, found.last_move.get());
  }

private:
  LocalSearch search_;
};

} // namespace

const SearchStrategy& annealing() {
  static const Local strategy(search_anneal);
  return strategy;
}

const SearchStrategy& taso_search() {
  static const Local strategy(search_taso);
  return strategy;
}

} // namespace tg
