// Measures the effect of a rule on rounding. Both sides are computed at instances of the rule
// in a dtype, as the backend `ref` does, and in float64. Each operator reads its operands exactly,
// computes in double and rounds its result once. Leaves hold numbers of the dtype,
// so that they add no error. tests/property/rules checks the stated class of numerics by this,
// and bench/rule_errors_bench lists the error that each rule adds.
#pragma once

#include "compiler/ir/evaluate.h"
#include "compiler/rules/rule.h"

namespace tg {

/// The float dtypes in which a program may compute.
inline constexpr DType kRoundedDTypes[] = {DType::F32, DType::F16, DType::BF16};

/// Returns half the distance from 1 to the next number of a float dtype: the largest relative
/// change by one rounding.
double unit_roundoff(DType dtype);

/// Like evaluate(), with each result rounded to `dtype` (one of kRoundedDTypes) instead
/// of the graph's float types. Errors are those of evaluate().
Result<std::vector<NodeValues>> evaluate_rounded(const Graph& graph, DType dtype,
                                                 const LeafSource& leaves,
                                                 llvm::ArrayRef<NodeId> wanted);

/// An instance of a rule on numbers. The lists have the length of the rule's left side.
struct RuleErrorCase {
  const Graph& graph;
  const LeafSource& leaves; // numbers of the dtype
  DType dtype;
  bool mixed;                                                 // RuleErrorOptions::mixed
  llvm::ArrayRef<NodeId> left, right;                         // in the graph
  std::vector<NodeValues> exact, left_rounded, right_rounded; // exact: the left side in float64
  /// Returns true if both sides have the same elements, up to the sign of zero.
  bool same_bits() const;
};

struct RuleErrorOptions {
  size_t instances = 40; // instances at which both sides are well typed
  size_t draws = 400;    // at most
  bool mixed = false;    // also on tiny and large numbers together, and zeros
  uint64_t seed = 7;
};

/// Calls `visit` for each instance, each dtype, and numbers in (-1, 1) and in (0, 1).
/// Deterministic. Returns the number of instances, which is zero for a native rule.
size_t for_each_error_case(const Rule& rule, const RuleErrorOptions& options,
                           llvm::function_ref<void(const RuleErrorCase&)> visit);

/// The results of a rule in a dtype. Errors are max |a - b| / max |b| with b the float64 values.
struct RuleError {
  size_t cases = 0; // results that are finite in float64 and not all zero
  bool same_bits = true;
  double left = 0, right = 0; // largest error of each side
  /// The largest excess of the right side's error over the left side's in one case.
  /// It is infinite if only the right side overflowed.
  double added = 0;
  void add(const RuleErrorCase& rule_case);
};

} // namespace tg
