#include "runtime/convert.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace tg {

namespace {

template <class T> const T* as(const std::byte* p) { return reinterpret_cast<const T*>(p); }
template <class T> T* as(std::byte* p) { return reinterpret_cast<T*>(p); }

/// Returns the float of a double that is exactly representable,
/// else its neighbour whose last bit is odd. Rounding that to fewer bits gives the same result
/// as rounding the double.
float round_to_odd(double x) {
  float near = static_cast<float>(x);
  double back = static_cast<double>(near);
  if (back == x || x != x) return near;
  if (std::isinf(near)) return std::copysign(std::numeric_limits<float>::max(), near);
  uint32_t u = std::bit_cast<uint32_t>(near);
  if (std::abs(back) > std::abs(x)) --u; // towards zero: bit patterns of one sign are ordered
  return std::bit_cast<float>(u | 1);
}

bool to_bool(double x) { return x != 0; } // a NaN is not 0

template <class T> T to_integer(double x) {
  constexpr double kLimit = -static_cast<double>(std::numeric_limits<T>::min());
  if (std::isnan(x)) return 0;
  if (x >= kLimit) return std::numeric_limits<T>::max();
  return x < -kLimit ? std::numeric_limits<T>::min() : static_cast<T>(x);
}

template <class To, class From, class F>
void each(const std::byte* from, To* to, int64_t count, F f) {
  const From* x = as<From>(from);
  for (int64_t i = 0; i < count; ++i) to[i] = f(x[i]);
}

constexpr int64_t kBlock = 1024; // elements per block if neither dtype widens to the other

/// Converts through doubles or Integers, one block at a time.
template <class W>
void convert_by_blocks(DType from, const std::byte* source, DType to, std::byte* target,
                       int64_t count) {
  W block[kBlock];
  for (int64_t i = 0; i < count; i += kBlock) {
    int64_t size = std::min(kBlock, count - i);
    widen(from, source + i * dtype_size(from), block, size);
    narrow(to, block, target + i * dtype_size(to), size);
  }
}

} // namespace

float f16_to_float(uint16_t h) {
  uint32_t sign = uint32_t{h} >> 15 << 31, exponent = h >> 10 & 0x1f, fraction = h & 0x3ff;
  if (exponent == 0) { // zero and subnormals: multiples of 2^-24
    float magnitude = static_cast<float>(fraction) * 0x1p-24f;
    return sign ? -magnitude : magnitude;
  }
  uint32_t rebased = exponent == 0x1f ? 0xff : exponent + (127 - 15);
  return std::bit_cast<float>(sign | rebased << 23 | fraction << 13);
}

uint16_t float_to_f16(float x) {
  uint32_t u = std::bit_cast<uint32_t>(x), sign = u >> 31 << 15;
  u &= 0x7fffffff;
  if (x != x) return static_cast<uint16_t>(sign | 0x7e00);
  if (u >= 0x477ff000) return static_cast<uint16_t>(sign | 0x7c00); // 65520 and above: infinity
  if (u < 0x38800000) { // below 2^-14: in [0.5, 1) the last bit of a float is 2^-24 as well
    float shifted = std::bit_cast<float>(u) + 0.5f;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000));
  }
  u += 0xfff + (u >> 13 & 1);
  return static_cast<uint16_t>(sign | ((u - ((127 - 15) << 23)) >> 13));
}

void widen(DType dtype, const std::byte* from, double* to, int64_t count) {
  auto same = [](auto x) { return static_cast<double>(x); };
  switch (dtype) {
  case DType::None: return;
  case DType::F32: return each<double, float>(from, to, count, same);
  case DType::F16:
    return each<double, uint16_t>(from, to, count,
                                  [](uint16_t h) { return double{f16_to_float(h)}; });
  case DType::BF16:
    return each<double, uint16_t>(from, to, count,
                                  [](uint16_t h) { return double{bf16_to_float(h)}; });
  case DType::I32: return each<double, int32_t>(from, to, count, same);
  case DType::I64: return each<double, int64_t>(from, to, count, same);
  case DType::Bool: return each<double, uint8_t>(from, to, count, same);
  case DType::F64: return each<double, double>(from, to, count, same);
  }
}

