#include "lang/core/support/random.h"

#include <cmath>

namespace tg {

RandomStream::RandomStream(uint64_t seed, llvm::StringRef name) {
  uint64_t hash = 0xcbf29ce484222325;
  for (char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  key_ = mix(hash + mix(seed + kGolden));
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
