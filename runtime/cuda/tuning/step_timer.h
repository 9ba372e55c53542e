// Times operators on the GPU as they run inside a network: several in a captured graph, many copies
// of each after one another (pricing.h). Hot: every copy on the same operands, which then lie in
// the second-level cache where they fit. Cold: copies with operands of their own, after a flush. A
// network whose bytes fit in that cache finds its operands hot, a larger one cold.
#pragma once

#include "runtime/cuda/tuning/pricing.h"
#include "runtime/measure/measure.h"

namespace tg::cuda {

/// Units that earlier plans have launched: groups keep their prices, operators are asked once, and
/// what is asked then is measured.
enum class KnownUnits : uint8_t { Use, Ignore };

class GraphStepTimer final : public StepTimer {
public:
  /// time_plans() on a device of its own.
  using Time = std::function<std::vector<Result<PlanTime>>(
      llvm::ArrayRef<const Plan*> plans, const CompileOptions&, const GraphTiming&, KnownUnits)>;
  GraphStepTimer(Time time, int64_t l2_bytes) : time_(std::move(time)), l2_bytes_(l2_bytes) {}

  std::vector<Result<StepTime>> time(llvm::ArrayRef<StepSpec> steps,
                                     const MeasureOptions& options) const override;
  std::vector<Result<PlanPrice>> price(llvm::ArrayRef<const Plan*> plans,
                                       const MeasureOptions& options) const override;
  /// "captured graph, hot"
  std::string conditions(const MeasureOptions& options) const override;

private:
  bool cold(const MeasureOptions& options) const;
  std::vector<Result<PlanTime>> time_plans(llvm::ArrayRef<const Plan*> plans,
                                           const MeasureOptions& options, KnownUnits known) const;

  Time time_;
  int64_t l2_bytes_;
};

/// The step alone: its operands are inputs, or weights, and its result is the output.
Plan plan_of_step(const StepSpec& step);

} // namespace tg::cuda
