// The scalar of exact checks: four residues, each modulo a prime of its own.
//
// The primes are drawn anew for each point from all between 2^50 and 2^51, of which there are more
// than 2^44 (Rosser and Schoenfeld 1962, corollary 3), so that no constant of a model can be a
// multiple of one but by chance. In place of functions that are not rational stand random functions
// of the value, which is all four residues together: two queries are one where all four are. So the
// chance that two different queries meet is the fourth power of the chance for one prime (bound.h).
//
// Why agreement proves something: two rational functions that differ agree at a random point with
// probability at most degree / p, times as much for each residue (Schwartz 1980, Zippel 1979). A
// function without algebra is taken for an arbitrary one: what holds for it holds for relu, too,
// while an identity that needs more (relu of relu is relu) shows as a difference, which float64
// then decides. What is built in, since all real functions of these names have it: the maximum
// depends on the set of its operands alone, relu(x) is the maximum of x and 0, tanh, erf, atan and
// round are odd and, like gelu and sqrt, keep 0, exp(0) is 1.
//
// Residues are kept in Montgomery's form (Montgomery 1985), times 2^64, and always below the prime.
#pragma once

#include "compiler/verify/field/point.h"
#include "lang/core/semantics/semantics.h"

#include <cstdint>

namespace tg {

// The shortest decimal text that reads as a double, as a rational number: what literals stand for
// in exact checks.

/// digits * 10^exponent, below 10^17 and without trailing zeros; 0 is 0 * 10^0.
struct Decimal {
  uint64_t digits = 0;
  int exponent = 0;
  bool negative = false;
};

Decimal decimal_of(double finite);

struct Field {
  uint64_t lane[kFieldLanes] = {};

  bool operator==(const Field& other) const = default;
  bool is_zero() const { return *this == Field{}; }

  friend Field operator+(const Field& a, const Field& b) {
    Field sum;
    for (int i = 0; i < kFieldLanes; ++i) {
      uint64_t p = field_point.prime[i], x = a.lane[i] + b.lane[i];
      sum.lane[i] = x >= p ? x - p : x;
    }
    return sum;
  }
  friend Field operator-(const Field& a, const Field& b) {
    Field difference;
    for (int i = 0; i < kFieldLanes; ++i) {
      uint64_t x = a.lane[i] - b.lane[i];
      difference.lane[i] = a.lane[i] < b.lane[i] ? x + field_point.prime[i] : x;
    }
    return difference;
  }
  friend Field operator-(const Field& a) { return Field{} - a; }
  friend Field operator*(const Field& a, const Field& b) {
    Field product;
    for (int i = 0; i < kFieldLanes; ++i)
      product.lane[i] = field_point.reduced(static_cast<WideProduct>(a.lane[i]) * b.lane[i], i);
    return product;
  }
  /// Division by zero is a random function of the dividend: equal only where dividends are. Where
  /// some residues of the divisor are zero and others are not, the point is spoilt.
  friend Field operator/(const Field& a, const Field& b);
  Field& operator+=(const Field& b) { return *this = *this + b; }

  /// The same number modulo all four primes.
  static Field of_integer(uint64_t number);
  /// The exact value of the shortest decimal text that reads as this double, a rational number.
  static Field of_decimal(double number);
  /// Uniform, and zero modulo none: from any 64 bits, of which all serve.
  static Field random(uint64_t bits);

  /// The integer of small magnitude that this is modulo all four primes; nullopt if it is none.
  std::optional<int64_t> small_integer() const;
};

/// A digest of elements and numbers, in order, of 128 bits; keyed by the point and by a name.
class FieldHash {
public:
  explicit FieldHash(uint64_t key) : s_(key ^ field_point.key[0]), t_(key + field_point.key[1]) {}
  FieldHash& add(uint64_t x) {
    // Each a bijection of x, and of the state.
    s_ = (s_ ^ x) * 0x9fb21c651e98df25;
    s_ ^= s_ >> 32;
    t_ = (t_ + x) * 0xd6e8feb86659fd93;
    t_ ^= t_ >> 29;
    return *this;
  }
  FieldHash& add(const Field& x) {
    for (uint64_t lane : x.lane) add(lane);
    return *this;
  }
  /// As random as an element can be.
  Field element() const;
  uint64_t bits() const { return scramble(s_ ^ scramble(t_)); }

private:
  uint64_t s_, t_;
};

/// Elements without end, by their numbers: leaves of networks, which are many. Each residue has a
/// key of 64 bits of its own; the mixer is that of wyrand (Wang Yi 2019), one product of 128 bits.
class FieldStream {
public:
  explicit FieldStream(uint64_t key) {
    for (uint64_t lane = 0; lane < kFieldLanes; ++lane)
      key_[lane] = FieldHash(key).add(lane).bits();
  }
  Field element(uint64_t i) const {
    Field x;
    for (int lane = 0; lane < kFieldLanes; ++lane) {
      uint64_t state = key_[lane] + i * 0xa0761d6478bd642f;
      auto wide = static_cast<WideProduct>(state) * (state ^ 0xe7037ed1a0b428db);
      uint64_t bits = static_cast<uint64_t>(wide) ^ static_cast<uint64_t>(wide >> 64);
      x.lane[lane] = field_point.scaled(bits, lane);
    }
    return x;
  }

private:
  uint64_t key_[kFieldLanes];
};

/// A field element that is a random function of (key, x).
inline Field random_function(uint64_t key, const Field& x) {
  return FieldHash(key).add(x).element();
}

template <> struct ScalarTraits<Field> { using Wide = Field; };

template <> struct Math<Field> {
  static Field literal(double value) { return Field::of_decimal(value); }
  static Field integer(int64_t value) {
    Field magnitude = Field::of_integer(value < 0 ? 0 - static_cast<uint64_t>(value)
                                                  : static_cast<uint64_t>(value));
    return value < 0 ? -magnitude : magnitude;
  }
  static Field unary(OpKind op, const Field& x);
  static Field maximum(const Field& x, const Field& y);
  static Field binary(OpKind op, const Field& x, const Field& y);
  static Field select(const Field& condition, const Field& x, const Field& y) {
    return condition * x + (integer(1) - condition) * y;
  }
  /// Over the reals floats are what they were.
  static Field cast(DType to, const Field& x);
  /// What is gathered from outside: of floats no number, which only float64 tells from 0.
  static Field missing();
  static Field max_of(llvm::ArrayRef<Field> values);
  static void softmax(llvm::MutableArrayRef<Field> row);
  /// A random function of all elements.
  class External {
  public:
    External(llvm::StringRef name, llvm::StringRef signature)
        : hash_(scramble(key_of_text(name) + key_of_text(signature))) {}
    void shape(llvm::ArrayRef<int64_t> sizes) {
      hash_.add(sizes.size());
      for (int64_t size : sizes) hash_.add(static_cast<uint64_t>(size));
    }
    void element(const Field& x) { hash_.add(x); }
    Field at(int64_t i) const { return FieldHash(hash_).add(static_cast<uint64_t>(i)).element(); }

  private:
    FieldHash hash_;
  };
  /// A truth value or an integer is as random as anything else.
  static Field of_dtype(DType, const Field& x) { return x; }
  /// What integers have of their own, an arbitrary function of the operands (ir/evaluate.h).
  static Field whole_function(OpKind op, const Field& x);
};

extern template void evaluate_op<Field>(OpKind, AttrValues, llvm::ArrayRef<ConstView<Field>>,
                                        View<Field>, llvm::MutableArrayRef<Field>);

} // namespace tg
