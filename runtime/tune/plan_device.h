// A device that runs the operators of a network's plan for which it has programs.
// `tg tune` needs this interface in addition to measuring programs. Backends implement it.
#pragma once

#include "runtime/tune/device.h"

namespace tg::tune {

/// An operator of a plan; operators with equal keys are the same.
struct PlanOperator {
  std::string key;                 // everything that its time depends on except the machine
  std::string name;                // for display
  std::optional<Operator> op = {}; // the operator to tune, perhaps rounded up
  std::string why_not = {};        // reason if there is none
  int64_t occurrences = 1;
  double flops = 0; // of one occurrence
};

/// The stored result for an operator.
struct KeptProgram {
  Measured best;
  double untuned_us = 0; // time of the untuned implementation, measured at the same time
  int64_t trials = 0;
  bool faster = false;  // than untuned, beyond the noise: worth using
  bool decided = true;  // there was enough time to decide
  bool cut_off = false; // the search ended early: the best so far, and another search continues
};

/// Time limit of a comparison. A comparison decides nothing in fewer than six rounds.
/// At least six rounds run; if the limit is strict, they do not run if they would exceed it.
struct CompareLimit {
  double most_us = 100'000;
  bool strict = false;
};

class PlanDevice : public Device {
public:
  virtual llvm::ArrayRef<PlanOperator> operators() const = 0;
  /// From here on, programs of that operator's `op` belong to this operator:
  /// others may be rounded up to the same `op`.
  virtual void begin(size_t op) = 0;
  /// Returns the fastest of some programs of the operator, run interleaved with the untuned
  /// implementation; nullopt if there are none. Requires legal programs.
  virtual std::optional<KeptProgram> compare(size_t op, llvm::ArrayRef<Program> programs,
                                             const CompareLimit& limit) = 0;
  /// Returns true if the program equals the untuned implementation of the operator.
  virtual bool is_untuned(size_t, const Program&) { return false; }
  /// Like enough_us, but for the speed of the device at this moment: clock rates of CPUs vary.
  virtual double enough_now_us(const Operator& op) { return enough_us(op); }
  /// The device's peak, per second.
  virtual double peak_flops() = 0;
  /// Returns the time of a library for the operator in this plan, in microseconds; 0: unknown.
  /// The first call runs the plan.
  virtual double library_us(size_t) { return 0; }

  /// Returns the result stored for an operator by earlier runs;
  /// nullopt if there is none or it is damaged.
  virtual std::optional<KeptProgram> kept(size_t op) = 0;
  virtual void keep(size_t op, const KeptProgram& found) = 0;
  /// Returns the best programs of all known operators, including those of other plans.
  virtual std::vector<Program> kept_programs() = 0;
  /// Messages for the user.
  virtual std::vector<std::string> notes() const { return {}; }
};

} // namespace tg::tune
