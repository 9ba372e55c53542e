#include "compiler/verify/field/field.h"

#include <llvm/ADT/SmallVector.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

namespace tg {

/// The text has the form d.ddd...e±xx.
Decimal decimal_of(double finite) {
  char text[64];
  auto end =
      std::to_chars(text, text + sizeof text, std::abs(finite), std::chars_format::scientific);
  Decimal decimal;
  decimal.negative = std::signbit(finite);
  int behind_point = 0;
  bool point = false;
  for (const char* c = text; c != end.ptr; ++c) {
    if (*c == 'e') {
      std::from_chars(c + (c[1] == '+' ? 2 : 1), end.ptr, decimal.exponent);
      break;
    }
    if (*c == '.') {
      point = true;
      continue;
    }
    decimal.digits = decimal.digits * 10 + static_cast<uint64_t>(*c - '0');
    behind_point += point;
  }
  decimal.exponent -= behind_point;
  while (decimal.digits != 0 && decimal.digits % 10 == 0) {
    decimal.digits /= 10;
    ++decimal.exponent;
  }
  if (decimal.digits == 0) decimal.exponent = 0;
  return decimal;
}

namespace {

constexpr uint64_t key_of(std::string_view name) { // FNV-1a
  uint64_t h = 14695981039346656037u;
  for (char c : name) h = (h ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return h;
}

constexpr uint64_t kMaxMember = key_of("member of a maximum"), kMax = key_of("maximum");
constexpr uint64_t kRowMember = key_of("member of a softmax row"), kRow = key_of("softmax");
constexpr uint64_t kDivision = key_of("division by zero"), kNotFinite = key_of("not finite");

uint64_t key_of(std::string_view kind, uint64_t which) { return scramble(key_of(kind) + which); }

Field one() {
  Field one;
  std::copy_n(field_point.one, kFieldLanes, one.lane);
  return one;
}

Field power(Field base, uint64_t exponent) {
  Field result = one();
  for (; exponent; exponent >>= 1, base = base * base)
    if (exponent & 1) result = result * base;
  return result;
}

/// Returns each residue to the power of its prime minus 2 (Fermat). Divisors repeat, so the last
/// one is cached; the cache does not affect results.
Field inverse(const Field& x) {
  struct Memo {
    Field of, inverse;
    uint64_t prime[kFieldLanes] = {};
  };
  static thread_local Memo last;
  if (last.of == x && std::equal(last.prime, last.prime + kFieldLanes, field_point.prime))
    return last.inverse;
  Field base = x, result = one();
  for (int bit = 0; bit < kPrimeBits; ++bit, base = base * base) {
    Field next = result * base;
    for (int i = 0; i < kFieldLanes; ++i)
      if ((field_point.prime[i] - 2) >> bit & 1) result.lane[i] = next.lane[i];
  }
  last = {x, result, {}};
  std::copy_n(field_point.prime, kFieldLanes, last.prime);
  return result;
}

/// f(-x) = -f(x): computed at x or -x, whichever has the smaller first nonzero residue.
Field odd_function(uint64_t key, const Field& x) {
  for (int i = 0; i < kFieldLanes; ++i) {
    if (x.lane[i] == 0) continue;
    bool flip = x.lane[i] > field_point.prime[i] - x.lane[i];
    Field y = random_function(key, flip ? -x : x);
    return flip ? -y : y;
  }
  return {};
}

bool less(const Field& a, const Field& b) {
  return std::lexicographical_compare(a.lane, a.lane + kFieldLanes, b.lane, b.lane + kFieldLanes);
}

} // namespace

Field operator/(const Field& a, const Field& b) {
  int zeros = 0;
  for (uint64_t lane : b.lane) zeros += lane == 0;
  if (zeros == kFieldLanes) return random_function(kDivision, a);
  if (zeros > 0) field_point.spoilt = true;
  return a * inverse(b);
}

Field FieldHash::element() const {
  Field y;
  uint64_t t = t_;
  for (int i = 0; i < kFieldLanes; ++i, t = t << 16 | t >> 48) {
    y.lane[i] = field_point.scaled(scramble(s_ + t * 0x9e3779b97f4a7c15), i);
  }
  return y;
}

Field Field::random(uint64_t bits) {
  Field x;
  for (int i = 0; i < kFieldLanes; ++i) {
    bits += 0x9e3779b97f4a7c15;
    x.lane[i] = field_point.scaled(scramble(bits), i);
  }
  return x;
}

Field Field::of_integer(uint64_t number) {
  Field x;
  for (int i = 0; i < kFieldLanes; ++i)
    x.lane[i] = field_point.reduced(static_cast<WideProduct>(number) * field_point.square[i], i);
  return x;
}

Field Field::of_decimal(double number) {
  if (!std::isfinite(number)) {
    uint64_t bits = 0;
    std::memcpy(&bits, &number, sizeof bits);
    return FieldHash(kNotFinite).add(bits).element();
  }
  Decimal decimal = decimal_of(number);
  Field digits = of_integer(decimal.digits);
  Field scale = power(of_integer(10), static_cast<uint64_t>(std::abs(decimal.exponent)));
  Field value = decimal.exponent < 0 ? digits / scale : digits * scale;
  return decimal.negative ? -value : value;
}

std::optional<int64_t> Field::small_integer() const {
  constexpr int64_t kSmall = int64_t{1} << 40;
  std::optional<int64_t> found;
  for (int i = 0; i < kFieldLanes; ++i) {
    uint64_t residue = field_point.reduced(lane[i], i), p = field_point.prime[i];
    auto centred = static_cast<int64_t>(residue) - (residue > p / 2 ? static_cast<int64_t>(p) : 0);
    if (found.value_or(centred) != centred || std::abs(centred) > kSmall) return std::nullopt;
    found = centred;
  }
  return found;
}

Field Math<Field>::unary(OpKind op, const Field& x) {
  uint64_t key = key_of("unary", static_cast<uint64_t>(op));
  switch (op) {
  case OpKind::Relu: return maximum(x, {});
  case OpKind::Tanh:
  case OpKind::Erf:
  case OpKind::Atan:
  case OpKind::Round: return odd_function(key, x);
  case OpKind::Gelu:
  case OpKind::Sqrt: return x.is_zero() ? Field{} : random_function(key, x);
  case OpKind::Exp: return x.is_zero() ? one() : random_function(key, x);
  default: return random_function(key, x);
  }
}

Field Math<Field>::maximum(const Field& x, const Field& y) {
  if (x == y) return x;
  return random_function(kMax, random_function(kMaxMember, x) + random_function(kMaxMember, y));
}

// A minimum is a mirrored maximum. A comparison is symmetric if its operator is.
Field Math<Field>::binary(OpKind op, const Field& x, const Field& y) {
  if (op == OpKind::Minimum) return -maximum(-x, -y);
  uint64_t key = key_of("binary", static_cast<uint64_t>(op));
  if (op == OpKind::Equal && less(y, x)) return FieldHash(key).add(y).add(x).element();
  return FieldHash(key).add(x).add(y).element();
}

Field Math<Field>::cast(DType to, const Field& x) {
  return is_float(to) ? x : random_function(key_of("cast", static_cast<uint64_t>(to)), x);
}

Field Math<Field>::whole_function(OpKind op, const Field& x) {
  return random_function(key_of("of integers", static_cast<uint64_t>(op)), x);
}

Field Math<Field>::missing() { return FieldHash(key_of("missing")).element(); }

Field Math<Field>::max_of(llvm::ArrayRef<Field> values) {
  llvm::SmallVector<Field, 16> set(values.begin(), values.end());
  std::sort(set.begin(), set.end(), less);
  set.erase(std::unique(set.begin(), set.end()), set.end());
  if (set.size() == 1) return set[0];
  Field members{};
  for (const Field& x : set) members += random_function(kMaxMember, x);
  return random_function(kMax, members);
}

void Math<Field>::softmax(llvm::MutableArrayRef<Field> row) {
  Field members = integer(static_cast<int64_t>(row.size()));
  for (const Field& x : row) members += random_function(kRowMember, x);
  FieldHash all = FieldHash(kRow).add(members);
  for (Field& x : row) x = FieldHash(all).add(x).element();
}

} // namespace tg
