// The macros around the bodies of generated kernels for C++ on the processor, where a block is a
// loop over its threads, and conversions of half types (runtime/cuda/codegen/prelude_device.cuh).
#pragma once

namespace tg::test {

inline constexpr const char* kHostMacros = R"(#include <cmath>
#include <cstring>
#include <limits>
#define TG_FUNCTION static inline
#define TG_THREADS_BEGIN for (int TG_THREAD = 0; TG_THREAD < TG_THREADS; ++TG_THREAD) {
#define TG_THREADS_END }
#define TG_VARIABLE(type, name) type name[TG_THREADS]
#define TG_ARRAY(type, name, count) type name[TG_THREADS][count]
#define TG_AT(name) name[TG_THREAD]
#define TG_SHARED(type, name, count) type name[count]
#define TG_BARRIER
#define TG_CLUSTERS 0
#define TG_RANKS(count) 1
#define TG_UNROLL
#define TG_INFINITY std::numeric_limits<float>::infinity()
#define TG_NAN std::numeric_limits<float>::quiet_NaN()
#define TG_REDUCE(op, name, width)                                          \
  for (int row = 0; row < TG_THREADS; row += width) {                       \
    auto all = name[row];                                                   \
    for (int i = 1; i < width; ++i) all = tg_##op(all, name[row + i]);      \
    for (int i = 0; i < width; ++i) name[row + i] = all;                    \
  }
#define TG_REDUCE_APART(op, name, apart, count)                             \
  for (int row = 0; row < apart; ++row) {                                   \
    auto all = name[row];                                                   \
    for (int i = 1; i < count; ++i) all = tg_##op(all, name[row + i * apart]); \
    for (int i = 0; i < count; ++i) name[row + i * apart] = all;            \
  }

TG_FUNCTION unsigned tg_bits(float x) { unsigned u; std::memcpy(&u, &x, 4); return u; }
TG_FUNCTION float tg_float(unsigned u) { float x; std::memcpy(&x, &u, 4); return x; }
TG_FUNCTION float tg_half_value(unsigned short bits) {
  _Float16 h;
  std::memcpy(&h, &bits, 2);
  return (float)h;
}
TG_FUNCTION unsigned short tg_half_bits(float x) {
  _Float16 h = (_Float16)x;
  unsigned short bits;
  std::memcpy(&bits, &h, 2);
  return bits;
}
TG_FUNCTION float tg_rsqrt(float x) { return 1.0f / std::sqrt(x); }
)";

} // namespace tg::test
