#include "compiler/verify/equivalent.h"

#include "compiler/ir/evaluate.h"
#include "compiler/verify/counterexample/float_comparison.h"
#include "compiler/verify/counterexample/narrow.h"
#include "compiler/verify/field/check.h"
#include "compiler/verify/integers.h"
#include "compiler/verify/sweep.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tg {

namespace {

constexpr size_t kMostPoints = 16; // if more are needed, the bound is too weak

/// Pairs of outputs that are different nodes.
struct Pairs {
  llvm::SmallVector<NodeId, 4> wanted; // a, b, a, b, ...
  llvm::SmallVector<size_t, 4> outputs;

  explicit Pairs(const Joined& joined) {
    for (size_t i = 0; i < joined.a.size(); ++i) {
      if (joined.a[i] == joined.b[i]) continue;
      wanted.append({joined.a[i], joined.b[i]});
      outputs.push_back(i);
    }
  }
};

Equivalence undecided(Equivalence result, std::string why) {
  result.verdict = Equivalence::Verdict::Undecided;
  result.undecided = std::move(why);
  return result;
}

/// Returns the number of points at which the models must agree.
size_t points_of(const PointBound& bound, const EquivalenceOptions& options) {
  return std::min(points_for(bound, options.log2_target, options.least_points), kMostPoints);
}

/// Returns true if `points` agreements leave a larger chance of a miss than the target.
bool is_inconclusive(const PointBound& bound, size_t points, const EquivalenceOptions& options) {
  return bound.log2_miss * static_cast<double>(points) > options.log2_target;
}

/// Returns `Equal` if these pairs of nodes agree at the required number of points.
std::optional<Equivalence> field_agreement(const Joined& same, llvm::ArrayRef<NodeId> pairs,
                                           const EquivalenceOptions& options) {
  Equivalence result;
  result.per_point = bound_of(same.graph, pairs);
  size_t points = points_of(result.per_point, options);
  if (is_inconclusive(result.per_point, points, options)) return std::nullopt;
  FieldCheck field(same, pairs, options);
  while (result.points < points)
    if (field.run(result.points++) != FieldCheck::Outcome::Agree) return std::nullopt;
  result.verdict = Equivalence::Verdict::Equal;
  result.method = Equivalence::Method::Field;
  result.log2_error = result.per_point.log2_miss * static_cast<double>(points);
  return result;
}

/// The same for pairs whose agreement implies that of the outputs of `joined`.
std::optional<Equivalence> agreement(const Joined& same, llvm::ArrayRef<NodeId> pairs,
                                     const Joined& joined, const EquivalenceOptions& options) {
  std::optional<Equivalence> result = field_agreement(same, pairs, options);
  if (result) confirm_in_float64(joined, options, *result);
  return result;
}

/// Models that take fewer operations are compared as a whole.
constexpr double kWorthSweep = 1e8;
constexpr double kLog2Proofs = 20; // of an upper bound on the proofs of a sweep

/// Adds a proof to an equality that needs both.
void add_proof(const Equivalence& proof, Equivalence& all) {
  all.method = Equivalence::Method::Field;
  all.points = std::max(all.points, proof.points);
  all.log2_error = std::log2(std::exp2(all.log2_error) + std::exp2(proof.log2_error));
  PointBound &bound = all.per_point, part = proof.per_point;
  bound.queries += part.queries;
  bound.query_degree = std::max(bound.query_degree, part.query_degree);
  bound.output_degree = std::max(bound.output_degree, part.output_degree);
  bound.bits = std::max(bound.bits, part.bits);
  bound.log2_miss = std::log2(std::exp2(bound.log2_miss) + std::exp2(part.log2_miss));
}

/// Compares large models only where their structures differ (sweep.h). nullopt if that does not
/// show that they are equal.
std::optional<Equivalence> check_by_structure(const Joined& joined, llvm::ArrayRef<NodeId> wanted,
                                              const EquivalenceOptions& options) {
  double operations = check_operations(joined.graph, wanted);
  if (operations < kWorthSweep) return std::nullopt;
  EquivalenceOptions each = options;
  each.log2_target -= kLog2Proofs;
  Equivalence result;
  result.verdict = Equivalence::Verdict::Equal;
  result.log2_error = result.per_point.log2_miss = -std::numeric_limits<double>::infinity();
  auto prove = [&](const Joined& part) {
    Pairs pairs(part);
    if (pairs.wanted.empty()) return true;
    if (check_bytes(part) > static_cast<double>(options.memory_limit_bytes)) return false;
    std::optional<Equivalence> proof = field_agreement(part, pairs.wanted, each);
    if (proof) add_proof(*proof, result);
    return proof.has_value();
  };
  auto prove_with_integers = [&](const Joined& part) {
    if (prove(part)) return true;
    std::optional<Joined> simple = with_simple_integers(part);
    return simple && prove(*simple);
  };
  if (!merge_outputs(joined, operations, prove_with_integers)) return std::nullopt;
  confirm_in_float64(joined, options, result);
  return result;
}

/// Checks the models part by part if that gives a better bound than checking them as a whole.
std::optional<Equivalence> check_in_parts(const Joined& joined, const EquivalenceOptions& options) {
  std::optional<Joined> parts = cut_at_necks(joined, options);
  if (!parts) return std::nullopt;
  return agreement(*parts, Pairs(*parts).wanted, joined, options);
}

/// Checks the models with rewritten integers. Outputs that became one node count as equal.
std::optional<Equivalence> check_simple(const Joined& simple, llvm::ArrayRef<size_t> outputs,
                                        const Joined& joined, const EquivalenceOptions& options) {
  llvm::SmallVector<NodeId, 8> pairs;
  for (size_t i : outputs) pairs.append({simple.a[i], simple.b[i]});
  return agreement(simple, pairs, joined, options);
}

bool stopped(const EquivalenceOptions& options) { return options.stop && options.stop(); }

void undecided_by_bound(Equivalence& result) {
  result.verdict = Equivalence::Verdict::Undecided;
  result.undecided =
      llvm::formatv("the models agree at {0} random point{2} of the field, but a difference "
                    "may remain: the error bound is 2^{1:f1}, not below 2^-20",
                    result.points, result.log2_error, result.points == 1 ? "" : "s");
  result.help = "use smaller shapes (`--set`), which give a smaller error bound";
}

} // namespace

