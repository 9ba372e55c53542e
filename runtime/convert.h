// Elements of one dtype as those of another. Everything here rounds to nearest even, once, whatever
// lies between: f64 to f16 goes through f32 rounded to odd (Boldo and Melquiond 2005), which keeps
// the second rounding right. What a conversion means is said in lang/core/semantics/semantics.h
// (cast).
#pragma once

#include "lang/core/semantics/semantics.h"

#include <bit>
#include <cstddef>

namespace tg {

inline float bf16_to_float(uint16_t h) { return std::bit_cast<float>(uint32_t{h} << 16); }
float f16_to_float(uint16_t h);
/// NaNs stay NaNs; what is too large is an infinity.
inline uint16_t float_to_bf16(float x) {
  uint32_t u = std::bit_cast<uint32_t>(x);
  if (x != x) return static_cast<uint16_t>(u >> 16 | 0x40); // quiet; rounding might clear it
  return static_cast<uint16_t>((u + 0x7fff + (u >> 16 & 1)) >> 16);
}
uint16_t float_to_f16(float x);

/// `count` elements of any dtype as doubles (an i64 beyond 2^53 is rounded), and back.
void widen(DType dtype, const std::byte* from, double* to, int64_t count);
void narrow(DType dtype, const double* from, std::byte* to, int64_t count);

/// Of i32, i64 or bool, and back: wraps to i32; to bool it is x != 0.
void widen(DType dtype, const std::byte* from, Integer* to, int64_t count);
void narrow(DType dtype, const Integer* from, std::byte* to, int64_t count);

/// The operator cast. The ranges must not overlap.
void convert(DType from, const std::byte* source, DType to, std::byte* target, int64_t count);

} // namespace tg
