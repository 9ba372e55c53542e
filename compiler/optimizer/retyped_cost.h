// Prices for a model that is searched in f32 and runs in a narrower float (`--dtype`). Rules,
// extraction and computation at load stay in f32. Every price is that of the operator or graph
// converted by `retype`.
#pragma once

#include "compiler/extract/cost/cost.h"

#include <optional>

namespace tg {

class RetypedGroups final : public GroupPricer {
public:
  /// `inner` must outlive it.
  RetypedGroups(GroupPricer& inner, DType dtype) : inner_(inner), dtype_(dtype) {}
  /// The price is also infinite if the graph cannot be converted.
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
  /// The price of an operator that stays in f32 includes its conversions, as among narrow
  /// operators. Conversions shared by two such neighbours are counted twice.
  double price(const Symbols& symbols, const OpInstance& instance) override;
  void prepare(const Symbols& symbols, llvm::ArrayRef<OpInstance> instances) override;
  bool known(const Symbols& symbols, llvm::ArrayRef<OpInstance> instances) override;
  double refine_prices(const Symbols& symbols, llvm::ArrayRef<PriceUse> uses, double graph_us,
                       const StopToken& stop) override;
  bool guesses() const override { return inner_.guesses(); }
  bool needs_preparation() const override { return inner_.needs_preparation(); }
  llvm::ArrayRef<KernelPattern> patterns() const override { return inner_.patterns(); }
  GroupPricer* groups() override { return groups_ ? &*groups_ : nullptr; }
  std::vector<std::string> notes() const override { return inner_.notes(); }

private:
  using Step = OwnedInstance; // an operator that runs
  TypeId type(const TensorType& from, bool wide);
  Step cast(const TensorType& from, bool to_wide);
  /// Returns the operators that run for the instance.
  std::vector<Step> steps(const Symbols& symbols, const OpInstance& instance);
  std::vector<Step> steps(const Symbols& symbols, llvm::ArrayRef<OpInstance> instances);
  /// The steps must outlive the result.
  static std::vector<OpInstance> views_of(llvm::ArrayRef<Step> steps);

  CostModel& inner_;
  DType dtype_;
  Symbols symbols_; // of the steps; separate from those of a search, which must not change
  std::optional<RetypedGroups> groups_;
};

/// Returns `costs`, or for a narrower type a model of the prices of converted operators and graphs,
/// which is stored in `narrow`. Both must outlive the result.
CostModel& in_dtype(DType dtype, CostModel& costs, std::optional<RetypedCost>& narrow);

} // namespace tg
