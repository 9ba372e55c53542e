// The space of programs of an operator, for searches that draw from it:
// random programs, and small changes of fast programs. All programs pass `check`,
// respect the device's limits, and have the form in which the device distinguishes programs
// (Device::adapted).
#pragma once

#include "runtime/tune/device.h"

#include <random>

namespace tg::tune {

class ProgramSpace {
public:
  /// Programs are legal by the limits alone.
  ProgramSpace(const Operator& op, const DeviceLimits& limits, uint64_t seed);
  ProgramSpace(const Operator& op, const Device& device, uint64_t seed);

  /// Returns nullopt if many draws gave no legal program.
  std::optional<Program> random();
  /// Makes one to three changes: a prime factor moves to another level,
  /// or the unroll step or a vector length changes.
  std::optional<Program> mutated(const Program& program);
  /// Takes the factors of each loop from one of the two programs.
  std::optional<Program> crossed(const Program& a, const Program& b);
  /// Returns a random number below `count`.
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
