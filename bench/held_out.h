// Predictions of the price model for a held-out network: from the samples of a database without the
// operators of the network's own graphs, and from times of operators within runs of other graphs.
#pragma once

#include "compiler/api/backends/prepare.h"
#include "compiler/extract/extract.h"
#include "compiler/optimizer/refined_search.h"
#include "compiler/pricing/calibrated_cost.h"

#include <llvm/ADT/StringMap.h>
#include <llvm/ADT/StringSet.h>

namespace tg {

/// Returns the keys of all operators of `graphs`.
inline llvm::StringSet<> keys_of(llvm::ArrayRef<const Graph*> graphs) {
  llvm::StringSet<> keys;
  for (const Graph* graph : graphs)
    for (const OpInstance& instance : instances_of(*graph).instances)
      keys.insert(instance_key(graph->symbols(), instance));
  return keys;
}

/// Returns a cost model that times operators alone, for a network of the size of `graph`, on the
/// backend `cpu`. Errors: the backend's.
inline Result<std::unique_ptr<MeasuredCost>>
measured_costs(const Graph& graph, const std::string& database, int threads) {
  TG_TRY(std::unique_ptr<Backend> backend, make_backend("cpu"));
  MeasuredCostOptions options;
  options.cost_db = database;
  options.threads = threads;
  options.network_bytes = network_bytes(graph);
  return std::make_unique<MeasuredCost>(std::move(backend), options);
}

class HeldOut final : public CostModel {
public:
  /// Learns from the times in the database of `samples`, except those of operators of `graphs`.
  /// `samples` must outlive this object; the operators that it times itself are not used.
  HeldOut(llvm::ArrayRef<const Graph*> graphs, MeasuredCost& samples)
      : roofline_(*find_device_profile("cpu")), washed_mib_(samples.washed_mib()),
        samples_(samples) {
    llvm::StringSet<> own = keys_of(graphs);
    learn_times(model_, roofline_, samples.database(),
                [&](llvm::StringRef key, bool) { return own.contains(key); });
  }
  std::string name() const override {
    return placed_.empty() ? "calibrated, held out" : "in place, held out";
  }
  double price(const Symbols& symbols, const OpInstance& instance) override {
    if (samples_.needs_no_timing(symbols, instance)) return 0;
    if (auto known = placed_.find(instance_key(symbols, instance)); known != placed_.end())
      return known->second.sum_us / known->second.count;
    PriceFeatures features = price_features(roofline_, symbols, instance, washed_mib_);
    features.in_place = model_.knows_places();
    return model_.guess(features).microseconds;
  }
  llvm::ArrayRef<KernelPattern> patterns() const override { return samples_.patterns(); }

  /// Learns the times of operators within runs of another graph. An operator's price is the mean of
  /// its times.
  void learn_placed(const Symbols& symbols, llvm::ArrayRef<PlacedTime> times, double washed_mib) {
    for (const PlacedTime& time : times) {
      if (samples_.needs_no_timing(symbols, time.instance)) continue;
      Placed& placed = placed_[instance_key(symbols, time.instance)];
      placed.sum_us += time.microseconds;
      if (placed.count++ > 0) continue;
      PriceFeatures features = price_features(roofline_, symbols, time.instance, washed_mib);
      features.in_place = true;
      model_.learn(features, time.microseconds, kTimeNoise);
    }
  }
  using CostModel::learn_placed;

private:
  struct Placed {
    double sum_us = 0;
    int count = 0;
  };
  AnalyticCost roofline_;
  PriceModel model_;
  double washed_mib_;
  MeasuredCost& samples_;
  llvm::StringMap<Placed> placed_;
};

} // namespace tg
