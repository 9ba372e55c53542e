// Guesses of the price model for a network that it has seen nothing of: from the samples of a
// database, less what the network's own graphs hold.
#pragma once

#include "compiler/driver/calibrated_cost.h"
#include "compiler/extract/extract.h"

#include <llvm/ADT/StringSet.h>

namespace tg {

class HeldOut final : public CostModel {
public:
  /// `samples` must outlive it; its own timings are not used.
  HeldOut(llvm::ArrayRef<const Graph*> graphs, MeasuredCost& samples)
      : roofline_(*find_device_profile("cpu")), washed_mib_(samples.washed_mib()),
        samples_(samples) {
    llvm::StringSet<> own;
    for (const Graph* graph : graphs)
      for (const OpInstance& instance : instances_of(*graph).instances)
        own.insert(instance_key(graph->symbols(), instance));
    learn_times(model_, roofline_, samples.database(),
                [&](llvm::StringRef key) { return own.contains(key); });
  }
  std::string name() const override { return "calibrated, held out"; }
  double price(const Symbols& symbols, const OpInstance& instance) override {
    if (samples_.costs_nothing(symbols, instance)) return 0;
    return model_.guess(price_features(roofline_, symbols, instance, washed_mib_)).microseconds;
  }
  llvm::ArrayRef<KernelPattern> patterns() const override { return samples_.patterns(); }

private:
  AnalyticCost roofline_;
  PriceModel model_;
  double washed_mib_;
  MeasuredCost& samples_;
};

} // namespace tg
