// The class of numerics of a rule, from its operators: both sides are written out, element by
// element, as what floats compute (traced.h), at instances of the rule; how the two expressions
// compare says what rounding makes of the rule.
//
//   exact         the same expression for each element
//   reassociates  equal over the reals with nothing cancelled, and through terms that are no larger
//   risky         anything else: what the left side reads is cancelled, terms are larger, functions
//                 are replaced by others that equal them over the reals; or the right side takes an
//                 exponential, or a multiple by zero, of what the left side does not take it of:
//                 these overflow where no result is large
//   lossy         another cast cuts digits off that the result's dtype could hold; or the right
//   side
//                 computes in floats of fewer digits what the left side computes in others, or
//                 casts to such floats what the left side computes with
//
// Beside the class, which tensors must be finite for it: an exact rule may leave out, or add, a
// product with zero, and a rule that reassociates may read an element that its left side does not
// read, multiplied by zero; there an infinity or NaN would spread.
#pragma once

#include "compiler/rules/instances/instance.h"

#include <llvm/ADT/DenseSet.h>

#include <set>

namespace tg {

/// Of one rule, over its instances: each can only weaken the class.
class ClassDerivation {
public:
  /// The rule outlives the derivation; it is not native.
  explicit ClassDerivation(const Rule& rule) : rule_(rule) {}

  void look(const std::shared_ptr<Symbols>& symbols, const RuleInstance& instance);

  struct Derived {
    Numerics numerics = Numerics::Exact;
    std::string why;                        // "" for exact
    llvm::SmallVector<uint32_t, 2> finite;  // class variables, ascending: for an exact rule
    llvm::SmallVector<uint32_t, 2> spreads; // for one that reassociates
  };
  Derived result() const;

private:
  struct Sides;
  void compare(const Sides& sides, size_t root);
  void compare_dropped(const llvm::DenseSet<uint64_t>& left, const llvm::DenseSet<uint64_t>& right,
                       const std::string& where);
  void compare_nan_tests(const Sides& sides);
  void weaken(Numerics to, std::string why);

  const Rule& rule_;
  Numerics numerics_ = Numerics::Exact;
  std::string why_;
  std::set<uint32_t> finite_, spreads_, left_reads_, right_reads_;
};

/// What `stated` needs to be finite.
llvm::ArrayRef<uint32_t> must_be_finite(const ClassDerivation::Derived& derived, Numerics stated);

/// Why the rule is not what it states; "" where it is, or states no class.
std::string class_fault(const Rule& rule, const ClassDerivation::Derived& derived);

/// At a few instances, drawn as the type check of rules draws them. Deterministic.
ClassDerivation::Derived derive_class(const Rule& rule);

} // namespace tg
