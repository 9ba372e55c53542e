// The analytic cost model: a roofline. An operator takes the time to start it plus the longer of
// its arithmetic and its traffic, each at the share of the device's peak that operators of its kind
// reach. Good for ranking without a device; measured costs are for decisions on one.
// Source: Williams, Waterman, Patterson, "Roofline" (CACM 2009).
#pragma once

#include "compiler/extract/cost/cost.h"

#include <llvm/ADT/ArrayRef.h>

#include <memory>

namespace tg {

/// One row of the device table.
struct DeviceProfile {
  llvm::StringRef name;
  llvm::StringRef backend; // that runs on it
  double f32_gflops;       // peak, without reduced-precision units
  double half_gflops;      // f16 and bf16, with the matrix units where there are any
  double memory_gbs;       // main memory
  double cache_gbs;        // last-level cache, for what fits there
  double cache_mb;         // its size
  double launch_us;        // from one operator to the next, however small
  llvm::StringRef source;
};

llvm::ArrayRef<DeviceProfile> device_profiles();
/// "": the processor's. nullptr if there is none of that name.
const DeviceProfile* find_device_profile(llvm::StringRef name);

/// What of operators' prices is shared where they run as one.
struct Roofline {
  double compute_us = 0;
  double bytes = 0;
  double byte_share = 1; // of the bandwidth, that is reached
};

class AnalyticCost : public CostModel {
public:
  /// `patterns`: what the backend of that device does in one kernel.
  explicit AnalyticCost(const DeviceProfile& device, llvm::ArrayRef<KernelPattern> patterns = {})
      : device_(device), patterns_(patterns) {}
  std::string name() const override { return "analytic:" + device_.name.str(); }
  double price(const Symbols& symbols, const OpInstance& instance) override;
  llvm::ArrayRef<KernelPattern> patterns() const override { return patterns_; }

  /// Of one operator: price() is together() of it.
  Roofline roofline(const Symbols& symbols, const OpInstance& instance) const;
  /// Microseconds of what is launched at once.
  double together(const Roofline& work) const;

private:
  const DeviceProfile& device_;
  llvm::ArrayRef<KernelPattern> patterns_;
};

/// Errors: `usage` names the profiles that exist.
Result<std::unique_ptr<CostModel>> make_analytic_cost(llvm::StringRef profile,
                                                      llvm::ArrayRef<KernelPattern> patterns = {});

/// True if the result is the operand under another shape or offset, on any backend: no work at all.
bool is_view(const Symbols& symbols, const OpInstance& instance);

} // namespace tg
