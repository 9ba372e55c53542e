// Both sides of a pair at given values of their leaves, every tensor in its own dtype (typed.h):
// whether they part there, and whether rounding alone can have parted them.
#pragma once

#include "compiler/ir/evaluate.h"
#include "compiler/verify/counterexample/typed.h"
#include "compiler/verify/join.h"

#include <optional>

namespace tg {

/// The values of all leaves of a trial, in their order; integers as doubles.
using LeafValues = std::vector<NodeValues>;

/// Nodes that one side alone needs. What both compute alike says nothing about a difference.
std::vector<bool> one_sided(const Joined& joined);

/// The values of one leaf as evaluate_typed wants them.
TypedValues typed_values(DType dtype, const NodeValues& values);

class Trial {
public:
  struct Difference {
    size_t output = 0;
    int64_t index = 0;
    ConstNumber a, b;
    /// Below what sums that cancel leave behind: nothing, if rounding explains it.
    bool tiny = false;
  };

  /// `joined` outlives the trial.
  explicit Trial(const Joined& joined);

  const Joined& joined() const { return joined_; }
  /// Inputs and weights that the outputs which are not one node need; ascending.
  llvm::ArrayRef<NodeId> leaves() const { return leaves_; }
  /// The values of all leaves, which outlive the result, as evaluate_typed wants them: integers
  /// within the range of their input.
  TypedLeaves typed_leaves(const LeafValues& values) const;
  /// The number that an element of the leaf is where its value is x.
  ConstNumber element(NodeId leaf, double x) const;

  /// The first element that differs: of floats by more than a double rounds in graphs of this size,
  /// of integers and bools at all. NaN equals NaN.
  std::optional<Difference> run(const LeafValues& values) const;

  /// Which results count: where numbers are too large for a double, those that are finite.
  enum class Results : uint8_t { Any, Finite };

  /// A difference that rounding cannot have made. Of what the sides do not share, rounding is made
  /// 2^12 times worse, some times over at random (Monte Carlo arithmetic, Parker 1997): a
  /// difference counts if neither side moves there by as much as an eighth of it. A deep network
  /// may amplify rounding until its results are as good as drawn, of which some stay where they are
  /// by chance: so an output has to have more elements that count than elements that move. Where
  /// the processor rounded nothing, a difference beyond the rounding of literals counts at once.
  std::optional<Difference> run_beyond_rounding(const LeafValues& values, Results results) const;

  /// The whole output at which they differ, on both sides.
  std::pair<TypedValues, TypedValues> outputs(const LeafValues& values, size_t output) const;

private:
  Integer in_range(NodeId leaf, Integer x) const;
  TypedRun evaluate(const LeafValues& values) const;

  const Joined& joined_;
  std::vector<bool> alone_;             // one_sided()
  llvm::SmallVector<NodeId, 4> wanted_; // a, b, a, b, ...
  llvm::SmallVector<size_t, 4> outputs_;
  std::vector<NodeId> leaves_;
  double tolerance_;
};

} // namespace tg
