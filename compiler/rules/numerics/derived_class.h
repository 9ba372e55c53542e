// Derives the numerics class of a rule from its operators. At instances of the rule, both sides are
// expanded, element by element, to the expressions that floats compute (traced.h). Comparing the
// two expressions shows the effect of rounding:
//
//   exact         the same expression for each element
//   reassociates  equal over the reals with nothing cancelled, and through terms that are no larger
//   risky         anything else: an operand of the left side is cancelled, terms are larger, or
//                 functions are replaced by others that are equal over the reals; or values that
//                 round differently are compared or cast to integers; or the right side
//                 takes an exponential, or a multiple by zero, of a value that the left side does
//                 not, which may overflow although no result is large
//   lossy         a different cast truncates digits that the result's dtype could hold; or the
//                 right side computes in floats of fewer digits than the left side, or casts to
//                 such floats values that the left side computes with
//
// Besides the class, it gives the tensors that must be finite for it. An exact rule may drop or add
// a product with zero, and a rule that reassociates may read an additional element, multiplied by
// zero. An infinity or NaN there would spread.
#pragma once

#include "compiler/rules/instances/instance.h"

#include <llvm/ADT/DenseSet.h>

#include <set>

namespace tg {

/// Derives the class of one rule over its instances, each of which can only weaken it.
class ClassDerivation {
public:
  /// The rule must outlive the derivation and must not be native.
  explicit ClassDerivation(const Rule& rule) : rule_(rule) {}

  void look(const std::shared_ptr<Symbols>& symbols, const RuleInstance& instance);

  struct Derived {
    Numerics numerics = Numerics::Exact;
    std::string why;                        // "" for exact
    llvm::SmallVector<uint32_t, 2> finite;  // class variables, ascending: for an exact rule
    llvm::SmallVector<uint32_t, 2> spreads; // for a rule that reassociates
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

/// Returns the class variables that must be finite for `stated`.
llvm::ArrayRef<uint32_t> must_be_finite(const ClassDerivation::Derived& derived, Numerics stated);

/// Returns why the rule does not have its stated class; "" if it has, or states no class.
std::string class_fault(const Rule& rule, const ClassDerivation::Derived& derived);

/// Derives the class at a few instances, drawn like those of the type check. Deterministic.
ClassDerivation::Derived derive_class(const Rule& rule);

} // namespace tg
