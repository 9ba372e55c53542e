// simd_impl.inc for AVX-512. Only simd.cpp refers to this table, after asking the processor.
#include "runtime/cpu/simd/simd.h"

#include <immintrin.h>

#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")
#define TG_LANES 16
#include "runtime/cpu/simd/simd_vector.inc"

#define TG_SIMD_TABLE kSimdAvx512
#define TG_SIMD_NAME "avx512"
#include "runtime/cpu/simd/simd_table.inc"
