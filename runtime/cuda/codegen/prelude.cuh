// The definitions of generated kernels. Pointwise operators are functions tg_NAME over float and long long,
// with the semantics of lang/core/semantics/semantics.h. The generator (source.cpp) writes the functions of
// operators that have a formula and no function here.
typedef float tg_f32;
typedef int tg_i32;
typedef long long tg_i64;
typedef unsigned char tg_boolean;
struct tg_f16 { unsigned short bits; };
struct tg_bf16 { unsigned short bits; };
typedef unsigned long long tg_unsigned;

TG_FUNCTION float tg_bf16_value(unsigned short bits) { return tg_float((unsigned)bits << 16); }
TG_FUNCTION unsigned short tg_bf16_bits(float x) {
  unsigned u = tg_bits(x);
  if (x != x) return (unsigned short)((u >> 16) | 64);
  return (unsigned short)((u + 0x7fff + ((u >> 16) & 1)) >> 16);
}

TG_FUNCTION float tg_value(float x) { return x; }
TG_FUNCTION float tg_value(tg_f16 x) { return tg_half_value(x.bits); }
TG_FUNCTION float tg_value(tg_bf16 x) { return tg_bf16_value(x.bits); }
TG_FUNCTION long long tg_value(int x) { return x; }
TG_FUNCTION long long tg_value(long long x) { return x; }
TG_FUNCTION long long tg_value(unsigned char x) { return x; }
template <class V> TG_FUNCTION void tg_put(float& to, V x) { to = (float)x; }
template <class V> TG_FUNCTION void tg_put(tg_f16& to, V x) { to.bits = tg_half_bits((float)x); }
template <class V> TG_FUNCTION void tg_put(tg_bf16& to, V x) { to.bits = tg_bf16_bits((float)x); }
template <class V> TG_FUNCTION void tg_put(int& to, V x) { to = (int)(long long)x; }
template <class V> TG_FUNCTION void tg_put(long long& to, V x) { to = (long long)x; }
template <class V> TG_FUNCTION void tg_put(unsigned char& to, V x) { to = x != 0; }

template <class T, int N> struct alignas(sizeof(T) * N) tg_pack { T v[N]; };
template <class T> TG_FUNCTION auto tg_load(const T* from) { return tg_value(*from); }
template <int N, class T> TG_FUNCTION tg_pack<T, N> tg_load_pack(const T* from, bool on) {
  tg_pack<T, N> pack = {};
  if (on) pack = *(const tg_pack<T, N>*)from;
  return pack;
}
template <class P> TG_FUNCTION auto tg_lane(const P& pack, int lane) { return tg_value(pack.v[lane]); }
template <class T, class V> TG_FUNCTION void tg_store(T* to, V x) { tg_put(*to, x); }
template <class T, class... V> TG_FUNCTION void tg_store_pack(T* to, V... x) {
  tg_pack<T, (int)sizeof...(V)> pack;
  int lane = 0;
  (tg_put(pack.v[lane++], x), ...);
  *(tg_pack<T, (int)sizeof...(V)>*)to = pack;
}

