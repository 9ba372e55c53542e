// Chooses the vector primitives for this processor.
#include "runtime/onednn/simd/simd.h"

#include "runtime/onednn/handles.h"

namespace tg::cpu {

SimdTables simd_tables() {
  SimdTables found{};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
    found.tables[found.count++] = &kSimdAvx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    found.tables[found.count++] = &kSimdAvx2;
#endif
  found.tables[found.count++] = &kSimdBase;
  return found;
}

const SimdTable& simd() {
  static const SimdTable& best = best_of(simd_tables());
  return best;
}

} // namespace tg::cpu
