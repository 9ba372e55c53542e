#include "compiler/equiv/field.h"

#include <llvm/ADT/SmallVector.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <string_view>

namespace tg {

namespace {

/// SplitMix64's finaliser (Steele, Lea and Flood 2014), a bijection of 64 bits.
constexpr uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

constexpr uint64_t key_of(std::string_view name) { // FNV-1a, mixed
  uint64_t h = 14695981039346656037u;
  for (char c : name) h = (h ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return mix(h);
}

constexpr uint64_t kMaxMember = key_of("member of a maximum"), kMax = key_of("maximum");
constexpr uint64_t kRowMember = key_of("member of a softmax row"), kRow = key_of("softmax");
constexpr uint64_t kDivision = key_of("division by zero"), kNotFinite = key_of("not finite");

Field power(Field base, uint64_t exponent) {
  Field result{1};
  for (; exponent; exponent >>= 1, base = base * base)
    if (exponent & 1) result = result * base;
  return result;
}

/// x to the power of p - 2 = 2^61 - 3 (Fermat). Divisors repeat, so the last one is remembered: a
/// memo, which nothing can tell from computing it again.
Field inverse(uint64_t x) {
  static thread_local uint64_t last = 1;
  static thread_local Field last_inverse{1};
  if (x != last) {
    last_inverse = power({x}, kFieldPrime - 2);
    last = x;
  }
  return last_inverse;
}

/// f(-x) = -f(x): computed at the smaller of x and -x.
Field odd_function(uint64_t key, uint64_t x) {
  if (x == 0) return {};
  bool flip = x > kFieldPrime - x;
  Field y = random_function(key, flip ? kFieldPrime - x : x);
  return flip ? -y : y;
}

} // namespace

Field operator/(Field a, Field b) {
  uint64_t divisor = b.value();
  return divisor == 0 ? random_function(kDivision, a.value()) : a * inverse(divisor);
}

Field random_function(uint64_t key, uint64_t value) {
  return Field::of_bits(mix(mix(value + key) ^ (key >> 7 | key << 57)) >> 3);
}

/// Digits and exponent of the shortest text, d.ddd...e±xx.
Field Field::of_decimal(double number) {
  if (!std::isfinite(number)) {
    uint64_t bits = 0;
    std::memcpy(&bits, &number, sizeof bits);
    return random_function(kNotFinite, bits);
  }
  char text[64];
  auto end =
      std::to_chars(text, text + sizeof text, std::abs(number), std::chars_format::scientific);
  Field digits{};
  int exponent = 0, behind_point = 0;
  bool point = false;
  for (const char* c = text; c != end.ptr; ++c) {
    if (*c == 'e') {
      std::from_chars(c + (c[1] == '+' ? 2 : 1), end.ptr, exponent);
      break;
    }
    if (*c == '.') {
      point = true;
      continue;
    }
    digits = digits * Field{10} + Field{static_cast<uint64_t>(*c - '0')};
    behind_point += point;
  }
  exponent -= behind_point;
  Field scale = power({10}, static_cast<uint64_t>(std::abs(exponent)));
  Field value = exponent < 0 ? digits / scale : digits * scale;
  return std::signbit(number) ? -value : value;
}

Field Math<Field>::unary(OpKind op, Field x) {
  uint64_t v = x.value();
  uint64_t key = mix(key_of("unary") + static_cast<uint64_t>(op));
  switch (op) {
  case OpKind::Relu: return maximum(x, {});
  case OpKind::Tanh:
  case OpKind::Erf: return odd_function(key, v);
  case OpKind::Gelu:
  case OpKind::Sqrt: return v == 0 ? Field{} : random_function(key, v);
  case OpKind::Exp: return v == 0 ? Field{1} : random_function(key, v);
  default: return random_function(key, v);
  }
}

Field Math<Field>::maximum(Field x, Field y) {
  Field both[] = {x, y};
  return max_of(both);
}

// A minimum is a mirrored maximum; a comparison is symmetric if the operator is.
Field Math<Field>::binary(OpKind op, Field x, Field y) {
  if (op == OpKind::Minimum) return -maximum(-x, -y);
  uint64_t key = mix(key_of("binary") + static_cast<uint64_t>(op));
  uint64_t first = random_function(key, x.value()).value();
  uint64_t second = random_function(key, y.value()).value();
  if (op == OpKind::Equal) return random_function(key, first + second);
  return random_function(key, first ^ mix(second));
}

Field Math<Field>::cast(DType to, Field x) {
  if (is_float(to)) return x;
  return random_function(mix(key_of("cast") + static_cast<uint64_t>(to)), x.value());
}

Field Math<Field>::whole_quotient(Field quotient) {
  return random_function(key_of("whole quotient"), quotient.value());
}

int64_t Math<Field>::argmax(llvm::ArrayRef<Field> values) {
  uint64_t hash = key_of("argmax");
  for (Field x : values) hash = mix(hash ^ x.value());
  return static_cast<int64_t>(hash % values.size());
}

Field Math<Field>::max_of(llvm::ArrayRef<Field> values) {
  llvm::SmallVector<uint64_t, 32> set;
  for (Field x : values) set.push_back(x.value());
  std::sort(set.begin(), set.end());
  set.erase(std::unique(set.begin(), set.end()), set.end());
  if (set.size() == 1) return {set[0]};
  Field members{};
  for (uint64_t x : set) members += random_function(kMaxMember, x);
  return random_function(kMax, members.value());
}

void Math<Field>::softmax(llvm::MutableArrayRef<Field> row) {
  Field members = integer(static_cast<int64_t>(row.size()));
  for (Field x : row) members += random_function(kRowMember, x.value());
  uint64_t all = mix(members.value());
  for (Field& x : row) x = random_function(kRow ^ all, x.value());
}

} // namespace tg
