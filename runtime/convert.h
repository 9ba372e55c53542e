// Converts elements of one dtype to another. Every conversion rounds to nearest even exactly once,
// even if it uses an intermediate dtype: f64 to f16 goes through f32 rounded to odd (Boldo
// and Melquiond 2005), which makes the second rounding correct.
// lang/core/semantics/semantics.h (cast) defines the semantics of conversions.
#pragma once

#include "lang/core/semantics/semantics.h"

#include <bit>
#include <cstddef>

namespace tg {

inline float bf16_to_float(uint16_t h) { return std::bit_cast<float>(uint32_t{h} << 16); }
float f16_to_float(uint16_t h);
/// NaNs stay NaNs. Values that are too large become infinities.
inline uint16_t float_to_bf16(float x) {
  uint32_t u = std::bit_cast<uint32_t>(x);
  if (x != x) return static_cast<uint16_t>(u >> 16 | 0x40); // quiet; rounding might clear it
  return static_cast<uint16_t>((u + 0x7fff + (u >> 16 & 1)) >> 16);
}
uint16_t float_to_f16(float x);

/// Converts `count` elements of any dtype to doubles (an i64 beyond 2^53 is rounded), and back.
void widen(DType dtype, const std::byte* from, double* to, int64_t count);
void narrow(DType dtype, const double* from, std::byte* to, int64_t count);

/// Converts i32, i64 or bool elements to Integers, and back: values wrap to i32,
/// and x becomes x != 0 for bool.
void widen(DType dtype, const std::byte* from, Integer* to, int64_t count);
void narrow(DType dtype, const Integer* from, std::byte* to, int64_t count);

/// Implements the operator cast. The ranges must not overlap.
void convert(DType from, const std::byte* source, DType to, std::byte* target, int64_t count);

} // namespace tg
