// The elements of operators' formulas (formulas.h), and a formula as a list.
// A formula is a function over `Number`, and the scalar determines its value.
// Over Meaning (semantics/pointwise.h) these are the values of the reference kernels,
// of constant folding and of exact checks.
// Over a recorder (op.cpp) it is the list below, from which backends make kernels and source text,
// proofs make terms, and the table counts flops.
#pragma once

#include "lang/core/op.h"

#include <type_traits>

namespace tg {

/// A number in a formula. `Scalar` has a Value, `apply(op, const Value*)` and `literal(double)`.
template <class Scalar> class Number {
public:
  using Value = typename Scalar::Value;
  // NOLINTNEXTLINE(google-explicit-constructor): literals stand where numbers do
  constexpr Number(double literal) : value_(Scalar::literal(literal)) {}
  static constexpr Number of(const Value& value) { return Number(Made{}, value); }
  template <class... Numbers>
  [[gnu::always_inline]] static constexpr Number apply(OpKind op, const Numbers&... args) {
    const Value values[] = {args.value()...};
    return of(Scalar::apply(op, values));
  }
  constexpr const Value& value() const { return value_; }

  friend constexpr Number operator+(Number x, Number y) { return apply(OpKind::Add, x, y); }
  friend constexpr Number operator-(Number x, Number y) { return apply(OpKind::Sub, x, y); }
  friend constexpr Number operator*(Number x, Number y) { return apply(OpKind::Mul, x, y); }
  friend constexpr Number operator/(Number x, Number y) { return apply(OpKind::Div, x, y); }
  friend constexpr Number operator-(Number x) { return apply(OpKind::Neg, x); }
  friend constexpr Number operator<(Number x, Number y) { return apply(OpKind::Less, x, y); }
  friend constexpr Number operator>(Number x, Number y) { return apply(OpKind::Less, y, x); }

private:
  struct Made {};
  constexpr Number(Made, const Value& value) : value_(value) {}
  Value value_;
};

/// An operator as a function in formulas. The first argument is a number; others may be literals.
template <OpKind op> struct Call {
  template <class S, class... Rest>
  constexpr Number<S> operator()(const Number<S>& first, const Rest&... rest) const {
    return Number<S>::apply(op, first, Number<S>(rest)...);
  }
};

/// A step of a formula: an argument, a literal, or an operator over earlier steps.
struct FormulaStep {
  enum class Kind : uint8_t { Argument, Literal, Apply };
  Kind kind{};
  OpKind op{}; // Apply
  uint8_t arity = 0;
  std::array<uint8_t, 3> args{};
  double literal = 0;
  constexpr bool operator==(const FormulaStep&) const = default;
};

/// The arguments come first, operands before attributes; the last step is the result.
/// All steps are different.
class Formula {
public:
  static constexpr size_t kMaxSteps = 24;
  constexpr bool given() const { return size_ > 0; }
  constexpr size_t size() const { return size_; }
  constexpr size_t arguments() const { return arguments_; }
  constexpr const FormulaStep& operator[](size_t i) const { return steps_[i]; }
  llvm::ArrayRef<FormulaStep> steps() const { return {steps_.data(), size_}; }

  constexpr uint8_t add(const FormulaStep& step) {
    for (uint8_t i = 0; i < size_; ++i)
      if (steps_[i] == step && step.kind != FormulaStep::Kind::Argument) return i;
    steps_[size_] = step;
    arguments_ += step.kind == FormulaStep::Kind::Argument;
    return size_++;
  }

private:
  std::array<FormulaStep, kMaxSteps> steps_{};
  uint8_t size_ = 0, arguments_ = 0;
};

/// Returns null for an operator without a formula.
const Formula* formula_of(OpKind op);

} // namespace tg
