// Random numbers from a key and a counter, without state: element i of the stream
// of a key does not depend on earlier draws or on the machine.
// The mixer is SplitMix64's finalizer (Steele, Lea and Flood 2014);
// a key is FNV-1a of its text, mixed with a seed.
#pragma once

#include <llvm/ADT/StringRef.h>

#include <cstdint>
#include <utility>

namespace tg {

class RandomStream {
public:
  /// The stream of a name under a seed; streams of different names are unrelated.
  RandomStream(uint64_t seed, llvm::StringRef name);

  uint64_t bits(uint64_t counter) const {
    return mix(key_ ^ mix((counter + 1) * kGolden)); // two rounds: both keys and counters avalanche
  }
  /// Uniform in (0, 1), with 53 bits.
  double uniform(uint64_t counter) const {
    return (static_cast<double>(bits(counter) >> 11) + 0.5) * 0x1p-53;
  }
  /// Normal with mean 0 and variance 1; element counter % 2 of its pair.
  double normal(uint64_t counter) const;
  /// Returns elements 2 * pair and 2 * pair + 1 of the normal stream together (Box
  /// and Muller 1958).
  std::pair<double, double> normal_pair(uint64_t pair) const;

private:
  static constexpr uint64_t kGolden = 0x9e3779b97f4a7c15; // 2^64 / golden ratio, of SplitMix64

  static uint64_t mix(uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
  }

  uint64_t key_;
};

} // namespace tg
