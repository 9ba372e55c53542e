// Random numbers from a key and a counter, without state: element i of the stream of a key is the
// same whatever was drawn before, on every machine. The mixer is SplitMix64's finaliser (Steele,
// Lea and Flood 2014); a key is FNV-1a of its text, mixed with a seed.
#pragma once

#include <llvm/ADT/StringRef.h>

#include <cstdint>
#include <utility>

namespace tg {

class RandomStream {
public:
  /// The stream of a name under a seed; streams of different names are unrelated.
  RandomStream(uint64_t seed, llvm::StringRef name);

  uint64_t bits(uint64_t counter) const;
  /// In (0, 1), of 53 bits.
  double uniform(uint64_t counter) const;
  /// Mean 0, variance 1; element counter % 2 of its pair.
  double normal(uint64_t counter) const;
  /// Elements 2 * pair and 2 * pair + 1 of the normal stream, in one go (Box and Muller 1958).
  std::pair<double, double> normal_pair(uint64_t pair) const;

private:
  uint64_t key_;
};

} // namespace tg
