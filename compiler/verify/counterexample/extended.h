// A scalar with more digits than float64, in which literals are the rationals of their decimal
// text. Evaluation with it distinguishes a rounded literal from a different number (literals.h).
#pragma once

#include "lang/core/semantics/real_functions.h"
#include "lang/core/semantics/semantics.h"

#include <limits>

namespace tg {

using Extended = long double;

/// True if the machine has such a scalar: x87's 64 digits or IEEE's 113, compared with float64's
/// 53.
inline constexpr bool kHasExtended = std::numeric_limits<Extended>::digits >= 64;

template <> struct ScalarTraits<Extended> { using Wide = Extended; };

template <> struct Math<Extended> : RealFunctions<Extended> {
  /// Returns the rational of the shortest decimal text, rounded once.
  static Extended literal(double value);
  static Extended integer(int64_t value) { return static_cast<Extended>(value); }
  static bool has_precise_form(OpKind op) { return Math<double>::has_precise_form(op); }
  static Extended select(Extended condition, Extended x, Extended y);
  static Extended cast(DType to, Extended x);
  static Extended missing() { return std::numeric_limits<Extended>::quiet_NaN(); }
  /// Uses float64's function, with its precision.
  class External {
  public:
    External(llvm::StringRef name, llvm::StringRef signature) : of_(name, signature) {}
    void shape(llvm::ArrayRef<int64_t> sizes) { of_.shape(sizes); }
    void element(Extended x) { of_.element(static_cast<double>(x)); }
    Extended at(int64_t i) const { return of_.at(i); }

  private:
    Math<double>::External of_;
  };
  static Extended of_dtype(DType dtype, Extended x) {
    return Math<double>::of_dtype(dtype, static_cast<double>(x));
  }
};

extern template void evaluate_op<Extended>(OpKind, AttrValues, llvm::ArrayRef<ConstView<Extended>>,
                                           View<Extended>, llvm::MutableArrayRef<Extended>);

} // namespace tg
