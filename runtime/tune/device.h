// The tuner's view of a device: the limits that a program must satisfy,
// and an interface that measures programs. Backends implement it;
// the tests have one that computes times.
#pragma once

#include "runtime/tune/costs.h"

#include <llvm/ADT/StringMap.h>

#include <cmath>

namespace tg::tune {

/// Defaults: the Tesla P100 of the publication, which keeps the threads of a block below 1024.
struct DeviceLimits {
  int64_t threads_of_block = 1023;
  int64_t shared_elements = 48 * 1024 / 4;
  int64_t registers_of_thread = 255; // for the results of a thread
  int64_t blocks = (int64_t{1} << 31) - 1;
};

/// Returns the reason why a program cannot run; empty if it can.
/// Called before anything is measured.
std::string why_illegal(const Program& program, const Nest& nest, const DeviceLimits& limits);

class Device {
public:
  virtual ~Device() = default;
  virtual std::string name() const = 0;
  virtual DeviceLimits limits() const = 0;
  /// Returns the reason why the device cannot run a program; empty if it can.
  virtual std::string why_not(const Program& program, const Nest& nest) const {
    return why_illegal(program, nest, limits());
  }
  /// Returns the program in the form in which this device distinguishes programs:
  /// fields that it ignores get one fixed value, and unsupported values are replaced by near ones.
  /// Idempotent.
  virtual Program adapted(Program program) const { return program; }
  /// Returns the block shape that reuse tries for this number of points; empty: none.
  /// choose_threads does the same for threads.
  virtual Extents choose_block(const Operator&, const Nest& nest, int64_t points,
                               BlockCost& cost) const {
    return best_block(nest, points, cost);
  }
  virtual std::optional<ThreadShape> choose_threads(const Operator&, const Nest& nest,
                                                    const Extents& block, const Extents& fetched,
                                                    int64_t threads) const {
    return best_threads(nest, block, fetched, threads);
  }
  /// Returns the program nearest to the device's untuned implementation:
  /// likely a good program, and the start of searches. nullopt if unknown.
  virtual std::optional<Program> guess(const Operator&) const { return {}; }
  /// Returns a time that no program beats by much: a program that reaches it has nothing more
  /// to gain. 0: unknown.
  virtual double enough_us(const Operator&) const { return 0; }
  /// Returns true if the tuner must stop: no trials are made from then on.
  virtual bool stopped() const { return false; }
  /// Returns the microseconds of one run; nullopt if the program does not run.
  /// Both count as trials.
  virtual std::optional<double> measure(const Program& program) = 0;
};

/// A program and its time.
struct Measured {
  Program program;
  double microseconds = 0;
};

/// The programs of one operator that were tried on a device. Each is measured once;
/// illegal programs are never measured.
class Trials {
public:
  /// Ends after `most` trials, or, unless `to_the_end`, when a program reaches Device::enough_us.
  Trials(Device& device, const Operator& op, int64_t most = INT64_MAX, bool to_the_end = false)
      : device_(device), nest_(nest_of(op)), limits_(device.limits()), most_(most),
        enough_us_(to_the_end ? 0 : device.enough_us(op)) {}

  /// Registers a program that was measured before. It is not measured again,
  /// but counts as a trial when it is requested.
  void remember(std::optional<Measured> measured) { remembered_ = std::move(measured); }
  /// Returns the microseconds; nullopt if the program is illegal or did not run,
  /// or if no trial is left.
  std::optional<double> measure(const Program& program);

  const Nest& nest() const { return nest_; }
  const DeviceLimits& limits() const { return limits_; }
  const Device& device() const { return device_; }
  int64_t count() const { return count_; }
  int64_t filtered() const { return filtered_; }
  bool spent() const {
    return count_ >= most_ || has_enough() || out_of_patience() || device_.stopped();
  }
  /// Ends after this number of consecutive trials without a program at least a hundredth faster
  /// than all before; 0: never.
  void set_patience(int64_t patience) { patience_ = patience; }
  /// Returns true if there is nothing more to gain.
  bool has_enough() const { return best_us_ <= enough_us_; }
  /// Returns all programs that ran, in the order of the trials.
  const std::vector<Measured>& ran() const { return ran_; }
  /// Returns the fastest program, the first of equals; null if none ran.
  const Measured* best() const;
  /// Returns the fastest programs that ran, the earlier of equals first; at most 16.
  std::vector<Measured> ranking() const;

private:
  bool out_of_patience() const { return patience_ > 0 && count_ - last_gain_ >= patience_; }

  Device& device_;
  Nest nest_;
  DeviceLimits limits_;
  int64_t most_, count_ = 0, filtered_ = 0;
  int64_t patience_ = 0, last_gain_ = 0; // number of the last trial that was a gain
  double enough_us_, best_us_ = HUGE_VAL, gained_at_us_ = HUGE_VAL;
  llvm::StringMap<std::optional<double>> known_; // by text; only looked up, never iterated
  std::vector<Measured> ran_;
  std::optional<Measured> remembered_;
};

} // namespace tg::tune
