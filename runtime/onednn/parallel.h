// Loops of our own kernels over the threads of OpenMP, which oneDNN uses too.
#pragma once

#include <cstdint>

namespace tg::cpu {

/// Runs work(begin, end, part) over a partition of [0, count) on so many threads, the caller being
/// one.
template <class Work> void parallel_for(int threads, int64_t count, const Work& work) {
  if (threads <= 1 || count <= 1) return work(int64_t{0}, count, 0);
  int parts = count < threads ? static_cast<int>(count) : threads;
#pragma omp parallel for num_threads(parts) schedule(static, 1)
  for (int i = 0; i < parts; ++i) work(count * i / parts, count * (i + 1) / parts, i);
}

/// work(0) to work(count - 1), shared out like that.
template <class Work> void parallel_parts(int threads, int count, const Work& work) {
  parallel_for(threads, count, [&](int64_t begin, int64_t end, int) {
    for (int64_t part = begin; part < end; ++part) work(static_cast<int>(part));
  });
}

/// Whether take() is true on one of so many threads; each asks once.
template <class Take> bool any_thread(int threads, const Take& take) {
  if (threads <= 1) return take();
  bool any = false;
#pragma omp parallel num_threads(threads) reduction(|| : any)
  any = take() || any;
  return any;
}

// Whether a run computes on denormal numbers (f32 below 1.2e-38). Many processors are slow on them,
// by up to a hundred times, so that weights, constants or activations that decay into them make a
// network slower than prices say, which are taken on plain numbers. The processor keeps a flag in
// each thread of an operand that was denormal; nothing in oneDNN or here clears it. Its flag of
// results that were is no sign: an exponential of -1e9, which masks attention, raises it on the way
// to 0.

/// Whether one of so many threads had a denormal operand since this was last asked; false where the
/// processor does not say. Other flags stay (nan_guard.h).
bool take_denormal_flag(int threads);

} // namespace tg::cpu
