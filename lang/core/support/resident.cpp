#include "lang/core/support/stop.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include <fcntl.h>
#include <malloc.h>
#include <unistd.h>

namespace tg {
namespace {

using Clock = std::chrono::steady_clock;

int64_t now_us() {
  return std::chrono::duration_cast<std::chrono::microseconds>(Clock::now().time_since_epoch())
      .count();
}

// A page fault takes about a microsecond, so memory grows little between two checks.
constexpr int64_t kBetweenLooksUs = 1'000, kBetweenTrimsUs = 50'000;

// One process-wide state. NOLINTBEGIN
std::atomic<int64_t> looked_us = 0, trimmed_us = 0;
std::atomic<uint64_t> seen_bytes = 0;
// NOLINTEND

uint64_t look() {
  uint64_t bytes = resident_bytes();
  seen_bytes.store(bytes, std::memory_order_relaxed);
  looked_us.store(now_us(), std::memory_order_relaxed);
  return bytes;
}

uint64_t recent_look() {
  bool recent = now_us() - looked_us.load(std::memory_order_relaxed) < kBetweenLooksUs;
  return recent ? seen_bytes.load(std::memory_order_relaxed) : look();
}

/// Runs on one thread at a time and not repeatedly at short intervals,
/// because it walks over all allocations.
uint64_t resident_after_trim() {
#ifdef __GLIBC__
  int64_t last = trimmed_us.load(std::memory_order_relaxed), now = now_us();
  if (now - last >= kBetweenTrimsUs && trimmed_us.compare_exchange_strong(last, now))
    malloc_trim(0);
#endif
  return look();
}

} // namespace

uint64_t resident_bytes() {
#ifdef __SANITIZE_ADDRESS__ // whose shadow and quarantine are not the program's
  return 0;
#else
  int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  char text[128] = {};
  ssize_t size = read(file, text, sizeof text - 1);
  close(file);
  if (size <= 0) return 0;
  char* at = text;
  std::strtoull(at, &at, 10); // all mapped memory
  return std::strtoull(at, nullptr, 10) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
#endif
}

bool MemoryCeiling::reached() {
  if (reached_.load(std::memory_order_relaxed)) return true;
  if (recent_look() < bytes_ || resident_after_trim() < bytes_) return false;
  reached_.store(true, std::memory_order_relaxed);
  return true;
}

} // namespace tg
