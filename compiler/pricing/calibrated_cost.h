// The cost model of this machine: a timed operator has its measured time, any other an estimate
// from similar operators (compiler/extract/cost/price_model.h). Requesting a price does not time
// anything. refine_prices() times the uncertain operators that decide between graphs, so that a
// finished search can continue with better prices. Times are stored in the database of measured
// costs, and each one improves later estimates.
//
// Once there are times of operators within whole runs of networks (learn_placed), all prices are of
// that kind: measured in place, or estimated from times in place and alone. Until then they are
// times of operators alone.
#pragma once

#include "compiler/extract/cost/price_model.h"
#include "compiler/pricing/measured_cost.h"

namespace tg {

/// Standard deviation of the logarithm of a time from the database.
inline constexpr double kTimeNoise = 0.1;

/// Teaches a model the times in a database that were measured on its machine. `leave_out`, if
/// given, excludes times by the instance's key and whether the time is one in place.
void learn_times(PriceModel& model, AnalyticCost& roofline, CostDb& database,
                 llvm::function_ref<bool(llvm::StringRef key, bool in_place)> leave_out = {});

class CalibratedCost final : public CostModel {
public:
  /// `device` describes the backend before anything is timed.
  CalibratedCost(std::unique_ptr<MeasuredCost> measured, const DeviceProfile& device);

  std::string name() const override { return "calibrated:" + measured_->backend_name(); }
  double price(const Symbols& symbols, const OpInstance& instance) override;
  llvm::ArrayRef<KernelPattern> patterns() const override { return measured_->patterns(); }
  bool guesses() const override { return true; }
  double refine_prices(const Symbols& symbols, llvm::ArrayRef<PriceUse> uses, double graph_us,
                       const StopToken& stop) override;
  bool needs_placed_times(const Symbols& symbols, llvm::ArrayRef<OpInstance> instances) override;
  void learn_placed(const Symbols& symbols, llvm::ArrayRef<PlacedTime> times,
                    TimeTrust trust) override;
  std::vector<std::string> notes() const override;

  /// Times the instances that have no time yet, until `stop`, and learns from them. For each one
  /// that could be timed, returns the earlier estimate.
  struct Timed {
    size_t instance = 0; // index in the given list
    PriceGuess guess;
    double microseconds = 0;
  };
  std::vector<Timed> time(const Symbols& symbols, llvm::ArrayRef<OpInstance> instances,
                          const StopToken& stop);

  /// Returns the estimate for an operator that was not timed, of the current kind of prices.
  /// Requires that the operator is not free.
  PriceGuess guess(const Symbols& symbols, const OpInstance& instance) {
    return guess(symbols, instance, model_.knows_places());
  }
  /// Number of times on which the estimates are based.
  size_t samples() const { return model_.samples(); }
  MeasuredCost& measured() { return *measured_; }

private:
  void retime_outliers(const Symbols& symbols, llvm::ArrayRef<OpInstance> instances,
                       llvm::ArrayRef<Timed> timed, const StopToken& stop);
  PriceGuess guess(const Symbols& symbols, const OpInstance& instance, bool in_place);
  PriceFeatures features(const Symbols& symbols, const OpInstance& instance, bool in_place);
  /// Returns the unconfirmed times in place that agree with an earlier search, as the minimum of
  /// both. The others remain in `rows`, for the next search to confirm.
  std::vector<CostRow> confirmed(std::vector<CostRow>& rows);
  /// Returns the price if it needs no timing.
  std::optional<double> known(const Symbols& symbols, const OpInstance& instance);

  std::unique_ptr<MeasuredCost> measured_;
  std::unique_ptr<CostDb> placed_, once_; // times in place; unconfirmed ones
  AnalyticCost roofline_;
  PriceModel model_;
  double washed_mib_ = 0;
  llvm::StringMap<PriceGuess> guesses_[2]; // alone, in place; by instance; cleared by timing
};

} // namespace tg
