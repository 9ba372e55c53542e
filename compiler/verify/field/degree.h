// The scalar of bounds: the size of a value's numerator, and the queries of random functions behind
// it. The common definition of the pointwise operators (lang/core/semantics/pointwise.h) over this
// scalar gives the degrees of their results, so that operators need not state them.
//
// A value is N / C. N is a polynomial with integer coefficients in variables that may have negative
// powers. C is a product of powers of divisors. A divisor is either the elements of one tensor, by
// number, or ten, whose powers are the denominators of decimal fractions. All values count divisors
// of one origin as one, so a sum of many quotients has their actual common denominator instead of
// the product of all. `excess` bounds how far the size of N can exceed that of C. A sum has the
// larger excess of its terms, a product the sum of both, and 1 / v the negated excess of v. A value
// that is a number times powers of variables is not counted as a divisor but as negative powers.
#pragma once

#include "lang/core/semantics/semantics.h"

#include <cmath>

namespace tg {

/// The size of a polynomial: its degree, where negative powers count by magnitude, and log2 of the
/// sum of its coefficients' magnitudes. Both are floating-point numbers: deep products can exceed
/// every integer, which makes the bound useless but not wrong.
struct Size {
  double degree = 0, bits = 0;

  Size operator+(Size other) const { return {degree + other.degree, bits + other.bits}; }
  Size operator-() const { return {-degree, -bits}; }
  Size operator*(double times) const { return {degree * times, bits * times}; }
  Size at_least(Size other) const {
    return {std::max(degree, other.degree), std::max(bits, other.bits)};
  }
};

/// The use of elements of one divisor in the denominator of a value.
struct DivisorUse {
  uint64_t origin = 0;
  Size each; // of one element
  double elements = 1, at_most = 1;
  double power = 1;
  bool fresh = false; // from the current operator: at most as many elements as its result
};

struct Degree {
  Size excess;
  bool unit = true;                          // a number times powers of variables
  llvm::SmallVector<DivisorUse, 2> divisors; // by origin
  /// The number of queries of random functions in the value's expression tree, where shared nodes
  /// count repeatedly, and the largest size of a query.
  double queries = 0;
  Size query;
  /// The number of elements in divisors, and the largest size: they may be 0 modulo one prime.
  double divided = 0;
  Size largest_divisor;
  /// A hash of the computation: values of one origin are the same elements. And their number.
  uint64_t origin = 0;
  double elements = HUGE_VAL;

  /// The sizes of the denominator and of the numerator.
  Size below() const;
  Size total() const { return excess.at_least({}) + below(); }

  static Degree constant() { return {}; }
  static Degree number(double value);
  static Degree variable() {
    Degree x;
    x.excess.degree = 1;
    return x;
  }
  /// Returns the result of `count` queries of x by a function of this kind: a variable.
  static Degree asked(uint64_t kind, const Degree& x, double count);
  /// Adds the queries of x.
  Degree& with(const Degree& x);

  friend Degree operator+(const Degree& a, const Degree& b);
  friend Degree operator-(const Degree& a, const Degree& b) { return a + b; }
  friend Degree operator-(const Degree& a) { return a; }
  friend Degree operator*(const Degree& a, const Degree& b);
  friend Degree operator/(const Degree& a, const Degree& b);
  Degree& operator+=(const Degree& b) { return *this = *this + b; }
};

/// Returns the degree of either one of the two, with the queries of both.
Degree larger(const Degree& a, const Degree& b);
/// Returns the degree of a sum of `count` terms.
Degree sum_of(Degree term, double count);
/// Returns the degree of a product of `count` factors.
Degree product_of(const Degree& factor, double count);

template <> struct ScalarTraits<Degree> { using Wide = Degree; };

/// Counts queries as Math<Field> makes them: a function of two operands makes one; a maximum makes
/// one for each operand and one for both.
template <> struct Math<Degree> {
  static Degree literal(double value) { return Degree::number(value); }
  static Degree integer(int64_t value) { return Degree::number(static_cast<double>(value)); }
  static uint64_t kind(OpKind op) { return 100 + static_cast<uint64_t>(op); }
  static Degree unary(OpKind op, const Degree& x) { return Degree::asked(kind(op), x, asks(op)); }
  /// Relu is a maximum with 0, which is the same query everywhere. Odd functions are queried
  /// at x and -x.
  static double asks(OpKind op) {
    bool odd = op == OpKind::Tanh || op == OpKind::Erf || op == OpKind::Atan || op == OpKind::Round;
    return op == OpKind::Relu || odd ? 2 : 1;
  }
  /// A maximum of equal operands is the operand.
  static Degree maximum(const Degree& x, const Degree& y) {
    return larger(Degree::asked(kind(OpKind::Maximum), larger(x, y), 3), larger(x, y));
  }
  static Degree binary(OpKind op, const Degree& x, const Degree& y) {
    return op == OpKind::Minimum ? maximum(x, y) : Degree::asked(kind(op), larger(x, y), 1);
  }
  static Degree select(const Degree& condition, const Degree& x, const Degree& y) {
    return condition * x + (Degree::number(1) - condition) * y;
  }
  static Degree cast(DType to, const Degree& x) {
    return is_float(to) ? x : Degree::asked(50 + static_cast<uint64_t>(to), x, 1);
  }
  static int64_t index(const Degree&, int64_t) { return 0; }
  static Degree missing() { return Degree::variable(); }
  static int64_t argmax(llvm::ArrayRef<Degree>) { return 0; }
  static Degree max_of(llvm::ArrayRef<Degree> values) { return values[0]; } // see bound.cpp
  static void softmax(llvm::MutableArrayRef<Degree>) {}
  class External {
  public:
    External(llvm::StringRef, llvm::StringRef) {}
    void shape(llvm::ArrayRef<int64_t>) {}
    void element(const Degree& x) { all_ = larger(all_, x); }
    Degree at(int64_t) const { return Degree::asked(kind(OpKind::Extern), all_, 1); }

  private:
    Degree all_;
  };
  static Degree of_dtype(DType, const Degree& x) { return x; }
};

extern template void evaluate_op<Degree>(OpKind, AttrValues, llvm::ArrayRef<ConstView<Degree>>,
                                         View<Degree>, llvm::MutableArrayRef<Degree>);
extern template Degree pointwise<Degree>(OpKind, const Degree*);

} // namespace tg
