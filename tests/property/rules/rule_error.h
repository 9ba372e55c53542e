// What a rule does to rounding: both sides at instances of the rule, computed in a dtype as the
// backend `ref` does, beside float64. Each operator reads its operands exactly, computes in double
// and rounds its result once; leaves hold numbers of the dtype, so that they add no error of their
// own. The class of numerics that a rule states is checked against this by tests/property/rules,
// and bench/rule_errors_bench lists what each rule adds.
#pragma once

#include "compiler/ir/evaluate.h"
#include "compiler/rules/rule.h"

namespace tg {

/// The floats that a program may compute in.
inline constexpr DType kRoundedDTypes[] = {DType::F32, DType::F16, DType::BF16};

/// Half the distance from 1 to the next number of a float dtype: the most that one rounding may
/// change, relative to its result.
double unit_roundoff(DType dtype);

/// As evaluate(), with each result rounded to `dtype` (of kRoundedDTypes), whatever floats the
/// graph's types say. Errors: those of evaluate().
Result<std::vector<NodeValues>> evaluate_rounded(const Graph& graph, DType dtype,
                                                 const LeafSource& leaves,
                                                 llvm::ArrayRef<NodeId> wanted);

/// An instance of a rule on numbers. The lists are as long as the rule's left side.
struct RuleErrorCase {
  const Graph& graph;
  const LeafSource& leaves; // numbers of the dtype
  DType dtype;
  bool mixed;                                                 // RuleErrorOptions::mixed
  llvm::ArrayRef<NodeId> left, right;                         // in the graph
  std::vector<NodeValues> exact, left_rounded, right_rounded; // exact: the left side in float64
  /// The same elements on both sides, up to the sign of zero.
  bool same_bits() const;
};

struct RuleErrorOptions {
  size_t instances = 40; // at which both sides are well typed
  size_t draws = 400;    // at most
  bool mixed = false;    // also on tiny and large numbers beside each other, and zeros
  uint64_t seed = 7;
};

/// Calls `visit` for each instance, each dtype, and numbers in (-1, 1) and in (0, 1).
/// Deterministic. Returns the number of instances; none of a native rule.
size_t for_each_error_case(const Rule& rule, const RuleErrorOptions& options,
                           llvm::function_ref<void(const RuleErrorCase&)> visit);

/// What a dtype showed of a rule. Errors are max |a - b| / max |b| with b the float64 values.
struct RuleError {
  size_t cases = 0; // results that are finite in float64 and not zero everywhere
  bool same_bits = true;
  double left = 0, right = 0; // the largest error of each side
  /// The most by which the right side's error exceeded the left side's at one case; infinite if
  /// the right side alone overflowed.
  double added = 0;
  void add(const RuleErrorCase& rule_case);
};

} // namespace tg
