// The scalar of bounds: how large the degrees of a value can be, and what was asked of random
// functions to make it. Over this scalar the one definition of the pointwise operators
// (lang/core/semantics_pointwise.h) says of what degree their results are, so that no operator
// has to say it a second time.
#pragma once

#include "lang/core/semantics.h"

#include <algorithm>

namespace tg {

/// Upper bounds of the degrees of a numerator and a denominator. As floating-point numbers: deep
/// quotients may leave every integer, and then the bound is useless but not wrong.
struct Degree {
  double above = 0, below = 0;
  /// Queries of random functions on the way here, and the largest degree of one; of a tree: what is
  /// used twice counts twice.
  double queries = 0, query_degree = 0;

  double total() const { return above + below; }

  static constexpr Degree constant() { return {}; }
  static constexpr Degree variable() { return {1, 0, 0, 0}; }
  /// The result of so many queries of x: a variable.
  static Degree query(Degree x, double count) {
    return {1, 0, x.queries + count, std::max(x.query_degree, x.total())};
  }
  /// With the queries of x as well.
  Degree with(const Degree& x) const {
    return {above, below, queries + x.queries, std::max(query_degree, x.query_degree)};
  }

  friend Degree operator+(Degree a, Degree b) {
    Degree sum{std::max(a.above + b.below, b.above + a.below), a.below + b.below};
    return sum.with(a).with(b);
  }
  friend Degree operator-(Degree a, Degree b) { return a + b; }
  friend Degree operator-(Degree a) { return a; }
  friend Degree operator*(Degree a, Degree b) {
    return Degree{a.above + b.above, a.below + b.below}.with(a).with(b);
  }
  friend Degree operator/(Degree a, Degree b) {
    return Degree{a.above + b.below, a.below + b.above}.with(a).with(b);
  }
  Degree& operator+=(Degree b) { return *this = *this + b; }
};

/// Of one of the two; queries of both.
inline Degree larger(Degree a, Degree b) {
  return Degree{std::max(a.above, b.above), std::max(a.below, b.below)}.with(a).with(b);
}
/// Of a sum of so many terms of this degree, with unrelated denominators.
inline Degree sum_of(Degree term, double count) {
  return {term.above + (count - 1) * term.below, count * term.below, term.queries,
          term.query_degree};
}

template <> struct ScalarTraits<Degree> { using Wide = Degree; };

/// As often as Math<Field> asks: a function of two, and a maximum, once for each operand and once
/// for both.
template <> struct Math<Degree> {
  static Degree literal(double) { return Degree::constant(); }
  static Degree integer(int64_t) { return Degree::constant(); }
  static Degree unary(OpKind op, Degree x) { return Degree::query(x, asks(op)); }
  /// Relu is a maximum, whose other operand, 0, is the same query everywhere; odd functions are
  /// asked at x and -x.
  static double asks(OpKind op) {
    return op == OpKind::Relu || op == OpKind::Tanh || op == OpKind::Erf ? 2 : 1;
  }
  static Degree maximum(Degree x, Degree y) { return Degree::query(larger(x, y), 3); }
  static Degree binary(OpKind, Degree x, Degree y) { return maximum(x, y); }
  static Degree select(Degree condition, Degree x, Degree y) {
    return condition * x + (Degree::constant() - condition) * y;
  }
  static Degree cast(DType to, Degree x) { return is_float(to) ? x : Degree::query(x, 1); }
  static int64_t index(Degree, int64_t) { return 0; }
  static Degree missing() { return Degree::constant(); }
  static int64_t argmax(llvm::ArrayRef<Degree>) { return 0; }
  static Degree max_of(llvm::ArrayRef<Degree> values) {
    Degree all = Degree::constant();
    for (Degree x : values) all = larger(all, x);
    return Degree::query(all, static_cast<double>(values.size()) + 1);
  }
  static void softmax(llvm::MutableArrayRef<Degree> row) {
    Degree all = max_of(row);
    std::fill(row.begin(), row.end(), all);
  }
  class External {
  public:
    External(llvm::StringRef, llvm::StringRef) {}
    void shape(llvm::ArrayRef<int64_t>) {}
    void element(Degree x) { all_ = larger(all_, x); }
    Degree at(int64_t) const { return Degree::query(all_, 1); }

  private:
    Degree all_;
  };
  static Degree of_dtype(DType, Degree x) { return x; }
};

extern template void evaluate_op<Degree>(OpKind, AttrValues, llvm::ArrayRef<ConstView<Degree>>,
                                         View<Degree>, llvm::MutableArrayRef<Degree>);
extern template Degree pointwise<Degree>(OpKind, const Degree*);

} // namespace tg