llvm::StringRef verdict_name(Equivalence::Verdict verdict) {
  switch (verdict) {
  case Equivalence::Verdict::Equal: return "equal";
  case Equivalence::Verdict::Different: return "different";
  case Equivalence::Verdict::Undecided: return "undecided";
  }
  return "";
}

llvm::StringRef method_name(Equivalence::Method method) {
  switch (method) {
  case Equivalence::Method::Identical: return "identical";
  case Equivalence::Method::Field: return "prime field";
  case Equivalence::Method::Float64: return "float64";
  }
  return "";
}

Result<Equivalence> check_equivalence(const Graph& a, const Graph& b,
                                      const EquivalenceOptions& options,
                                      const InputRanges& ranges) {
  TG_TRY(Joined joined, join(a, b));
  joined.ranges = ranges;
  return check_equivalence(joined, options);
}

double check_bytes(const Joined& joined) {
  return Evaluation<Field>(joined.graph, Pairs(joined).wanted).peak_bytes();
}

Equivalence check_equivalence(const Joined& joined, const EquivalenceOptions& options) {
  Equivalence result;
  Pairs pairs(joined);
  result.verdict = Equivalence::Verdict::Equal;
  if (pairs.outputs.empty()) return result;
  if (std::optional<Equivalence> equal = check_by_structure(joined, pairs.wanted, options))
    return std::move(*equal);
  double bytes = check_bytes(joined);
  if (bytes > static_cast<double>(options.memory_limit_bytes))
    return undecided(result, llvm::formatv("the check requires {0:f0} MB, but the limit is {1} MB",
                                           bytes / (1 << 20), options.memory_limit_bytes >> 20));
  result.per_point = bound_of(joined.graph, pairs.wanted);
  result.method = Equivalence::Method::Field;
  size_t points = points_of(result.per_point, options);
  if (is_inconclusive(result.per_point, points, options))
    if (std::optional<Equivalence> parts = check_in_parts(joined, options))
      return std::move(*parts);
  FieldCheck field(joined, pairs.wanted, options);
  FieldCheck::Outcome outcome = FieldCheck::Outcome::Agree;
  while (result.points < points && outcome == FieldCheck::Outcome::Agree)
    outcome = field.run(result.points++);
  result.log2_error = result.per_point.log2_miss * static_cast<double>(result.points);
  if (outcome == FieldCheck::Outcome::Stopped) return undecided(result, "stopped");
  if (outcome == FieldCheck::Outcome::NoUsablePoint)
    return undecided(result, "a divisor is zero at all points at which the models were evaluated");
  if (outcome == FieldCheck::Outcome::Agree) {
    confirm_in_float64(joined, options, result);
    if (result.equal() && result.log2_error > options.log2_decided) undecided_by_bound(result);
    return result;
  }
  std::optional<Joined> simple = with_simple_integers(joined);
  if (simple)
    if (std::optional<Equivalence> same = check_simple(*simple, pairs.outputs, joined, options))
      return std::move(*same);
  result.field_difference = joined.names[pairs.outputs[field.differing()]];
  decide_in_float64(joined, simple ? *simple : joined, options, result);
  if (!result.different() && stopped(options)) return undecided(result, "stopped");
  if (result.different() && options.minimise) {
    FieldScope scope(field.point());
    result.part =
        find_part(joined, pairs.outputs[field.differing()], FieldCheck::leaves(), options);
  }
  return result;
}

} // namespace tg
