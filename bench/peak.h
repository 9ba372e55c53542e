// Measures the processor's peak: multiply-adds on registers with the instruction set that the cpu
// backend's kernels use.
#pragma once

#include "runtime/cpu/simd/simd.h"

#include <llvm/ADT/StringRef.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

namespace tg {

using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Runs 24 chains of multiply-adds, enough to hide their latency on two units. Returns the flops of
/// the call.
template <int kLanes> [[gnu::always_inline]] inline double fma_chains(int64_t rounds, float* out) {
  typedef float Vec __attribute__((vector_size(kLanes * 4)));
  constexpr int kChains = kLanes == 16 ? 24 : 12;
  Vec sums[kChains], x = Vec{} + 0.999f, y = Vec{} + 0.001f;
  for (int i = 0; i < kChains; ++i) sums[i] = Vec{} + static_cast<float>(i);
  for (int64_t r = 0; r < rounds; ++r)
#pragma GCC unroll 24
    for (int i = 0; i < kChains; ++i) sums[i] = sums[i] * x + y;
  for (int i = 0; i < kChains; ++i) *out += sums[i][0];
  return 2.0 * kChains * kLanes * static_cast<double>(rounds);
}

#if defined(__x86_64__)
[[gnu::target("avx512f"), gnu::noinline]] inline double fma_avx512(int64_t rounds, float* out) {
  return fma_chains<16>(rounds, out);
}
[[gnu::target("avx2,fma"), gnu::noinline]] inline double fma_avx2(int64_t rounds, float* out) {
  return fma_chains<8>(rounds, out);
}
#endif
[[gnu::noinline]] inline double fma_base(int64_t rounds, float* out) {
  return fma_chains<4>(rounds, out);
}

/// Runs fma_chains with the instruction set of the kernels, which DNNL_MAX_CPU_ISA limits.
inline double fma(int64_t rounds, float* out) {
#if defined(__x86_64__)
  llvm::StringRef isa = cpu::simd().isa;
  if (isa == "avx512") return fma_avx512(rounds, out);
  if (isa == "avx2") return fma_avx2(rounds, out);
#endif
  return fma_base(rounds, out);
}

/// Runs several rounds of `work` on all threads at once. Returns the best rate: the sum of the
/// results of `work` per second.
template <class Work> double best_rate(int threads, Work work) {
  double best = 0;
  for (int round = 0; round < 7; ++round) {
    std::vector<std::thread> others;
    std::vector<double> done(static_cast<size_t>(threads));
    Clock::time_point start = Clock::now();
    for (int t = 1; t < threads; ++t) others.emplace_back([&, t] { done[t] = work(t); });
    done[0] = work(0);
    for (std::thread& other : others) other.join();
    double total = 0;
    for (double d : done) total += d;
    best = std::max(best, total / seconds_since(start));
  }
  return best;
}

inline double peak_flops(int threads) {
  std::vector<float> sinks(static_cast<size_t>(threads) * 16);
  return best_rate(threads, [&](int t) { return fma(2'000'000, &sinks[t * 16]); });
}

} // namespace tg
