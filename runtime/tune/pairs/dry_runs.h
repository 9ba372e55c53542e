// How many programs reuse will try on a device that tells legal programs from others: Algorithm 1
// itself, from what the device guesses of the reused operator (Device::guess) and from programs
// that are drawn among its legal ones, with trials that take no time. Formulas (estimate.h) count
// what divides the loops, of which a device may allow a half, or nothing.
#pragma once

#include "runtime/tune/device.h"

#include <map>

namespace tg::tune {

class DryRuns {
public:
  /// `samples`: programs of an operator that stand for what tuning will find.
  /// `guess`: reuse will begin with what the device guesses of its target, and most often nothing
  /// is faster. `patience`: that of reuse (ReuseOptions).
  explicit DryRuns(const Device& device, int samples = 8, uint64_t seed = 1, bool guess = false,
                   int64_t patience = 0)
      : device_(device), samples_(samples), seed_(seed), guess_(guess), patience_(patience) {}

  /// The operator has been tuned: this program alone stands for it.
  void know(const Program& best) { programs_[text(best.op)] = {best}; }

  /// Whether the device is to end: nothing more is estimated then.
  bool stopped() const { return device_.stopped(); }
  /// nullopt: nothing legal is found of the one or the other; where trials do not end early, also
  /// where nothing is but the guess. Requires `can_reuse`. `most`: of the samples, so many are run.
  /// `enough`: times of what the guess takes, at which nothing more is to be gained; 0: not known.
  std::optional<double> expected_trials(const Operator& target, const Operator& reused,
                                        size_t most = SIZE_MAX, double enough = 0);

private:
  const std::vector<Program>& programs_of(const Operator& op);
  /// Whether what is reused leads to a program, even if it is the guess alone.
  bool reaches_guess(const Operator& target, const Program& reused) const;
  /// Where trials end early.
  double patient_trials(const Operator& target, const Program& reused, double enough) const;

  const Device& device_;
  int samples_;
  uint64_t seed_;
  bool guess_;
  int64_t patience_;
  std::map<std::string, std::vector<Program>> programs_; // by the operator's text
};

} // namespace tg::tune
