// The cost model of this machine: what was timed costs what it took, and what was not costs what
// operators like it took (compiler/extract/cost/price_model.h). Nothing is timed while prices are
// asked for; settle() times what decides between graphs and is not known well enough, so that a
// search that has ended can be taken up again with better prices. What is timed goes into the
// database of measured costs, and each time makes all later guesses better.
//
// Where it is known what any operators take within whole runs of networks (learn_placed), prices
// are of that kind, all of them: what was timed in place costs what it took there, and of all else
// that is guessed, from times in place and alone. Until then they are of operators alone.
#pragma once

#include "compiler/extract/cost/price_model.h"
#include "compiler/pricing/measured_cost.h"

namespace tg {

/// Of the logarithm of a time from the database.
inline constexpr double kTimeNoise = 0.1;

/// Teaches a model the times of a database that were taken on its machine, but for those that
/// `leave_out` names (by the instance's key, and whether the time is of one in place), where it is
/// given.
void learn_times(PriceModel& model, AnalyticCost& roofline, CostDb& database,
                 llvm::function_ref<bool(llvm::StringRef key, bool in_place)> leave_out = {});

class CalibratedCost final : public CostModel {
public:
  /// `device` stands for the backend where nothing was timed yet.
  CalibratedCost(std::unique_ptr<MeasuredCost> measured, const DeviceProfile& device);

  std::string name() const override { return "calibrated:" + measured_->backend_name(); }
  double price(const Symbols& symbols, const OpInstance& instance) override;
  llvm::ArrayRef<KernelPattern> patterns() const override { return measured_->patterns(); }
  bool guesses() const override { return true; }
  double settle(const Symbols& symbols, llvm::ArrayRef<PriceUse> uses, double graph_us,
                const StopToken& stop) override;
  bool wants_placed(const Symbols& symbols, llvm::ArrayRef<OpInstance> instances) override;
  void learn_placed(const Symbols& symbols, llvm::ArrayRef<PlacedTime> times,
                    TimeTrust trust) override;
  std::vector<std::string> notes() const override;

  /// Times what was not timed before, until `stop`, and learns from it. For each that could be
  /// timed: what it had been taken for.
  struct Timed {
    size_t instance = 0; // of those given
    PriceGuess guess;
    double microseconds = 0;
  };
  std::vector<Timed> time(const Symbols& symbols, llvm::ArrayRef<OpInstance> instances,
                          const StopToken& stop);

  /// What is believed of an operator that was not timed, of the kind that prices are. Requires that
  /// it costs anything.
  PriceGuess guess(const Symbols& symbols, const OpInstance& instance) {
    return guess(symbols, instance, model_.knows_places());
  }
  /// Times that the guesses are made of.
  size_t samples() const { return model_.samples(); }
  MeasuredCost& measured() { return *measured_; }

private:
  void time_surprises_again(const Symbols& symbols, llvm::ArrayRef<OpInstance> instances,
                            llvm::ArrayRef<Timed> timed, const StopToken& stop);
  PriceGuess guess(const Symbols& symbols, const OpInstance& instance, bool in_place);
  PriceFeatures features(const Symbols& symbols, const OpInstance& instance, bool in_place);
  /// Of times in place that are not confirmed yet, those that an earlier search's agree with: the
  /// lesser of both. The others are left in `rows`, and kept for the next search to confirm.
  std::vector<CostRow> confirmed(std::vector<CostRow>& rows);
  /// The price where nothing is left to be found out.
  std::optional<double> known(const Symbols& symbols, const OpInstance& instance);

  std::unique_ptr<MeasuredCost> measured_;
  std::unique_ptr<CostDb> placed_, once_; // times in place; those to be confirmed
  AnalyticCost roofline_;
  PriceModel model_;
  double washed_mib_ = 0;
  llvm::StringMap<PriceGuess> guesses_[2]; // alone, in place; by instance; until something is timed
};

} // namespace tg
