// The space of programs of an operator, for searches that draw from it: random programs, and small
// changes of programs that did well. What is drawn keeps `check` and the device's limits, and is in
// the form that the device knows (Device::adapted).
#pragma once

#include "runtime/tune/device.h"

#include <random>

namespace tg::tune {

class ProgramSpace {
public:
  /// What is legal by limits alone.
  ProgramSpace(const Operator& op, const DeviceLimits& limits, uint64_t seed);
  ProgramSpace(const Operator& op, const Device& device, uint64_t seed);

  /// nullopt where no legal program was found in many draws.
  std::optional<Program> random();
  /// One to three changes: a prime factor moves to another level, another unroll step or vector.
  std::optional<Program> mutated(const Program& program);
  /// Each loop's factors from one of the two.
  std::optional<Program> crossed(const Program& a, const Program& b);
  /// Less than `count`.
  size_t below(size_t count) { return random_() % count; }

private:
  Program draw();
  void change(Program& program);
  int64_t random_divisor(int64_t number);
  bool is_legal(const Program& program) const {
    return (device_ ? device_->why_not(program, nest_) : why_illegal(program, nest_, limits_))
        .empty();
  }
  Program adapted(Program program) const {
    return device_ ? device_->adapted(std::move(program)) : program;
  }

  const Operator op_;
  const Nest nest_;
  const DeviceLimits limits_;
  const Device* device_ = nullptr;
  std::vector<Sketch> sketches_;
  std::mt19937_64 random_;
};

} // namespace tg::tune