void narrow(DType dtype, const double* from, std::byte* to, int64_t count) {
  auto map = [&](auto* target, auto f) { std::transform(from, from + count, target, f); };
  switch (dtype) {
  case DType::None: return;
  case DType::F32: return map(as<float>(to), [](double x) { return static_cast<float>(x); });
  case DType::F16:
    return map(as<uint16_t>(to), [](double x) { return float_to_f16(round_to_odd(x)); });
  case DType::BF16:
    return map(as<uint16_t>(to), [](double x) { return float_to_bf16(round_to_odd(x)); });
  case DType::I32: return map(as<int32_t>(to), to_integer<int32_t>);
  case DType::I64: return map(as<int64_t>(to), to_integer<int64_t>);
  case DType::Bool: return map(as<uint8_t>(to), to_bool);
  case DType::F64: return map(as<double>(to), [](double x) { return x; });
  }
}

void widen(DType dtype, const std::byte* from, Integer* to, int64_t count) {
  auto same = [](auto x) { return Integer(int64_t{x}); };
  switch (dtype) {
  case DType::I32: return each<Integer, int32_t>(from, to, count, same);
  case DType::I64: return each<Integer, int64_t>(from, to, count, same);
  case DType::Bool: return each<Integer, uint8_t>(from, to, count, same);
  default: assert(false && "not an integer dtype");
  }
}

// Converts to floats in one rounding: an i64 beyond 2^53 would be rounded twice through double.
void narrow(DType dtype, const Integer* from, std::byte* to, int64_t count) {
  auto map = [&](auto* target, auto f) { std::transform(from, from + count, target, f); };
  auto odd = [](Integer x) { // an i64 as a float, rounded to odd
    double near = static_cast<double>(x.value);
    if (near >= 0x1p63) return round_to_odd(near) - 0.0f;
    int64_t rest = x.value - static_cast<int64_t>(near); // the rounding error of the double
    if (rest == 0) return round_to_odd(near);
    return round_to_odd(std::nextafter(near, rest > 0 ? HUGE_VAL : -HUGE_VAL));
  };
  switch (dtype) {
  case DType::None: return;
  case DType::F32: return map(as<float>(to), [](Integer x) { return static_cast<float>(x.value); });
  case DType::F16: return map(as<uint16_t>(to), [&](Integer x) { return float_to_f16(odd(x)); });
  case DType::BF16: return map(as<uint16_t>(to), [&](Integer x) { return float_to_bf16(odd(x)); });
  case DType::I32:
    return map(as<int32_t>(to), [](Integer x) { return static_cast<int32_t>(x.value); });
  case DType::I64: return map(as<int64_t>(to), [](Integer x) { return x.value; });
  case DType::Bool: return map(as<uint8_t>(to), [](Integer x) { return uint8_t{x.value != 0}; });
  case DType::F64:
    return map(as<double>(to), [](Integer x) { return static_cast<double>(x.value); });
  }
}

void convert(DType from, const std::byte* source, DType to, std::byte* target, int64_t count) {
  if (from == to) {
    std::memcpy(target, source, static_cast<size_t>(count * dtype_size(from)));
    return;
  }
  if (from == DType::F32 && to == DType::BF16)
    return each<uint16_t, float>(source, as<uint16_t>(target), count, float_to_bf16);
  if (from == DType::BF16 && to == DType::F32)
    return each<float, uint16_t>(source, as<float>(target), count, bf16_to_float);
  if (is_float(from)) return convert_by_blocks<double>(from, source, to, target, count);
  convert_by_blocks<Integer>(from, source, to, target, count);
}

} // namespace tg
