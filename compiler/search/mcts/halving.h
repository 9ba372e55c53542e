// Sequential halving (Karnin et al. 2013) over actions whose value is known only by trials. All
// arms get equally many trials, then the better half goes on, until two are left. If the scores are
// Gumbel noise plus the logarithm of the prior, few trials improve on the prior policy (Danihelka
// et al., ICLR 2022).
#pragma once

#include <llvm/ADT/ArrayRef.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tg {

class SequentialHalving {
public:
  /// Takes the initial number of arms and the total number of trials.
  SequentialHalving(size_t arms, size_t trials);

  size_t arms() const { return scores_.size(); }
  /// Adds an arm that has been tried `tried` times already.
  void add(double score, size_t tried);
  /// Returns the arm to try next, the least-tried remaining one, and counts the trial. `values`
  /// holds the mean value of each arm so far, in [0, 1]. Requires at least one arm.
  size_t next(llvm::ArrayRef<double> values);
  /// Returns the remaining arm that is best by score and value.
  size_t best(llvm::ArrayRef<double> values) const;

private:
  void halve(llvm::ArrayRef<double> values);
  double worth(size_t arm, llvm::ArrayRef<double> values) const;
  size_t share() const;

  size_t trials_, phases_;
  size_t most_arms_;
  size_t due_ = 0; // trials of each remaining arm by the end of this phase
  std::vector<double> scores_;
  std::vector<size_t> tried_;
  std::vector<size_t> left_;
};

/// Returns, for each action, Gumbel noise plus the logarithm of its share. The k highest scores are
/// a sample of k actions without replacement, weighted by share.
std::vector<double> gumbel_scores(llvm::ArrayRef<double> shares, uint64_t seed, size_t decision);

} // namespace tg
