// simd_impl.inc for AVX2 with FMA. Only simd.cpp refers to this table, after asking the processor.
#include "runtime/cpu/simd/simd.h"

#include <immintrin.h>

#pragma GCC target("avx2,fma,f16c")
#define TG_LANES 8
#include "runtime/cpu/simd/simd_vector.inc"

#define TG_SIMD_TABLE kSimdAvx2
#define TG_SIMD_NAME "avx2"
#include "runtime/cpu/simd/simd_table.inc"
