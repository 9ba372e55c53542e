// simd_impl.inc for the base instruction set. Only simd.cpp refers to this table, after asking the
// processor.
#include "runtime/cpu/simd/simd.h"

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

// The target is the compiler's default, such as SSE2 on x86-64.
#define TG_LANES 4
#include "runtime/cpu/simd/simd_vector.inc"

#define TG_SIMD_TABLE kSimdBase
#define TG_SIMD_NAME "base"
#include "runtime/cpu/simd/simd_table.inc"
