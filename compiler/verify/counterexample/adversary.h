// Inputs at which functions that look alike part ways, one set of leaf values after the other:
// ordinary numbers first, then equal ones (ties, indices that repeat), then what the two sides
// themselves are written with (probe.h), then
// scales far from one, then what integers can do that reals cannot: wrap around, index out of
// range. From the seed, the leaves' names and the graph alone.
#pragma once

#include "compiler/verify/counterexample/trial.h"

namespace tg {

struct Attempt {
  std::string name; // of the kind: "small integers"
  LeafValues values;
};

class Adversary {
public:
  /// How many sets: for pairs that are equal in the field, for pairs of which many are tried, or
  /// where there is no other evidence.
  enum class Effort : uint8_t { Glance, Quick, Whole };

  Adversary(const Trial& trial, uint64_t seed, Effort effort);

  size_t size() const { return plans_.size(); }
  Attempt at(size_t i) const;
  bool out_of_range(size_t i) const {
    return plans_[i].kind == Kind::OutOfRange || plans_[i].kind == Kind::Alike;
  }
  /// Of magnitudes at which what is written may overflow.
  bool extreme(size_t i) const { return plans_[i].kind == Kind::Scale; }

  /// Of the sets that say something of NaN and infinity alone; of those in which sums round away
  /// what they are given, so that what jumps (a comparison, argmax) may jump elsewhere.
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
  std::vector<double> pool_;                         // thresholds of both sides, and around them
  std::vector<std::optional<int64_t>> index_limits_; // of leaves that index an axis: its size
  std::vector<Plan> plans_;
};

} // namespace tg
