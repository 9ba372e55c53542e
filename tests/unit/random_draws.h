// Random draws for tests, determined by a seed.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <random>
#include <vector>

namespace tg {

class RandomDraws {
public:
  explicit RandomDraws(uint64_t seed) : engine_(seed) {}

  int64_t in(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(engine_() % static_cast<uint64_t>(high - low + 1));
  }
  bool coin() { return in(0, 1) == 1; }
  /// Returns a multiple of 0.001 from -1 to 1.
  float number() { return static_cast<float>(in(-1000, 1000)) / 1000; }
  std::vector<float> floats(int64_t count) {
    std::vector<float> numbers(static_cast<size_t>(count));
    for (float& one : numbers) one = number();
    return numbers;
  }
  template <class T> T of(std::initializer_list<T> values) {
    return values.begin()[in(0, static_cast<int64_t>(values.size()) - 1)];
  }

private:
  std::mt19937_64 engine_;
};

} // namespace tg
