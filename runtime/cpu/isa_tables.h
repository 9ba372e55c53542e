// Tables of kernels that are compiled from one source for each instruction set,
// and the choice of those that this processor can run.
#pragma once

namespace tg::cpu {

/// Best first.
template <class Table> struct IsaTables {
  const Table* tables[3] = {};
  int count = 0;
};

template <class Table>
IsaTables<Table> isa_tables([[maybe_unused]] const Table& avx512,
                            [[maybe_unused]] const Table& avx2, const Table& base) {
  IsaTables<Table> found;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
    found.tables[found.count++] = &avx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    found.tables[found.count++] = &avx2;
#endif
  found.tables[found.count++] = &base;
  return found;
}

} // namespace tg::cpu
