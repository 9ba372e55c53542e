// Whether two models compute the same function.
//
// 1. Both become one graph (join.h); outputs that are one node are equal by construction.
// 2. The others are evaluated modulo random primes at random points (field.h), as many as bring the
//    chance of a miss (bound.h) below the target. Agreement proves equality up to that chance;
//    where it is no small one, nothing is decided. Where they differ, the same is tried once their
//    integers are rewritten (integers.h).
// 3. Where the field shows a difference, float64 decides: both models at ordinary and adversarial
//    inputs (probe.h). Values that differ there refute, and the inputs are made small
//    (minimise.cpp); if none do, the models are equal as far as float64 can tell, which is said.
//
// A third answer is that it is not decided: a bound that bounds nothing, or evidence that is none.
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
  double log2_decided = -20; // a larger chance decides nothing
  size_t least_points = 1;
  int threads = 1; // that large products and leaves are shared by
  bool minimise = true;
  /// Also looks at NaN, infinities, and where sums round, which say nothing against an equality
  /// over the reals.
  bool caveats = false;
  /// Where float64 alone decides: tries all that it knows, not only what costs little.
  bool thorough = true;
  /// Asked between operators: true ends the check, which is then undecided. May be empty; asked
  /// from several threads.
  std::function<bool()> stop = {};
  /// A check that would hold more is not begun, and undecided (check_bytes).
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
  ConstNumber a, b;  // integers as such
  std::string probe; // what kind of inputs: "small integers", ...
  /// The whole output on both sides, if it has a few elements.
  Shape shape;
  std::vector<ConstNumber> whole_a, whole_b;
  /// Everything that is not zero, if `complete`; else the first elements of it.
  std::vector<WitnessElement> elements;
  bool complete = false;
};

struct Equivalence {
  enum class Method : uint8_t {
    Identical, // the same graph, node for node
    Field,     // equal at `points` random points
    Float64,   // the field differs, float64 does not: equal up to rounding, with no bound
  };
  enum class Verdict : uint8_t {
    Equal,
    Different,
    Undecided, // neither was shown: `undecided` says why
  };
  Verdict verdict = Verdict::Undecided;
  bool equal() const { return verdict == Verdict::Equal; }
  bool different() const { return verdict == Verdict::Different; }
  std::string undecided; // why, and what helps; lower case, no full stop
  std::string help;
  /// What an equality leaves out, one sentence each: "where an input is NaN, ...".
  std::vector<std::string> caveats;
  Method method = Method::Identical;
  size_t points = 0;
  PointBound per_point;
  double log2_error = 0; // of the chance that Verdict::Equal is wrong; meaningful for Method::Field
  /// Of a `Float64` verdict or a refutation: the first output at which the field differed.
  std::string field_difference;
  /// Of `Different`, always; of `Undecided`, where values parted that prove nothing.
  std::optional<Counterexample> counterexample;
  /// Where large models part, shown by small ones (counterexample/narrow.h).
  struct Part {
    std::string models; // a .tg file: `left` and `right`
    Counterexample counterexample;
  };
  std::optional<Part> part; // if asked to minimise, and if something smaller was found
};

llvm::StringRef verdict_name(Equivalence::Verdict verdict); // "equal", "different", "undecided"
llvm::StringRef method_name(Equivalence::Method method);    // "identical", "prime field", "float64"

/// What the check of a point holds at most.
double check_bytes(const Joined& joined);

/// For inputs within `ranges`. Errors: `models_differ` (join.h).
Result<Equivalence> check_equivalence(const Graph& a, const Graph& b,
                                      const EquivalenceOptions& options,
                                      const InputRanges& ranges = {});
/// The same for a graph that holds both already: outputs a[i] and b[i] are compared.
Equivalence check_equivalence(const Joined& joined, const EquivalenceOptions& options);

// A deep pair as a row of shallow ones. Where all that a model makes of an input passes through one
// tensor, as between the blocks of a network, and the other model has an equal one, both may be
// compared up to there, and from there on with one unknown in the place of both: what holds of
// every tensor there holds of this one. So degrees grow with the depth of a block, not with that of
// the network, which for products of products is their exponent.

/// The pairs to compare: each cut of `a` with that of `b`, then the outputs. If all are equal, so
/// are the models; if one is not, nothing is said. Which tensors are equal is guessed by their
/// values at one point. nullopt if there is nothing to cut at, or the check was stopped.
std::optional<Joined> cut_at_necks(const Joined& joined, const EquivalenceOptions& options);

} // namespace tg