TG_FUNCTION float tg_add(float x, float y) { return x + y; }
TG_FUNCTION float tg_sub(float x, float y) { return x - y; }
TG_FUNCTION float tg_mul(float x, float y) { return x * y; }
TG_FUNCTION float tg_div(float x, float y) { return x / y; }
TG_FUNCTION float tg_maximum(float x, float y) { return x != x || x > y ? x : y; }
TG_FUNCTION float tg_minimum(float x, float y) { return x != x || x < y ? x : y; }
TG_FUNCTION float tg_pow(float x, float y) { return powf(x, y); }
TG_FUNCTION float tg_mod(float x, float y) { // x / y may round up to a whole number
  const float rest = fmodf(x, y);
  return rest != 0.0f && (rest < 0.0f) != (y < 0.0f) ? rest + y : rest;
}
TG_FUNCTION long long tg_less(float x, float y) { return x < y; }
TG_FUNCTION long long tg_less_equal(float x, float y) { return x <= y; }
TG_FUNCTION long long tg_equal(float x, float y) { return x == y; }
TG_FUNCTION long long tg_not_equal(float x, float y) { return x != y; }
TG_FUNCTION float tg_select(long long c, float x, float y) { return c ? x : y; }
TG_FUNCTION float tg_neg(float x) { return -x; }
TG_FUNCTION float tg_relu(float x) { return tg_maximum(x, 0.0f); }
TG_FUNCTION float tg_sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }
TG_FUNCTION float tg_tanh(float x) { return tanhf(x); }
TG_FUNCTION float tg_gelu(float x) { return 0.5f * x * erfcf(-0.707106781f * x); }
TG_FUNCTION float tg_exp(float x) { return expf(x); }
TG_FUNCTION float tg_sqrt(float x) { return sqrtf(x); }
TG_FUNCTION float tg_erf(float x) { return erff(x); }
TG_FUNCTION float tg_abs(float x) { return fabsf(x); }
TG_FUNCTION float tg_sign(float x) { return x > 0.0f ? 1.0f : x < 0.0f ? -1.0f : x != x ? x : 0.0f; }
TG_FUNCTION float tg_floor(float x) { return floorf(x); }
TG_FUNCTION float tg_round(float x) { return rintf(x); }
TG_FUNCTION float tg_log(float x) { return logf(x); }
TG_FUNCTION float tg_log1p(float x) { return log1pf(x); }
TG_FUNCTION float tg_expm1(float x) { return expm1f(x); }
TG_FUNCTION float tg_sin(float x) { return sinf(x); }
TG_FUNCTION float tg_cos(float x) { return cosf(x); }
TG_FUNCTION float tg_tan(float x) { return tanf(x); }
TG_FUNCTION float tg_asin(float x) { return asinf(x); }
TG_FUNCTION float tg_acos(float x) { return acosf(x); }
TG_FUNCTION float tg_atan(float x) { return atanf(x); }
TG_FUNCTION float tg_sinh(float x) { return sinhf(x); }
TG_FUNCTION float tg_cosh(float x) { return coshf(x); }
TG_FUNCTION float tg_asinh(float x) { return asinhf(x); }
TG_FUNCTION float tg_acosh(float x) { return acoshf(x); }
TG_FUNCTION float tg_atanh(float x) { return atanhf(x); }

TG_FUNCTION long long tg_add(long long x, long long y) { return (long long)((tg_unsigned)x + (tg_unsigned)y); }
TG_FUNCTION long long tg_sub(long long x, long long y) { return (long long)((tg_unsigned)x - (tg_unsigned)y); }
TG_FUNCTION long long tg_mul(long long x, long long y) { return (long long)((tg_unsigned)x * (tg_unsigned)y); }
TG_FUNCTION long long tg_neg(long long x) { return (long long)(0 - (tg_unsigned)x); }
TG_FUNCTION long long tg_div(long long x, long long y) {
  if (y == 0) return 0;
  if (y == -1) return tg_neg(x);
  return x / y - (x % y != 0 && (x < 0) != (y < 0));
}
TG_FUNCTION long long tg_mod(long long x, long long y) { return y == 0 ? 0 : tg_sub(x, tg_mul(tg_div(x, y), y)); }
TG_FUNCTION long long tg_maximum(long long x, long long y) { return x > y ? x : y; }
TG_FUNCTION long long tg_minimum(long long x, long long y) { return x < y ? x : y; }
TG_FUNCTION long long tg_less(long long x, long long y) { return x < y; }
TG_FUNCTION long long tg_less_equal(long long x, long long y) { return x <= y; }
TG_FUNCTION long long tg_equal(long long x, long long y) { return x == y; }
TG_FUNCTION long long tg_not_equal(long long x, long long y) { return x != y; }
TG_FUNCTION long long tg_logical_and(long long x, long long y) { return x && y; }
TG_FUNCTION long long tg_logical_or(long long x, long long y) { return x || y; }
TG_FUNCTION long long tg_logical_not(long long x) { return !x; }
TG_FUNCTION long long tg_select(long long c, long long x, long long y) { return c ? x : y; }
TG_FUNCTION long long tg_relu(long long x) { return x > 0 ? x : 0; }
TG_FUNCTION long long tg_abs(long long x) { return x < 0 ? tg_neg(x) : x; }
TG_FUNCTION long long tg_sign(long long x) { return (x > 0) - (x < 0); }
TG_FUNCTION long long tg_floor(long long x) { return x; }
TG_FUNCTION long long tg_round(long long x) { return x; }

