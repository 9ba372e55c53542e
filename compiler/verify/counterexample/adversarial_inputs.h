// Generates inputs that are likely to distinguish two similar functions, one set of leaf values
// after the other. First ordinary numbers, then equal ones (ties, repeated indices), then the
// literals of both sides (probe.h), then scales far from one, then integers that wrap around or
// index out of range. The sets depend only on the seed, the leaves' names and the graph.
#pragma once

#include "compiler/verify/counterexample/trial.h"

namespace tg {

struct Attempt {
  std::string name; // the kind of values: "small integers"
  LeafValues values;
};

class AdversarialInputs {
public:
  /// The number of sets: Glance for pairs that are equal in the field, Quick for pairs of which
  /// many are tried, Whole if there is no other evidence.
  enum class Effort : uint8_t { Glance, Quick, Whole };

  AdversarialInputs(const Trial& trial, uint64_t seed, Effort effort);

  size_t size() const { return plans_.size(); }
  Attempt at(size_t i) const;
  bool out_of_range(size_t i) const {
    return plans_[i].kind == Kind::OutOfRange || plans_[i].kind == Kind::Alike;
  }
  /// Returns true for sets with magnitudes at which intermediate results may overflow.
  bool extreme(size_t i) const { return plans_[i].kind == Kind::Scale; }

  /// The sets for NaN and infinity only; and the sets in which sums round operands away, so that
  /// discontinuous results (a comparison, argmax) may change.
  size_t specials() const { return kSpecials; }
  Attempt special(size_t i) const;
  size_t roundings() const { return kRoundings; }
  Attempt rounding(size_t i) const;

private:
  enum class Kind : uint8_t { Ordinary, Alike, Threshold, Scale, Ends, OutOfRange };
  struct Plan {
    Kind kind;
    uint32_t round;
  };
  static constexpr size_t kSpecials = 3, kRoundings = 6;

  NodeValues floats(const Plan& plan, size_t leaf) const;
  NodeValues alike(size_t round, size_t leaf) const;
  NodeValues wholes(const Plan& plan, size_t leaf) const;
  NodeValues plain(size_t leaf) const;
  void plan(Kind kind, size_t rounds);
  size_t threshold_rounds() const;

  const Trial& trial_;
  const Graph& graph_;
  uint64_t seed_;
  std::vector<double> pool_;                         // both sides' thresholds and neighbours
  std::vector<std::optional<int64_t>> index_limits_; // for leaves that index an axis: its size
  std::vector<Plan> plans_;
};

} // namespace tg
