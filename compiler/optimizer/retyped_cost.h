// Prices of a model that is searched in f32 and runs in a narrower float (`--dtype`): rules,
// extraction and what is computed at load stay in f32, and every price is that of what `retype`
// makes of the operator or the graph.
#pragma once

#include "compiler/extract/cost/cost.h"

#include <optional>

namespace tg {

class RetypedGroups final : public GroupPricer {
public:
  /// `inner` must outlive it.
  RetypedGroups(GroupPricer& inner, DType dtype) : inner_(inner), dtype_(dtype) {}
  /// Infinite for what cannot be in the dtype, too.
  std::vector<GroupPrice> price(llvm::ArrayRef<const Graph*> graphs) override;

private:
  GroupPricer& inner_;
  DType dtype_;
};

class RetypedCost final : public CostModel {
public:
  /// `inner` must outlive it.
  RetypedCost(CostModel& inner, DType dtype);

  std::string name() const override { return inner_.name() + ", " + dtype_name(dtype_).str(); }
  /// An operator that stays in f32 costs its conversions besides, as among narrow ones: neighbours
  /// that share one pay for it twice.
  double price(const Symbols& symbols, const OpInstance& instance) override;
  void prepare(const Symbols& symbols, llvm::ArrayRef<OpInstance> instances) override;
  bool known(const Symbols& symbols, llvm::ArrayRef<OpInstance> instances) override;
  double settle(const Symbols& symbols, llvm::ArrayRef<PriceUse> uses, double graph_us,
                const StopToken& stop) override;
  bool guesses() const override { return inner_.guesses(); }
  bool wants_notice() const override { return inner_.wants_notice(); }
  llvm::ArrayRef<KernelPattern> patterns() const override { return inner_.patterns(); }
  GroupPricer* groups() override { return groups_ ? &*groups_ : nullptr; }
  std::vector<std::string> notes() const override { return inner_.notes(); }

private:
  using Step = OwnedInstance; // of what runs
  TypeId type(const TensorType& from, bool wide);
  Step cast(const TensorType& from, bool to_wide);
  /// What runs for the instance.
  std::vector<Step> steps(const Symbols& symbols, const OpInstance& instance);
  std::vector<Step> steps(const Symbols& symbols, llvm::ArrayRef<OpInstance> instances);
  /// The steps must outlive them.
  static std::vector<OpInstance> views_of(llvm::ArrayRef<Step> steps);

  CostModel& inner_;
  DType dtype_;
  Symbols symbols_; // of the steps: those of a search are not for others to add to
  std::optional<RetypedGroups> groups_;
};

/// `costs`, or in a narrower type its prices of what that makes of operators and graphs; `narrow`
/// holds what is made for that. Both must outlive it.
CostModel& in_dtype(DType dtype, CostModel& costs, std::optional<RetypedCost>& narrow);

} // namespace tg
