// The scalar of exact checks: integers modulo the Mersenne prime 2^61 - 1, and in place of
// functions that are not rational, random functions of the value (a strong hash, one key for each
// operator).
//
// Lazy reduction: a Field holds any representative below kLazyLimit; sums and products fold the
// bits above 61 back once, and only comparing, hashing and inverting bring the value into [0, p).
//
// Why agreement proves something: two rational functions that differ agree at a random point with
// probability at most degree / p (Schwartz 1980, Zippel 1979). A function without algebra is taken
// for an arbitrary one: what holds for it holds for relu, too, while an identity that needs more
// (relu of relu is relu) shows as a difference, which float64 then decides. What is built in, since
// all real functions of these names have it: the maximum depends on the set of its operands alone,
// relu(x) is the maximum of x and 0, tanh and erf are odd, tanh, erf, gelu and sqrt keep 0, exp(0)
// is 1. The keys are fixed: inputs are drawn anew for each point, hence so are all queries.
#pragma once

#include "lang/core/semantics.h"

namespace tg {

inline constexpr uint64_t kFieldPrime = (uint64_t{1} << 61) - 1;

/// Of two 64-bit factors.
__extension__ using WideProduct = unsigned __int128;

struct Field {
  /// Below kLazyLimit; congruent to the value.
  uint64_t lazy = 0;

  static constexpr uint64_t kLazyLimit = (uint64_t{1} << 61) + 8;

  static constexpr uint64_t fold(uint64_t x) { return (x & kFieldPrime) + (x >> 61); }
  /// Any 64 bits as an element.
  static constexpr Field of_bits(uint64_t bits) { return {fold(bits)}; }
  constexpr uint64_t value() const {
    uint64_t x = fold(lazy);
    return x >= kFieldPrime ? x - kFieldPrime : x;
  }
  bool operator==(const Field& other) const { return value() == other.value(); }

  friend constexpr Field operator+(Field a, Field b) { return {fold(a.lazy + b.lazy)}; }
  friend constexpr Field operator-(Field a, Field b) {
    return {fold(a.lazy + (2 * kFieldPrime - b.lazy))};
  }
  friend constexpr Field operator-(Field a) { return {fold(2 * kFieldPrime - a.lazy)}; }
  friend constexpr Field operator*(Field a, Field b) {
    auto product = static_cast<WideProduct>(a.lazy) * b.lazy; // < 2^122 + small
    uint64_t low = static_cast<uint64_t>(product) & kFieldPrime;
    return {fold(low + static_cast<uint64_t>(product >> 61))};
  }
  /// Division by zero is a random function of the dividend: equal only where dividends are.
  friend Field operator/(Field a, Field b);
  Field& operator+=(Field b) { return *this = *this + b; }

  /// The exact value of the shortest decimal text that reads as this double, a rational number.
  static Field of_decimal(double number);
};

/// A field element that is a random function of (key, value): 61 of the 64 bits of a keyed mixer.
Field random_function(uint64_t key, uint64_t value);

template <> struct ScalarTraits<Field> { using Wide = Field; };

template <> struct Math<Field> {
  static Field literal(double value) { return Field::of_decimal(value); }
  static Field integer(int64_t value) {
    Field magnitude =
        Field::of_bits(value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value));
    return value < 0 ? -magnitude : magnitude;
  }
  static Field unary(OpKind op, Field x);
  static Field maximum(Field x, Field y);
  static Field binary(OpKind op, Field x, Field y);
  static Field select(Field condition, Field x, Field y) {
    return condition * x + (Field{1} - condition) * y;
  }
  /// Over the reals floats are what they were.
  static Field cast(DType to, Field x);
  static int64_t index(Field x, int64_t size) {
    return static_cast<int64_t>(x.value() % static_cast<uint64_t>(size));
  }
  static Field missing() { return {}; }
  static int64_t argmax(llvm::ArrayRef<Field> values);
  static Field max_of(llvm::ArrayRef<Field> values);
  static void softmax(llvm::MutableArrayRef<Field> row);
  /// A random function of all elements.
  class External {
  public:
    External(llvm::StringRef name, llvm::StringRef signature)
        : key_(scramble(key_of_text(name) + key_of_text(signature))) {}
    void shape(llvm::ArrayRef<int64_t> sizes) {
      key_ = scramble(key_ + sizes.size());
      for (int64_t size : sizes) key_ = scramble(key_ ^ static_cast<uint64_t>(size));
    }
    void element(Field x) { key_ = scramble(key_ ^ scramble(x.value())); }
    Field at(int64_t i) const { return random_function(key_, static_cast<uint64_t>(i)); }

  private:
    uint64_t key_;
  };
  /// A truth value or an integer is as random as anything else.
  static Field of_dtype(DType, Field x) { return x; }
  /// What is rounded is a function of the quotient.
  static Field whole_quotient(Field quotient);
};

extern template void evaluate_op<Field>(OpKind, AttrValues, llvm::ArrayRef<ConstView<Field>>,
                                        View<Field>, llvm::MutableArrayRef<Field>);

} // namespace tg
