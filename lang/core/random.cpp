#include "lang/core/random.h"

#include <cmath>

namespace tg {

namespace {

constexpr uint64_t kGolden = 0x9e3779b97f4a7c15; // 2^64 / golden ratio, SplitMix64's increment

uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

} // namespace

RandomStream::RandomStream(uint64_t seed, llvm::StringRef name) {
  uint64_t hash = 0xcbf29ce484222325;
  for (char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  key_ = mix(hash + mix(seed + kGolden));
}

uint64_t RandomStream::bits(uint64_t counter) const {
  return mix(key_ ^ mix((counter + 1) * kGolden)); // two rounds: keys and counters both avalanche
}

double RandomStream::uniform(uint64_t counter) const {
  return (static_cast<double>(bits(counter) >> 11) + 0.5) * 0x1p-53;
}

double RandomStream::normal(uint64_t counter) const {
  auto [even, odd] = normal_pair(counter / 2);
  return counter % 2 == 0 ? even : odd;
}

std::pair<double, double> RandomStream::normal_pair(uint64_t pair) const {
  constexpr double kTwoPi = 6.283185307179586;
  double radius = std::sqrt(-2 * std::log(uniform(2 * pair)));
  double angle = kTwoPi * uniform(2 * pair + 1);
  return {radius * std::cos(angle), radius * std::sin(angle)};
}

} // namespace tg
