// The programs of one operator that our kernels run: legality, normal form,
// and the implementation of each program.
#pragma once

#include "runtime/cpu/tuning/runs.h"
#include "runtime/tune/device.h"

namespace tg::cpu {

/// The part of a key that states the number of threads.
inline std::string key_of_threads(int threads) { return " on " + std::to_string(threads) + ", x"; }

class OperatorPrograms {
public:
  virtual ~OperatorPrograms() = default;

  const tune::Operator& op() const { return op_; }
  int threads() const { return threads_; }
  /// Returns one line with everything that the operator's time depends on except the machine:
  /// the key of stored results.
  virtual std::string key() const = 0;
  /// For display.
  virtual std::string name() const = 0;
  virtual double flops() const = 0;

  /// As in tune::Device.
  virtual tune::Program adapted(tune::Program program) const = 0;
  virtual std::string why_not(const tune::Program& program) const = 0;
  virtual tune::Extents choose_block(const tune::Nest& nest, int64_t points,
                                     tune::BlockCost& cost) const = 0;
  virtual std::optional<tune::ThreadShape> choose_threads(const tune::Extents& block,
                                                          int64_t threads) const = 0;

  /// Returns a legal program near the untuned implementation; nullopt if that implementation's
  /// blocks cannot be expressed as a program.
  virtual std::optional<tune::Program> guess() const = 0;
  /// Returns true if the legal program equals the untuned implementation. Returns false if unknown.
  virtual bool is_untuned(const tune::Program&) const { return false; }
  /// Requires a legal program; null: the untuned implementation. Errors:
  /// `device` if there is no memory for code.
  virtual Result<std::unique_ptr<Implementation>> implementation(const tune::Program* program,
                                                                 Runs& runs) const = 0;

protected:
  OperatorPrograms(tune::Operator op, int threads) : op_(std::move(op)), threads_(threads) {}

private:
  tune::Operator op_;
  int threads_;
};

} // namespace tg::cpu
