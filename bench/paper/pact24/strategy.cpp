// The published tree search (pact24.h). The options select the value of a state and the final
// extraction.
#include "bench/paper/pact24/strategy.h"

#include "bench/paper/pact24/fingerprint.h"
#include "bench/paper/pact24/pact24.h"
#include "bench/paper/pact24/published_costs.h"
#include "compiler/optimizer/strategy/one_egraph.h"
#include "compiler/search/chosen_graph.h"

#include <algorithm>

namespace tg::paper {

namespace {

class GreedyPrice final : public StatePrice {
public:
  GreedyPrice(Reward reward, const EGraph& egraph, PriceCache& prices, const StopToken& stop)
      : reward_(reward), prices_(egraph, prices), stop_(stop) {}
  double price(const EGraph& egraph) override {
    return reward_ == Reward::Greedy ? default_greedy(egraph, prices_, stop_).cost_us
                                     : shared_greedy(egraph, prices_, stop_).cost_us;
  }
  void forget(llvm::ArrayRef<ENodeId> changed) override { prices_.forget(changed); }

private:
  Reward reward_;
  NodePrices prices_;
  StopToken stop_;
};

class IlpPrice final : public StatePrice {
public:
  IlpPrice(const Graph& source, PriceCache& prices, const ExtractOptions& options)
      : source_(source), prices_(prices), options_(options) {
    options_.extractor = Extractor::Ilp;
  }
  double price(const EGraph& egraph) override {
    auto [entry, is_new] = known_.try_emplace(fingerprint(egraph) >> 2, kInfiniteCost);
    if (!is_new) return entry->second;
    Result<ExtractedGraph> extracted = extract(egraph, source_, prices_, options_);
    cut_short_ += extracted && extracted->out_of_time;
    return entry->second = extracted ? extracted->cost_us : kInfiniteCost;
  }
  void forget(llvm::ArrayRef<ENodeId>) override {}
  size_t cut_short() const override { return cut_short_; }

private:
  const Graph& source_;
  PriceCache& prices_;
  ExtractOptions options_;
  llvm::DenseMap<uint64_t, double> known_; // by fingerprint
  size_t cut_short_ = 0;
};

/// Returns the state price of one of the three published rewards. It keeps the references. Integer
/// programs are solved once per distinct state. The price is infinite if an integer program fails,
/// and for greedy forms once `stop` is requested.
std::unique_ptr<StatePrice> make_state_price(Reward reward, const EGraph& egraph,
                                             const Graph& source, PriceCache& prices,
                                             const ExtractOptions& extract, const StopToken& stop) {
  if (reward == Reward::Ilp) return std::make_unique<IlpPrice>(source, prices, extract);
  return std::make_unique<GreedyPrice>(reward, egraph, prices, stop);
}

/// Returns the cost by the greedy form of a reward; for Ilp the sharing-aware one.
PublishedCost published_cost(Reward reward, const EGraph& egraph, PriceCache& prices,
                             const StopToken& stop) {
  NodePrices node_prices(egraph, prices);
  return reward == Reward::Greedy ? default_greedy(egraph, node_prices, stop)
                                  : shared_greedy(egraph, node_prices, stop);
}

/// Forwards to another price and reports each evaluation to a listener. The value is not reported,
/// because rewards are not prices of graphs (published_costs.h).
class WatchedPrice final : public StatePrice {
public:
  WatchedPrice(std::unique_ptr<StatePrice> price, ProgressReporter& reporter)
      : price_(std::move(price)), reporter_(reporter) {}
  double price(const EGraph& egraph) override {
    reporter_.tried(egraph);
    return price_->price(egraph);
  }
  void forget(llvm::ArrayRef<ENodeId> changed) override { price_->forget(changed); }
  size_t cut_short() const override { return price_->cut_short(); }

private:
  std::unique_ptr<StatePrice> price_;
  ProgressReporter& reporter_;
};

/// Returns the price of the graph that the published search would return now.
double price_as_published(const EGraph& egraph, const Graph& source, PriceCache& prices,
                          Reward reward, const StopToken& stop) {
  PublishedCost found = published_cost(reward, egraph, prices, stop);
  if (found.cost_us == kInfiniteCost) return kInfiniteCost;
  return price_graph(graph_of(egraph, source, found.nodes), prices);
}

class PublishedTreeSearch final : public OneEGraph {
public:
  PublishedTreeSearch(Reward reward, bool final_ilp, Pact24Options pact)
      : reward_(reward), final_ilp_(final_ilp), pact_(std::move(pact)) {}

private:
  Limits limits(bool /*guessed*/) const override { return {60, 2'000}; }
  void grow(EGraph& egraph, const StrategyTask& task, FindingReport& report) const override;
  std::optional<Candidate> own_extraction(const EGraph& egraph, const StrategyTask& task,
                                          FindingReport& report) const override;

  Reward reward_;
  bool final_ilp_; // else the final extraction uses the greedy form of the rewards
  Pact24Options pact_;
};

void PublishedTreeSearch::grow(EGraph& egraph, const StrategyTask& task,
                               FindingReport& report) const {
  const Graph& source = task.source;
  llvm::ArrayRef<Rule> rules = task.rules;
  const OptimizeOptions& options = task.options;
  PriceCache& prices = task.pricing.prices;
  ProgressReporter reporter(options, report);
  reporter.grown(node_count(egraph));
  Pact24Options pact = pact_;
  static_cast<SearchLimits&>(pact) = options.explore;
  pact.explore.node_limit = options.explore.node_limit;
  pact.explore.cycle_filter = options.explore.cycle_filter;
  pact.explore.numerics = options.explore.numerics;
  pact.explore.match_limit = std::max<size_t>(options.explore.node_limit, 1);
  pact.stop = options.explore.stop.within(options.explore.time_limit_s);
  WatchedPrice price(make_state_price(reward_, egraph, source, prices, options.extract, pact.stop),
                     reporter);
  double best_us = report.cost_before_us;
  if (options.trace || reporter.has_listener())
    pact.decided = [&](const Pact24Report& so_far) {
      best_us = std::min(best_us, price_as_published(egraph, source, prices, reward_, pact.stop));
      reporter.found(best_us);
      if (options.trace)
        options.trace->points.push_back(
            {so_far.seconds, best_us, so_far.simulations, node_count(egraph), ""});
    };
  Pact24Report explored = search_pact24(egraph, rules, pact, price);
  note_activity(explored.rules, rules, report);
  note_egraph(explored, report);
  report.simulations = explored.simulations;
  report.decisions = static_cast<size_t>(explored.decisions);
  report.search_memory_mb = static_cast<double>(explored.memory_bytes) / (1 << 20);
  note_cut_extractions(price.cut_short(), report);
  if (explored.stop == StopReason::Iterations) report.stopped_by = "decisions";
}

std::optional<Candidate> PublishedTreeSearch::own_extraction(const EGraph& egraph,
                                                             const StrategyTask& task,
                                                             FindingReport& report) const {
  const auto& [source, rules, pricing, options] = task;
  if (final_ilp_) return std::nullopt;
  PriceCache& prices = pricing.prices;
  PublishedCost found = published_cost(reward_, egraph, prices, options.extract.stop);
  bool stopped = found.cost_us == kInfiniteCost && options.extract.stop.asked();
  Graph graph = stopped ? source : graph_of(egraph, source, found.nodes);
  report.extract = reward_ == Reward::Greedy ? "greedy" : "greedy-shared";
  double cost = report.cost_after_us = price_graph(graph, prices);
  report_extracted(cost, 0, options, report);
  return Candidate{std::move(graph), cost};
}

} // namespace

std::shared_ptr<const tangram::OwnSearch>
published_tree_search(Reward reward, bool reuse_tree, const tangram::OptimizeOptions& options) {
  Pact24Options pact;
  if (options.budget > 0) pact.budget = static_cast<int>(options.budget);
  if (options.depth > 0) pact.depth = static_cast<int>(options.depth);
  if (options.exploration >= 0) pact.exploration = options.exploration;
  pact.reuse_tree = reuse_tree;
  auto own = std::make_shared<tangram::OwnSearch>();
  own->name = "pact24";
  own->strategy = std::make_shared<PublishedTreeSearch>(
      reward, options.extract != tangram::Extractor::Greedy, std::move(pact));
  return own;
}

} // namespace tg::paper