TG_FUNCTION float tg_cast_f32(float x) { return x; }
TG_FUNCTION float tg_cast_f16(float x) { return tg_half_value(tg_half_bits(x)); }
TG_FUNCTION float tg_cast_bf16(float x) { return tg_bf16_value(tg_bf16_bits(x)); }
TG_FUNCTION long long tg_cast_bool(float x) { return x != 0.0f; }
TG_FUNCTION long long tg_cast_i32(float x) {
  return x != x ? 0 : x >= 2147483648.0f ? 2147483647 : x <= -2147483648.0f ? -2147483648LL : (long long)x;
}
TG_FUNCTION long long tg_cast_i64(float x) {
  const long long most = 9223372036854775807LL;
  return x != x ? 0 : x >= 9223372036854775808.0f ? most : x <= -9223372036854775808.0f ? -most - 1 : (long long)x;
}
TG_FUNCTION float tg_cast_f32(long long x) { return (float)x; }
TG_FUNCTION float tg_cast_f16(long long x) { return tg_cast_f16((float)x); }
TG_FUNCTION float tg_cast_bf16(long long x) { return tg_cast_bf16((float)x); }
TG_FUNCTION long long tg_cast_bool(long long x) { return x != 0; }
TG_FUNCTION long long tg_cast_i32(long long x) { return (int)x; }
TG_FUNCTION long long tg_cast_i64(long long x) { return x; }
#ifdef __CUDACC_RTC__
struct tg_row_add { template <class T> TG_FUNCTION T of(T x, T y) { return tg_add(x, y); } };
struct tg_row_maximum { template <class T> TG_FUNCTION T of(T x, T y) { return tg_maximum(x, y); } };
struct tg_row_minimum { template <class T> TG_FUNCTION T of(T x, T y) { return tg_minimum(x, y); } };
// Over the `width` neighbouring threads of a row, the result in each: shuffles within a warp, and
// for a row of several warps, which then has the block to itself, once more through shared memory.
template <class F, int width, class T> TG_FUNCTION T tg_row(T x) {
#pragma unroll
  for (int apart = 16; apart > 0; apart /= 2) x = F::of(x, __shfl_xor_sync(0xffffffffu, x, apart));
  if (width > 32) {
    __shared__ T parts[32];
    __syncthreads();
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = x;
    __syncthreads();
    x = parts[threadIdx.x % (width / 32)];
#pragma unroll
    for (int apart = width / 64; apart > 0; apart /= 2) x = F::of(x, __shfl_xor_sync(0xffffffffu, x, apart));
  }
  return x;
}
// Over the `count` threads of a block that lie `apart` from each other, the result in each; every
// thread of the block is one of them. Within a warp by shuffles where threads are as even as
// generate() makes them; lane l of every warp then sums up what warps l / apart, l / apart + groups,
// ... have found.
template <class F, int apart, int count, class T> TG_FUNCTION T tg_column(T x) {
  constexpr int threads = apart * count, warps = threads / 32, groups = 32 / (apart < 32 ? apart : 32);
  constexpr bool even = threads % 32 == 0 && 32 % apart == 0 && (count & (count - 1)) == 0;
  if constexpr (count == 1) {
  } else if constexpr (!even) {
    __shared__ T parts[threads];
    __syncthreads();
    parts[threadIdx.x] = x;
    __syncthreads();
    x = parts[threadIdx.x % apart];
    for (int i = 1; i < count; ++i) x = F::of(x, parts[threadIdx.x % apart + i * apart]);
  } else {
#pragma unroll
    for (int next = apart; next < 32; next *= 2) x = F::of(x, __shfl_xor_sync(0xffffffffu, x, next));
    if constexpr (warps > 1) {
      __shared__ T parts[warps * apart];
      const int lane = threadIdx.x % 32;
      __syncthreads();
      if (lane < apart) parts[threadIdx.x / 32 * apart + lane] = x;
      __syncthreads();
      x = parts[lane % (warps * apart)];
#pragma unroll
      for (int warp = groups; warp < warps; warp += groups) x = F::of(x, parts[warp * apart + lane]);
#pragma unroll
      for (int next = apart; next < 32 && next < warps * apart; next *= 2)
        x = F::of(x, __shfl_xor_sync(0xffffffffu, x, next));
    }
  }
  return x;
}
#endif
