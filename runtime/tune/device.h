// What the tuner knows of a device: limits that a program must keep, and an interface that measures
// programs. Whoever has a device fills it; tests have one that computes times.
#pragma once

#include "runtime/tune/costs.h"

#include <llvm/ADT/StringMap.h>

#include <cmath>

namespace tg::tune {

/// Of the Tesla P100 of the publication, which keeps threads of a block below 1024.
struct DeviceLimits {
  int64_t threads_of_block = 1023;
  int64_t shared_elements = 48 * 1024 / 4;
  int64_t registers_of_thread = 255; // that results of a thread may take
  int64_t blocks = (int64_t{1} << 31) - 1;
};

/// Why a program cannot run, in words; empty if nothing speaks against it.
/// Asked before anything is measured.
std::string why_illegal(const Program& program, const Nest& nest, const DeviceLimits& limits);

class Device {
public:
  virtual ~Device() = default;
  virtual std::string name() const = 0;
  virtual DeviceLimits limits() const = 0;
  /// Why it cannot run a program, in words; empty if nothing speaks against it.
  virtual std::string why_not(const Program& program, const Nest& nest) const {
    return why_illegal(program, nest, limits());
  }
  /// The program as this device tells programs apart: what it does not look at has one value, what
  /// it cannot do is replaced by what comes near. Twice the same as once.
  virtual Program adapted(Program program) const { return program; }
  /// The shapes that reuse tries for so many points of a block, and threads of it; empty: none.
  virtual Extents choose_block(const Operator&, const Nest& nest, int64_t points,
                               BlockCost& cost) const {
    return best_block(nest, points, cost);
  }
  virtual std::optional<ThreadShape> choose_threads(const Operator&, const Nest& nest,
                                                    const Extents& block, const Extents& fetched,
                                                    int64_t threads) const {
    return best_threads(nest, block, fetched, threads);
  }
  /// The program that comes nearest to what the device would do untuned: likely a good one, and
  /// where searches begin. None: nobody can tell.
  virtual std::optional<Program> guess(const Operator&) const { return {}; }
  /// A time that no program undercuts by much:
  /// whoever reaches it has nothing more to gain. 0: not known.
  virtual double enough_us(const Operator&) const { return 0; }
  /// Whether to end: from then on there are no trials.
  virtual bool stopped() const { return false; }
  /// Microseconds of one run; nullopt where the program does not run. Both are trials.
  virtual std::optional<double> measure(const Program& program) = 0;
};

/// A program and what it takes.
struct Measured {
  Program program;
  double microseconds = 0;
};

/// The programs of one operator that were tried on a device. Each is measured once, and illegal
/// ones never are.
class Trials {
public:
  /// Until `most` were tried, or one takes no more than the device says is enough, or, where
  /// `to_the_end`, not for that.
  Trials(Device& device, const Operator& op, int64_t most = INT64_MAX, bool to_the_end = false)
      : device_(device), nest_(nest_of(op)), limits_(device.limits()), most_(most),
        enough_us_(to_the_end ? 0 : device.enough_us(op)) {}

  /// This one was measured before, and takes so long: it is not measured again, but a trial like
  /// any other when it is asked.
  void remember(std::optional<Measured> measured) { remembered_ = std::move(measured); }
  /// Microseconds; nullopt if it is illegal or did not run, or no trial is left.
  std::optional<double> measure(const Program& program);

  const Nest& nest() const { return nest_; }
  const DeviceLimits& limits() const { return limits_; }
  const Device& device() const { return device_; }
  int64_t count() const { return count_; }
  int64_t filtered() const { return filtered_; }
  bool spent() const { return count_ >= most_ || has_enough() || tired() || device_.stopped(); }
  /// Ends after so many in a row without one that is faster than all before by a hundredth; 0:
  /// never.
  void be_patient(int64_t patience) { patience_ = patience; }
  /// Whether there is nothing more to gain.
  bool has_enough() const { return best_us_ <= enough_us_; }
  /// All that ran, in the order of trying.
  const std::vector<Measured>& ran() const { return ran_; }
  /// The fastest, the first of equals; null if none ran.
  const Measured* best() const;
  /// The fastest of those that ran, first of equals first; at most 16.
  std::vector<Measured> ranking() const;

private:
  bool tired() const { return patience_ > 0 && count_ - last_gain_ >= patience_; }

  Device& device_;
  Nest nest_;
  DeviceLimits limits_;
  int64_t most_, count_ = 0, filtered_ = 0;
  int64_t patience_ = 0, last_gain_ = 0; // the trial that was one
  double enough_us_, best_us_ = HUGE_VAL, gained_at_us_ = HUGE_VAL;
  llvm::StringMap<std::optional<double>> known_; // by text; looked up, never iterated
  std::vector<Measured> ran_;
  std::optional<Measured> remembered_;
};

} // namespace tg::tune
