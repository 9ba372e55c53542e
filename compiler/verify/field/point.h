// The point of a check: the primes, and the keys of random functions and of leaves.
//
// All of it is derived from a digest (SHA-256) of the seed, of both models and of the point's
// number. So the same check gives the same answer, and the author of a model cannot know the primes
// before the model is written. Finding constants that are multiples of them takes as many trials as
// the bound says, even for a publicly known seed.
//
// The current point is a variable of the thread (`field_point`), since the definition of the
// operators takes no context. FieldScope sets it.
#pragma once

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/StringRef.h>

#include <array>
#include <cstdint>
#include <functional>

namespace tg {

inline constexpr int kFieldLanes = 4;
inline constexpr int kPrimeBits = 51;     // primes are above 2^50 and below 2^51
inline constexpr double kLog2Primes = 44; // log2 of a lower bound on their number
inline constexpr double kSmallestPrime = 0x1p50;

/// The product of two 64-bit factors.
__extension__ using WideProduct = unsigned __int128;

struct FieldPoint {
  uint64_t prime[kFieldLanes] = {};
  uint64_t inverse[kFieldLanes] = {}; // of the prime, modulo 2^64
  uint64_t one[kFieldLanes] = {};     // 2^64, which is 1 in Montgomery form
  uint64_t square[kFieldLanes] = {};  // 2^128, the factor that converts to the form
  uint64_t key[2] = {};
  int threads = 1;                             // for products
  const std::function<bool()>* stop = nullptr; // polled within products
  /// True after a division by a value that is zero modulo only some of the primes.
  bool spoilt = false;

  /// Returns sum / 2^64 modulo a prime, for sums below prime * 2^64.
  constexpr uint64_t reduced(WideProduct sum, int lane) const {
    uint64_t p = prime[lane], m = static_cast<uint64_t>(sum) * inverse[lane];
    auto high = static_cast<uint64_t>(sum >> 64);
    auto less = static_cast<uint64_t>((static_cast<WideProduct>(m) * p) >> 64);
    return high - less + (high < less ? p : 0);
  }
  /// Maps 64 bits uniformly to 1 .. prime - 1; the high bits matter most.
  constexpr uint64_t scaled(uint64_t bits, int lane) const {
    return static_cast<uint64_t>((static_cast<WideProduct>(bits) * (prime[lane] - 1)) >> 64) + 1;
  }
  bool stop_requested() const { return stop && *stop && (*stop)(); }
};

using Digest = std::array<uint64_t, 4>;

/// SHA-256.
Digest digest_of(llvm::ArrayRef<llvm::StringRef> parts);

/// Draws the point of this number; each attempt gives another one.
FieldPoint draw_point(const Digest& digest, uint64_t number, uint64_t attempt = 0);

/// Returns true for primes. Deterministic, for n below 2^61 (Jaeschke 1993; Jiang and Deng 2014).
bool is_prime(uint64_t n);

/// The point of this thread; without a scope it is a fixed one.
extern constinit thread_local FieldPoint field_point;

class FieldScope {
public:
  explicit FieldScope(const FieldPoint& point) : before_(field_point) { field_point = point; }
  ~FieldScope() { field_point = before_; }
  FieldScope(const FieldScope&) = delete;
  FieldScope& operator=(const FieldScope&) = delete;

private:
  FieldPoint before_;
};

} // namespace tg
