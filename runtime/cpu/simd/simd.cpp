// Chooses the vector primitives for this processor.
#include "runtime/cpu/simd/simd.h"

#include "runtime/cpu/handles.h"

namespace tg::cpu {

IsaTables<SimdTable> simd_tables() { return isa_tables(kSimdAvx512, kSimdAvx2, kSimdBase); }

const SimdTable& simd() {
  static const SimdTable& best = best_of(simd_tables());
  return best;
}

} // namespace tg::cpu
