// The Box-Muller method on four pairs at a time, with the same bits as RandomStream::normal,
// because users compare runs by them.
// Vector instructions compute a number in double with an error below kError.
// If both ends of the error interval round to the same float, the C library's logarithm,
// sine and cosine, whose errors are smaller, round to it too.
// Otherwise (about one number in 100,000) the library computes the number (Ziv, ACM TOMS 17 (3),
// 1991).
#include "lang/core/support/threads.h"
#include "runtime/random.h"

#include <algorithm>
#include <cstdint>

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define TG_FILL_VECTORS 1
#include <immintrin.h>
#endif

namespace tg {

namespace {

/// Fills elements [begin, end); `begin` is even.
void fill_plain(const RandomStream& stream, double scale, llvm::MutableArrayRef<float> out,
                size_t begin, size_t end) {
  for (size_t i = begin; i < end; i += 2) {
    auto [even, odd] = stream.normal_pair(i / 2);
    out[i] = static_cast<float>(scale * even);
    if (i + 1 < end) out[i + 1] = static_cast<float>(scale * odd);
  }
}

} // namespace

#if TG_FILL_VECTORS
#pragma GCC push_options
#pragma GCC target("avx2,fma")

namespace {

constexpr size_t kPairs = 4; // per vector
typedef double Doubles __attribute__((vector_size(32), may_alias));
typedef int64_t Ints __attribute__((vector_size(32), may_alias));
typedef float Floats __attribute__((vector_size(16), may_alias));
typedef int32_t Shorts __attribute__((vector_size(16), may_alias));

#define TG_INLINE inline __attribute__((always_inline))

TG_INLINE Doubles select(Ints mask, Doubles yes, Doubles no) {
  return (Doubles)(((Ints)yes & mask) | ((Ints)no & ~mask));
}

/// Logarithm of finite numbers from 2^-54 to 1, with a relative error of 1e-14:
/// the series of 2 atanh((m - 1) / (m + 1)) for m in [sqrt(1/2), sqrt(2)), which is exact at 1.
TG_INLINE Doubles log_of(Doubles x) {
  constexpr int64_t kRootHalf = 0x3fe6a09e667f3bcd, kExponent = INT64_C(0x7ff) << 52;
  constexpr int64_t kBias = INT64_C(1023) << 52, kTwo52 = 0x4330000000000000;
  Ints above = (Ints)x - kRootHalf + kBias; // its exponent field is the biased exponent of x / m
  Ints exponent = above & kExponent;
  Doubles m = (Doubles)((Ints)x - (exponent - kBias));
  typedef uint64_t Bits __attribute__((vector_size(32), may_alias));
  Doubles power = (Doubles)((Ints)((Bits)exponent >> 52) | kTwo52) - (0x1p52 + 1023);
  Doubles f = m - 1, s = f / (f + 2), z = s * s;
  Doubles series = z * (2.0 / 19) + 2.0 / 17;
  series = series * z + 2.0 / 15;
  series = series * z + 2.0 / 13;
  series = series * z + 2.0 / 11;
  series = series * z + 2.0 / 9;
  series = series * z + 2.0 / 7;
  series = series * z + 2.0 / 5;
  series = series * z + 2.0 / 3;
  return power * 0.6931471805599453 + (s * 2 + s * z * series);
}

/// Sine and cosine of angles from 0 to 2 pi, with an absolute error of 1e-13.
TG_INLINE void sin_cos(Doubles angle, Doubles& sine, Doubles& cosine) {
  constexpr double kMagic = 0x1.8p52; // adding it puts the integer in the low bits
  Doubles shifted = angle * 0.6366197723675814 + kMagic, quarters = shifted - kMagic;
  Doubles r = angle - quarters * 0x1.921fb544p0; // pi / 2 in two parts: the product with the first
  r = r - quarters * 0x1.0b4611a626331p-34;      // is exact
  Doubles z = r * r;
  Doubles s = z * (1.0 / 6227020800) + -1.0 / 39916800;
  s = s * z + 1.0 / 362880;
  s = s * z + -1.0 / 5040;
  s = s * z + 1.0 / 120;
  s = s * z + -1.0 / 6;
  s = r + r * z * s;
  Doubles c = z * (-1.0 / 87178291200) + 1.0 / 479001600;
  c = c * z + -1.0 / 3628800;
  c = c * z + 1.0 / 40320;
  c = c * z + -1.0 / 720;
  c = c * z + 1.0 / 24;
  c = c * z + -1.0 / 2;
  c = c * z + 1;
  Ints quadrant = (Ints)shifted, odd = -(quadrant & 1);
  sine = (Doubles)((Ints)select(odd, c, s) ^ ((quadrant & 2) << 62));
  cosine = (Doubles)((Ints)select(odd, s, c) ^ (((quadrant + 1) & 2) << 62));
}

/// Returns the floats to which `value` rounds, and marks in `unsure` those that an error
/// of `error` could change.
TG_INLINE Floats rounded(Doubles value, Doubles error, Shorts& unsure) {
  Floats low = __builtin_convertvector(value - error, Floats);
  Floats high = __builtin_convertvector(value + error, Floats);
  unsure |= (Shorts)low != (Shorts)high;
  return low;
}

/// Computes four pairs from `pair` on. Returns true if the library has to compute them.
TG_INLINE bool fill_four(const RandomStream& stream, double scale, uint64_t pair, float* out) {
  // Error of radius and angle together, relative to the radius.
  constexpr double kError = 2e-13;
  constexpr double kTwoPi = 6.283185307179586;
  Doubles first, second;
  for (size_t i = 0; i < kPairs; ++i) {
    first[i] = stream.uniform(2 * (pair + i));
    second[i] = stream.uniform(2 * (pair + i) + 1);
  }
  Doubles radius = scale * (Doubles)_mm256_sqrt_pd((__m256d)(log_of(first) * -2)), sine, cosine;
  sin_cos(second * kTwoPi, sine, cosine);
  Doubles error = radius * kError;
  Shorts unsure = {};
  Floats even = rounded(radius * cosine, error, unsure);
  Floats odd = rounded(radius * sine, error, unsure);
  for (size_t i = 0; i < kPairs; ++i) {
    out[2 * i] = even[i];
    out[2 * i + 1] = odd[i];
  }
  return (unsure[0] | unsure[1] | unsure[2] | unsure[3]) != 0;
}

void fill_vectors(const RandomStream& stream, double scale, llvm::MutableArrayRef<float> out,
                  size_t begin, size_t end) {
  constexpr size_t kFloats = 2 * kPairs;
  size_t i = begin;
  for (; i + kFloats <= end; i += kFloats)
    if (fill_four(stream, scale, i / 2, &out[i])) fill_plain(stream, scale, out, i, i + kFloats);
  fill_plain(stream, scale, out, i, end);
}

} // namespace

#pragma GCC pop_options

namespace {

void fill_range(const RandomStream& stream, double scale, llvm::MutableArrayRef<float> out,
                size_t begin, size_t end) {
  static const bool vectors = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  // For a smaller scale the error is no longer relative to the result.
  constexpr double kLeastScale = 1e-100;
  auto* fill = vectors && scale > kLeastScale ? fill_vectors : fill_plain;
  fill(stream, scale, out, begin, end);
}

} // namespace

#else

namespace {

void fill_range(const RandomStream& stream, double scale, llvm::MutableArrayRef<float> out,
                size_t begin, size_t end) {
  fill_plain(stream, scale, out, begin, end);
}

} // namespace

#endif

void fill_normal(const RandomStream& stream, double scale, llvm::MutableArrayRef<float> out,
                 int threads) {
  constexpr size_t kWorthAThread = 1 << 17;
  size_t parts =
      std::clamp<size_t>(out.size() / kWorthAThread, 1, static_cast<size_t>(std::max(threads, 1)));
  auto edge = [&](size_t part) { // even, because pairs stay together
    return part == parts ? out.size() : out.size() / 2 * part / parts * 2;
  };
  in_parts(parts, [&](size_t part) { fill_range(stream, scale, out, edge(part), edge(part + 1)); });
}

} // namespace tg
