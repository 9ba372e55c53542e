// Estimates how many programs reuse will try on a device that distinguishes legal programs
// from illegal ones. It runs Algorithm 1 itself with trials that take no time,
// from the device's guess for the reused operator (Device::guess)
// and from programs drawn at random among its legal ones.
// The formulas of estimate.h count the divisors of the loops, of which a device may allow only
// half, or none.
#pragma once

#include "runtime/tune/device.h"

#include <map>

namespace tg::tune {

class DryRuns {
public:
  /// `samples`: number of programs of an operator that represent the result of tuning it. `guess`:
  /// reuse begins with the device's guess for its target, and most often nothing is faster.
  /// `patience`: as in ReuseOptions.
  explicit DryRuns(const Device& device, int samples = 8, uint64_t seed = 1, bool guess = false,
                   int64_t patience = 0)
      : device_(device), samples_(samples), seed_(seed), guess_(guess), patience_(patience) {}

  /// The operator has been tuned: this program alone represents it.
  void know(const Program& best) { programs_[text(best.op)] = {best}; }

  /// Returns true if the device must stop: nothing more is estimated then.
  bool stopped() const { return device_.stopped(); }
  /// Returns nullopt if one of the operators has no legal program;
  /// if trials do not end early, also if the guess is the only legal program. Requires `can_reuse`.
  /// `most`: number of samples to run. `enough`: the time at which nothing more is to be gained,
  /// relative to that of the guess; 0: unknown.
  std::optional<double> expected_trials(const Operator& target, const Operator& reused,
                                        size_t most = SIZE_MAX, double enough = 0);

private:
  const std::vector<Program>& programs_of(const Operator& op);
  /// Returns true if the reused program leads to a program, even if only to the guess.
  bool reaches_guess(const Operator& target, const Program& reused) const;
  /// The estimate if trials end early.
  double patient_trials(const Operator& target, const Program& reused, double enough) const;

  const Device& device_;
  int samples_;
  uint64_t seed_;
  bool guess_;
  int64_t patience_;
  std::map<std::string, std::vector<Program>> programs_; // by the operator's text
};

} // namespace tg::tune
