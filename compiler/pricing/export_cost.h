// Prices for a search whose result runs in another runtime (`tg opt -o F.onnx`): the prices of this
// runtime plus the additional work of the other one. There, operators, including views, take longer
// to start, and one product of this runtime can be up to three operators. A slice is a view here,
// or part of its reader; ONNX Runtime copies it. If the slice is along channels of an image, which
// convolutions there store in blocks, the data is also converted to rows and back.
#pragma once

#include "compiler/extract/cost/analytic.h"

namespace tg {

class ExportCost final : public CostModel {
public:
  /// `inner` must outlive this object; `device` gives the memory bandwidth.
  ExportCost(CostModel& inner, const DeviceProfile& device) : inner_(inner), device_(device) {}

  std::string name() const override { return inner_.name(); }
  double price(const Symbols& symbols, const OpInstance& instance) override {
    return inner_.price(symbols, instance) + more_us(symbols, instance);
  }
  void prepare(const Symbols& symbols, llvm::ArrayRef<OpInstance> instances) override {
    inner_.prepare(symbols, instances);
  }
  bool known(const Symbols& symbols, llvm::ArrayRef<OpInstance> instances) override {
    return inner_.known(symbols, instances);
  }
  bool needs_preparation() const override { return inner_.needs_preparation(); }
  bool guesses() const override { return inner_.guesses(); }
  double refine_prices(const Symbols& symbols, llvm::ArrayRef<PriceUse> uses, double graph_us,
                       const StopToken& stop) override {
    return inner_.refine_prices(symbols, uses, graph_us, stop);
  }
  bool needs_placed_times(const Symbols& symbols, llvm::ArrayRef<OpInstance> instances) override {
    return inner_.needs_placed_times(symbols, instances);
  }
  void learn_placed(const Symbols& symbols, llvm::ArrayRef<PlacedTime> times,
                    TimeTrust trust) override {
    inner_.learn_placed(symbols, times, trust);
  }
  llvm::ArrayRef<KernelPattern> patterns() const override { return inner_.patterns(); }
  GroupPricer* groups() override { return inner_.groups(); }
  std::vector<std::string> notes() const override { return inner_.notes(); }

private:
  double more_us(const Symbols& symbols, const OpInstance& instance) const;

  CostModel& inner_;
  const DeviceProfile& device_;
};

} // namespace tg
