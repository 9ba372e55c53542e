// Loops of our own kernels over the threads of the runtime's pool (runtime/thread_pool.h).
#pragma once

#include "runtime/thread_pool.h"

#include <algorithm>

namespace tg::cpu {

/// Runs work(begin, end, slot) over a partition of [0, count).
/// `slot` is below the number of threads, and no two calls with the same slot run at the same time.
template <class Work> void parallel_for(const Threads& threads, int64_t count, const Work& work) {
  int64_t chunks = std::min<int64_t>(count, threads.chunks());
  if (threads <= 1 || chunks <= 1) return work(int64_t{0}, count, 0);
  threads.run(chunks, [&](int64_t chunk, int slot) {
    work(count * chunk / chunks, count * (chunk + 1) / chunks, slot);
  });
}

/// Runs work(0) to work(count - 1) in parallel, in any order.
template <class Work> void parallel_parts(const Threads& threads, int count, const Work& work) {
  threads.run(count, [&](int64_t part, int) { work(static_cast<int>(part)); });
}

// Denormal numbers (f32 below 1.2e-38) slow many processors down by up to a hundred times.
// A network whose weights, constants or activations decay into them is slower than its prices,
// which are measured on plain numbers.
// The processor has a flag per thread for denormal operands; neither oneDNN nor this code clears
// it. The flag for denormal results is not a sign: an exponential of -1e9, which masks attention,
// raises it on the way to 0.

/// Returns true if the calling thread, or a loop that it ran, had a denormal operand since the last
/// call; false if the processor does not report it. Leaves other flags unchanged (nan_guard.h).
bool take_denormal_flag();

} // namespace tg::cpu
