// Decides whether two models compute the same function.
//
// 1. Both become one graph (join.h); outputs that are one node are equal by construction. In large
//    models, tensors that are equal become one node as well (sweep.h), so that only the places at
//    which their structures differ are compared, by step 2.
// 2. The others are evaluated modulo random primes at random points (field.h), as many as bring the
//    chance of a miss (bound.h) below the target. Agreement proves equality up to that chance; if
//    the chance is not small, nothing is decided. If they differ, the check is repeated after
//    rewriting their integers (integers.h).
// 3. If the field shows a difference, float64 decides: both models at ordinary and adversarial
//    inputs (probe.h). Different values refute, and the inputs are minimised (minimise.cpp). If no
//    values differ, the verdict is that the models are equal as far as float64 can show.
//
// The third answer is undecided: the bound is useless, or the evidence proves nothing.
#pragma once

#include "compiler/verify/counterexample/probe.h"
#include "compiler/verify/field/bound.h"
#include "compiler/verify/join.h"
#include "lang/core/const_math.h"

#include <functional>
#include <optional>

namespace tg {

struct EquivalenceOptions {
  uint64_t seed = 1;
  double log2_target = -40;  // of the chance of a miss
  double log2_decided = -20; // with a larger chance the result is undecided
  size_t least_points = 1;
  int threads = 1; // for large products and leaves
  bool minimise = true;
  /// Also looks for differences at NaN, infinities, and where sums round. These do not refute an
  /// equality over the reals.
  bool caveats = false;
  /// If float64 alone decides: uses all probes, not only the cheap ones.
  bool thorough = true;
  /// Called between operators, from several threads; true ends the check, which is then undecided.
  /// May be empty.
  std::function<bool()> stop = {};
  /// A check that would need more memory is not started, and the result is undecided (check_bytes).
  uint64_t memory_limit_bytes = UINT64_MAX;
};

/// One element of an input or weight.
struct WitnessElement {
  std::string leaf;
  Shape index;
  ConstNumber value;
};

struct Counterexample {
  std::string output;
  Shape index;
  ConstNumber a, b;  // integers stay integers
  std::string probe; // the kind of inputs: "small integers", ...
  /// The whole output on both sides, if it has only a few elements.
  Shape shape;
  std::vector<ConstNumber> whole_a, whole_b;
  /// All nonzero elements, if `complete`; otherwise the first of them.
  std::vector<WitnessElement> elements;
  bool complete = false;
};

struct Equivalence {
  enum class Method : uint8_t {
    Identical, // the same graph, node for node
    Field,     // equal at `points` random points
    Float64,   // differs in the field, not in float64: equal up to rounding, without a bound
  };
  enum class Verdict : uint8_t {
    Equal,
    Different,
    Undecided, // neither was shown; `undecided` has the reason
  };
  Verdict verdict = Verdict::Undecided;
  bool equal() const { return verdict == Verdict::Equal; }
  bool different() const { return verdict == Verdict::Different; }
  std::string undecided; // the reason, and possible remedies; lower case, no full stop
  std::string help;
  /// Exceptions to an equality, one sentence each: "where an input is NaN, ...".
  std::vector<std::string> caveats;
  Method method = Method::Identical;
  size_t points = 0;
  PointBound per_point;
  double log2_error = 0; // of the chance that Verdict::Equal is wrong; for Method::Field
  /// For a `Float64` verdict or a refutation: the first output that differed in the field.
  std::string field_difference;
  /// Set for `Different`; for `Undecided`, set if values differed without proof.
  std::optional<Counterexample> counterexample;
  /// A small pair of models that shows the difference of large ones (counterexample/narrow.h).
  struct Part {
    std::string models; // a .tg file: `left` and `right`
    Counterexample counterexample;
  };
  std::optional<Part> part; // if minimisation was requested and found something smaller
};

llvm::StringRef verdict_name(Equivalence::Verdict verdict); // "equal", "different", "undecided"
llvm::StringRef method_name(Equivalence::Method method);    // "identical", "prime field", "float64"

/// Returns an upper bound on the memory for checking a point.
double check_bytes(const Joined& joined);

/// For inputs within `ranges`. Errors: `models_differ` (join.h).
Result<Equivalence> check_equivalence(const Graph& a, const Graph& b,
                                      const EquivalenceOptions& options,
                                      const InputRanges& ranges = {});
/// The same for a graph that holds both already: outputs a[i] and b[i] are compared.
Equivalence check_equivalence(const Joined& joined, const EquivalenceOptions& options);

// Splits a deep pair of models into a sequence of shallow pairs. Suppose that all uses of an input
// pass through one tensor, as between the blocks of a network, and that the other model has an
// equal tensor. Then both can be compared up to that tensor, and from there on with one unknown
// instead of both. If the remainder is equal for every tensor, it is equal for this one. So
// degrees grow with the depth of a block, not of the network; for products of products they are
// exponential in it.

/// Returns the pairs to compare: each cut of `a` with that of `b`, then the outputs. If all are
/// equal, so are the models; if one is not, nothing follows. Equal tensors are guessed by their
/// values at one point. nullopt if there is no cut, or the check was stopped.
std::optional<Joined> cut_at_necks(const Joined& joined, const EquivalenceOptions& options);

} // namespace tg
