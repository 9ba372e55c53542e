// Times operators on the GPU as they run inside a network: each in a captured graph, many copies
// after one another (graph_time.h). Hot: every copy on the same operands, which then lie in the
// second-level cache where they fit. Cold: copies with operands of their own, after a flush. A
// network whose bytes fit in that cache finds its operands hot, a larger one cold.
#pragma once

#include "runtime/cuda/executable.h"
#include "runtime/measure.h"

namespace tg::cuda {

class GraphStepTimer final : public StepTimer {
public:
  using Compile = std::function<Result<std::unique_ptr<CudaExecutable>>(const Plan& plan,
                                                                        const CompileOptions&)>;
  using Price = std::function<std::vector<Result<PlanPrice>>(
      llvm::ArrayRef<const Plan*> plans, const CompileOptions&, const GraphTiming&)>;
  GraphStepTimer(Compile compile, Price price, int64_t l2_bytes)
      : compile_(std::move(compile)), price_(std::move(price)), l2_bytes_(l2_bytes) {}

  std::vector<Result<StepTime>> time(llvm::ArrayRef<StepSpec> steps,
                                     const MeasureOptions& options) const override;
  std::vector<Result<PlanPrice>> price(llvm::ArrayRef<const Plan*> plans,
                                       const MeasureOptions& options) const override;
  /// "captured graph, hot"
  std::string conditions(const MeasureOptions& options) const override;

private:
  bool cold(const MeasureOptions& options) const;
  Result<StepTime> time_one(const StepSpec& step, const MeasureOptions& options) const;

  Compile compile_;
  Price price_;
  int64_t l2_bytes_;
};

/// A plan of so many copies of a step, none of which shares a value with another.
Plan copies_of_step(const StepSpec& step, int copies);

} // namespace tg::cuda
