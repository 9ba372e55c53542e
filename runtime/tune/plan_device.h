// A device that runs the operators of a network's plan, as far as it has programs for them: what
// `tg tune` needs of one beside measuring programs. Whoever has a backend fills it.
#pragma once

#include "runtime/tune/device.h"

namespace tg::tune {

/// An operator of a plan; operators of one key are one.
struct PlanOperator {
  std::string key;                 // all that its time depends on but the machine
  std::string name;                // for people
  std::optional<Operator> op = {}; // what of it is tuned, perhaps rounded up
  std::string why_not = {};        // none: why
  int64_t occurrences = 1;
  double flops = 0; // of one
};

/// What was found for an operator.
struct KeptProgram {
  Measured best;
  double untuned_us = 0; // what the runtime takes without it, at the same time
  int64_t trials = 0;
  bool faster = false;  // than untuned, beyond the noise: worth using
  bool decided = true;  // there was time enough to tell
  bool cut_off = false; // its search ended early: the best so far, and another one goes on
};

/// How long a comparison may take. At least six rounds, without which nothing is decided, or, where
/// it is strict, none.
struct CompareLimit {
  double most_us = 100'000;
  bool strict = false;
};

class PlanDevice : public Device {
public:
  virtual llvm::ArrayRef<PlanOperator> operators() const = 0;
  /// Programs of that operator's `op` are from here on of this one:
  /// others may be rounded up to the same.
  virtual void begin(size_t op) = 0;
  /// The fastest of some programs of the operator, run interleaved with the untuned way. Requires
  /// that they are legal; nullopt if there are none.
  virtual std::optional<KeptProgram> compare(size_t op, llvm::ArrayRef<Program> programs,
                                             const CompareLimit& limit) = 0;
  /// Whether the program is what the operator does untuned.
  virtual bool is_untuned(size_t, const Program&) { return false; }
  /// As enough_us, by what the device reaches at this moment: clocks of processors rise and fall.
  virtual double enough_now_us(const Operator& op) { return enough_us(op); }
  /// Of the device, in one second.
  virtual double peak_flops() = 0;
  /// What a library takes for the operator in this plan, in microseconds; 0: not known. The first
  /// call runs the plan.
  virtual double library_us(size_t) { return 0; }

  /// What is known of an operator from earlier runs; nullopt also where that is damaged.
  virtual std::optional<KeptProgram> kept(size_t op) = 0;
  virtual void keep(size_t op, const KeptProgram& found) = 0;
  /// The best programs of all operators that are known, of other plans, too.
  virtual std::vector<Program> kept_programs() = 0;
  /// What a user should know.
  virtual std::vector<std::string> notes() const { return {}; }
};

} // namespace tg::tune
