// The scalar of exact checks: four residues, each modulo a prime of its own.
//
// The primes are drawn for each point from the more than 2^44 primes between 2^50 and 2^51 (Rosser
// and Schoenfeld 1962, corollary 3), so a constant of a model is a multiple of one only by chance.
// Functions that are not rational are replaced by random functions of the value, that is, of all
// four residues together: two queries are the same only if all four are. So the chance that two
// different queries collide is the fourth power of the chance for one prime (bound.h).
//
// Why agreement proves equality: two different rational functions agree at a random point with
// probability at most degree / p, and these chances multiply over the residues (Schwartz 1980,
// Zippel 1979). A non-algebraic function is treated as uninterpreted. An equality for all functions
// also holds for relu. An identity that needs more (relu of relu is relu) shows as a difference,
// which float64 then decides. Some properties that the real functions have are built in: the
// maximum depends only on the set of its operands; relu(x) is the maximum of x and 0; tanh, erf,
// atan and round are odd and, like gelu and sqrt, map 0 to 0; exp(0) is 1.
//
// Residues are in Montgomery form (Montgomery 1985), multiplied by 2^64, and always below the
// prime.
#pragma once

#include "compiler/verify/field/point.h"
#include "lang/core/semantics/semantics.h"

#include <cstdint>

namespace tg {

// The shortest decimal text that reads as a double, as a rational number: the value of literals in
// exact checks.

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
  /// Division by zero is a random function of the dividend, so results are equal only if the
  /// dividends are. If only some residues of the divisor are zero, the point is spoilt.
  friend Field operator/(const Field& a, const Field& b);
  Field& operator+=(const Field& b) { return *this = *this + b; }

  /// Returns the number modulo all four primes.
  static Field of_integer(uint64_t number);
  /// Returns the rational number of the shortest decimal text that reads as this double.
  static Field of_decimal(double number);
  /// Returns a uniform element, nonzero modulo every prime, from any 64 bits.
  static Field random(uint64_t bits);

  /// Returns the small integer that this equals modulo all four primes; nullopt if there is none.
  std::optional<int64_t> small_integer() const;
};

/// A 128-bit digest of a sequence of elements and numbers, keyed by the point and by a name.
class FieldHash {
public:
  explicit FieldHash(uint64_t key) : s_(key ^ field_point.key[0]), t_(key + field_point.key[1]) {}
  FieldHash& add(uint64_t x) {
    // Each step is a bijection of x and of the state.
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
  /// Returns a uniform element derived from the digest.
  Field element() const;
  uint64_t bits() const { return scramble(s_ ^ scramble(t_)); }

private:
  uint64_t s_, t_;
};

/// An unlimited number of elements, by index, for the many leaves of networks. Each residue has its
/// own 64-bit key. The mixer is that of wyrand (Wang Yi 2019), one product of 128 bits.
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

/// Returns the value of the random function `key` at x.
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
  /// Over the reals, casts between floats are the identity.
  static Field cast(DType to, const Field& x);
  /// Returns the value gathered from out of range. For floats it is not a number, which only
  /// float64 distinguishes from 0.
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
  /// Truth values and integers are treated like all other values.
  static Field of_dtype(DType, const Field& x) { return x; }
  /// Returns an uninterpreted function of the operands, for functions that only integers have
  /// (ir/evaluate.h).
  static Field whole_function(OpKind op, const Field& x);
};

extern template void evaluate_op<Field>(OpKind, AttrValues, llvm::ArrayRef<ConstView<Field>>,
                                        View<Field>, llvm::MutableArrayRef<Field>);

} // namespace tg
