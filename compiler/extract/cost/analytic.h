// The analytic cost model: a roofline. The time of an operator is its launch time plus the longer
// of its arithmetic and its memory traffic. Each is counted at the share of the device's peak that
// operators of its kind reach. The model ranks graphs without a device; use measured costs to
// decide for a device. Source: Williams, Waterman, Patterson, "Roofline" (CACM 2009).
#pragma once

#include "compiler/extract/cost/cost.h"

#include <llvm/ADT/ArrayRef.h>

#include <memory>

namespace tg {

/// One row of the device table.
struct DeviceProfile {
  llvm::StringRef name;
  llvm::StringRef backend; // the backend that runs on it
  double f32_gflops;       // peak, without reduced-precision units
  double half_gflops;      // f16 and bf16, with matrix units if there are any
  double memory_gbs;       // main memory
  double cache_gbs;        // last-level cache, for data that fits there
  double cache_mb;         // size of the last-level cache
  double launch_us;        // the least time from one operator to the next
  llvm::StringRef source;
};

llvm::ArrayRef<DeviceProfile> device_profiles();
/// Returns the profile of that name, or null if there is none; "" names the processor's.
const DeviceProfile* find_device_profile(llvm::StringRef name);

/// The parts of operators' prices that add up when the operators run as one group.
struct Roofline {
  double compute_us = 0;
  double bytes = 0;
  double byte_share = 1; // reachable share of the bandwidth
};

class AnalyticCost : public CostModel {
public:
  /// `patterns`: the kernels of the device's backend that cover several operators.
  explicit AnalyticCost(const DeviceProfile& device, llvm::ArrayRef<KernelPattern> patterns = {})
      : device_(device), patterns_(patterns) {}
  std::string name() const override { return "analytic:" + device_.name.str(); }
  double price(const Symbols& symbols, const OpInstance& instance) override;
  llvm::ArrayRef<KernelPattern> patterns() const override { return patterns_; }

  /// Returns the roofline of one operator; price() is together() of it.
  Roofline roofline(const Symbols& symbols, const OpInstance& instance) const;
  /// Returns the time of a group that is launched at once, in microseconds.
  double together(const Roofline& work) const;

private:
  const DeviceProfile& device_;
  llvm::ArrayRef<KernelPattern> patterns_;
};

/// Errors: `usage` names the profiles that exist.
Result<std::unique_ptr<CostModel>> make_analytic_cost(llvm::StringRef profile,
                                                      llvm::ArrayRef<KernelPattern> patterns = {});

/// Returns true if the result is the operand with another shape or offset on every backend, so that
/// nothing is computed or copied.
bool is_view(const Symbols& symbols, const OpInstance& instance);

} // namespace tg
