// The programs of one operator that kernels of our own run: what is legal, in which form, and which
// way to compute the operator a program means.
#pragma once

#include "runtime/cpu/tuning/runs.h"
#include "runtime/tune/device.h"

namespace tg::cpu {

/// What keys say of threads, and of no other number of them.
inline std::string key_of_threads(int threads) { return " on " + std::to_string(threads) + ", x"; }

class OperatorPrograms {
public:
  virtual ~OperatorPrograms() = default;

  const tune::Operator& op() const { return op_; }
  int threads() const { return threads_; }
  /// On a line, with all that its time depends on but the machine: what is kept of it is kept under
  /// this.
  virtual std::string key() const = 0;
  /// For people.
  virtual std::string name() const = 0;
  virtual double flops() const = 0;

  /// As tune::Device has them.
  virtual tune::Program adapted(tune::Program program) const = 0;
  virtual std::string why_not(const tune::Program& program) const = 0;
  virtual tune::Extents choose_block(const tune::Nest& nest, int64_t points,
                                     tune::BlockCost& cost) const = 0;
  virtual std::optional<tune::ThreadShape> choose_threads(const tune::Extents& block,
                                                          int64_t threads) const = 0;

  /// A legal one near to what the runtime does where nothing was tuned; none: its blocks are no
  /// program's.
  virtual std::optional<tune::Program> guess() const = 0;
  /// Whether the program, against which nothing speaks, is what the runtime does where nothing was
  /// tuned. False where that is not known.
  virtual bool is_untuned(const tune::Program&) const { return false; }
  /// Requires that nothing speaks against the program; null: what the runtime does where nothing
  /// was tuned. Errors: `device` where there is no memory for code.
  virtual Result<std::unique_ptr<Way>> way(const tune::Program* program, Runs& runs) const = 0;

protected:
  OperatorPrograms(tune::Operator op, int threads) : op_(std::move(op)), threads_(threads) {}

private:
  tune::Operator op_;
  int threads_;
};

} // namespace tg::cpu
