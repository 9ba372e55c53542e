// Evaluates both sides of a pair at given values of their leaves, with every tensor in its own
// dtype (typed.h): whether they differ, and whether rounding alone can explain it.
#pragma once

#include "compiler/ir/evaluate.h"
#include "compiler/verify/counterexample/typed.h"
#include "compiler/verify/join.h"

#include <optional>

namespace tg {

/// The values of all leaves of a trial, in order; integers as doubles.
using LeafValues = std::vector<NodeValues>;

/// Returns the nodes that only one side needs. Common nodes do not contribute to a difference.
std::vector<bool> one_sided(const Joined& joined);

/// Converts the values of one leaf for evaluate_typed.
TypedValues typed_values(DType dtype, const NodeValues& values);

class Trial {
public:
  struct Difference {
    size_t output = 0;
    int64_t index = 0;
    ConstNumber a, b;
    /// Smaller than the error of cancelling sums, so not a difference if rounding explains it.
    bool tiny = false;
  };

  /// `joined` must outlive the trial.
  explicit Trial(const Joined& joined);

  const Joined& joined() const { return joined_; }
  /// Inputs and weights that the differing outputs need; ascending.
  llvm::ArrayRef<NodeId> leaves() const { return leaves_; }
  /// The values of all leaves, which outlive the result, as evaluate_typed wants them: integers
  /// within the range of their input.
  TypedLeaves typed_leaves(const LeafValues& values) const;
  /// The number that an element of the leaf is where its value is x.
  ConstNumber element(NodeId leaf, double x) const;

  /// Returns the first element that differs: floats by more than double rounding in graphs of this
  /// size, integers and bools by any amount. NaN equals NaN.
  std::optional<Difference> run(const LeafValues& values) const;

  /// The results that count: with numbers too large for a double, only the finite ones.
  enum class Results : uint8_t { Any, Finite };

  /// Returns a difference that rounding cannot have caused. In the nodes that the sides do not
  /// share, rounding is made 2^12 times larger, in several random draws (Monte Carlo arithmetic,
  /// Parker 1997). A difference counts if neither side moves there by an eighth of it. A deep
  /// network may amplify rounding until its results are practically random, and some do not move by
  /// chance. So an output must have more elements that count than elements that move. If the
  /// processor rounded nothing, a difference beyond the rounding of literals counts immediately.
  std::optional<Difference> run_beyond_rounding(const LeafValues& values, Results results) const;

  /// Returns the whole output at which they differ, on both sides.
  std::pair<TypedValues, TypedValues> outputs(const LeafValues& values, size_t output) const;

private:
  Integer in_range(NodeId leaf, Integer x) const;
  TypedRun evaluate(const LeafValues& values) const;

  const Joined& joined_;
  std::vector<bool> alone_;             // from one_sided()
  llvm::SmallVector<NodeId, 4> wanted_; // a, b, a, b, ...
  llvm::SmallVector<size_t, 4> outputs_;
  std::vector<NodeId> leaves_;
  double tolerance_;
};

} // namespace tg
