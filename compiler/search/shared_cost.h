// A cost model for several threads: one question at a time.
#pragma once

#include "compiler/extract/cost.h"

#include <mutex>

namespace tg {

class SharedCost final : public CostModel {
public:
  explicit SharedCost(CostModel& model) : model_(model) {}
  std::string name() const override { return model_.name(); }
  double price(const Symbols& symbols, const OpInstance& instance) override {
    std::lock_guard lock(mutex_);
    return model_.price(symbols, instance);
  }
  void prepare(const Symbols& symbols, llvm::ArrayRef<OpInstance> instances) override {
    std::lock_guard lock(mutex_);
    model_.prepare(symbols, instances);
  }
  bool wants_notice() const override { return model_.wants_notice(); }
  llvm::ArrayRef<KernelPattern> patterns() const override { return model_.patterns(); }
  std::vector<std::string> notes() const override { return model_.notes(); }

private:
  CostModel& model_;
  std::mutex mutex_;
};

} // namespace tg
