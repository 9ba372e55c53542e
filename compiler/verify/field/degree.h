// The scalar of bounds: how large the numerator of a value can be, and what was asked of random
// functions to make it. Over this scalar the one definition of the pointwise operators
// (lang/core/semantics/pointwise.h) says of what degree their results are, so that no operator
// has to say it a second time.
//
// A value is N / C: N a polynomial with integer coefficients, in variables of which powers below 0
// are allowed; C a product of powers of divisors. A divisor is what something was divided by: the
// elements of a tensor, by number; or ten, of which powers stand below decimal fractions. All
// values count divisors of one origin as one, so that sums of many quotients have a common
// denominator, as they do, and not the product of all. `excess` says by how much N can exceed C;
// then a sum has the larger excess of its terms, a product the sum of both, and 1 / v that of v
// with the other sign. A value that is a number times powers of variables is no divisor, but a
// power below 0.
#pragma once

#include "lang/core/semantics/semantics.h"

#include <cmath>

namespace tg {

/// Of a polynomial: its degree, where powers below 0 count as those above; and log2 of the sum of
/// its coefficients' magnitudes. As floating-point numbers: deep products may leave every integer,
/// and then the bound is useless but not wrong.
struct Size {
  double degree = 0, bits = 0;

  Size operator+(Size other) const { return {degree + other.degree, bits + other.bits}; }
  Size operator-() const { return {-degree, -bits}; }
  Size operator*(double times) const { return {degree * times, bits * times}; }
  Size at_least(Size other) const {
    return {std::max(degree, other.degree), std::max(bits, other.bits)};
  }
};

/// Elements of one divisor in the denominator of a value.
struct DivisorUse {
  uint64_t origin = 0;
  Size each; // of one element
  double elements = 1, at_most = 1;
  double power = 1;
  bool fresh = false; // of the operator at hand: no more than elements of its result
};

struct Degree {
  Size excess;
  bool unit = true;                          // a number times powers of variables
  llvm::SmallVector<DivisorUse, 2> divisors; // by origin
  /// Queries of random functions on the way here, and the largest size of one; of a tree: what is
  /// used twice counts twice.
  double queries = 0;
  Size query;
  /// Elements that were divided by, and the largest of them: they may be 0 modulo one prime.
  double divided = 0;
  Size largest_divisor;
  /// What was computed, as a hash: values of one origin are the same elements. And how many.
  uint64_t origin = 0;
  double elements = HUGE_VAL;

  /// Of the denominator, and of the numerator.
  Size below() const;
  Size total() const { return excess.at_least({}) + below(); }

  static Degree constant() { return {}; }
  static Degree number(double value);
  static Degree variable() {
    Degree x;
    x.excess.degree = 1;
    return x;
  }
  /// The result of so many queries of x, by a function of this kind: a variable.
  static Degree asked(uint64_t kind, const Degree& x, double count);
  /// Counts what was asked for x as well.
  Degree& with(const Degree& x);

  friend Degree operator+(const Degree& a, const Degree& b);
  friend Degree operator-(const Degree& a, const Degree& b) { return a + b; }
  friend Degree operator-(const Degree& a) { return a; }
  friend Degree operator*(const Degree& a, const Degree& b);
  friend Degree operator/(const Degree& a, const Degree& b);
  Degree& operator+=(const Degree& b) { return *this = *this + b; }
};

/// Of one of the two; queries of both.
Degree larger(const Degree& a, const Degree& b);
/// Of a sum of so many terms of this degree.
Degree sum_of(Degree term, double count);
/// Of a product of so many factors of this degree.
Degree product_of(const Degree& factor, double count);

template <> struct ScalarTraits<Degree> { using Wide = Degree; };

/// As often as Math<Field> asks: a function of two once, and a maximum once for each operand and
/// once for both.
template <> struct Math<Degree> {
  static Degree literal(double value) { return Degree::number(value); }
  static Degree integer(int64_t value) { return Degree::number(static_cast<double>(value)); }
  static uint64_t kind(OpKind op) { return 100 + static_cast<uint64_t>(op); }
  static Degree unary(OpKind op, const Degree& x) { return Degree::asked(kind(op), x, asks(op)); }
  /// Relu is a maximum, whose other operand, 0, is the same query everywhere; odd functions are
  /// asked at x and -x.
  static double asks(OpKind op) {
    bool odd = op == OpKind::Tanh || op == OpKind::Erf || op == OpKind::Atan || op == OpKind::Round;
    return op == OpKind::Relu || odd ? 2 : 1;
  }
  /// Of equals, it is these.
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
  static Degree max_of(llvm::ArrayRef<Degree> values) { return values[0]; } // bound.cpp knows them
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
