// Sequential halving (Karnin et al. 2013) over actions whose worth only trials tell: all get
// equally many, then the better half goes on, until two are left. With scores drawn as Gumbel noise
// plus the logarithm of what was known beforehand, few trials improve on the policy that gave them
// (Danihelka et al., ICLR 2022).
#pragma once

#include <llvm/ADT/ArrayRef.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tg {

class SequentialHalving {
public:
  /// So many arms at first, and trials in all.
  SequentialHalving(size_t arms, size_t trials);

  size_t arms() const { return scores_.size(); }
  /// One more arm, which was tried so often already.
  void add(double score, size_t tried);
  /// The arm to try next, which is counted: the one that was tried least of those that are left.
  /// `values`, of all arms, from 0 to 1: what they have been worth so far. Requires an arm.
  size_t next(llvm::ArrayRef<double> values);
  /// The best one by score and value of those that are left.
  size_t best(llvm::ArrayRef<double> values) const;

private:
  void halve(llvm::ArrayRef<double> values);
  double worth(size_t arm, llvm::ArrayRef<double> values) const;
  size_t share() const;

  size_t trials_, phases_;
  size_t most_arms_;
  size_t due_ = 0; // trials of each arm that is left, by the end of this phase
  std::vector<double> scores_;
  std::vector<size_t> tried_;
  std::vector<size_t> left_;
};

/// Of each action Gumbel noise plus the logarithm of its share: the highest scores are a sample of
/// so many actions without replacement, by share.
std::vector<double> gumbel_scores(llvm::ArrayRef<double> shares, uint64_t seed, size_t decision);

} // namespace tg
