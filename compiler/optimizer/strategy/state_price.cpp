#include "compiler/optimizer/strategy/state_price.h"

namespace tg {
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

} // namespace

std::unique_ptr<StatePrice> make_state_price(Reward reward, const EGraph& egraph,
                                             const Graph& source, PriceCache& prices,
                                             const ExtractOptions& extract, const StopToken& stop) {
  if (reward == Reward::Ilp) return std::make_unique<IlpPrice>(source, prices, extract);
  return std::make_unique<GreedyPrice>(reward, egraph, prices, stop);
}

PublishedCost published_cost(Reward reward, const EGraph& egraph, PriceCache& prices,
                             const StopToken& stop) {
  NodePrices node_prices(egraph, prices);
  return reward == Reward::Greedy ? default_greedy(egraph, node_prices, stop)
                                  : shared_greedy(egraph, node_prices, stop);
}

} // namespace tg
