// A plan as it is run: rewritten for the libraries, which run some of its steps.
// Winograd convolutions become plain ones. With cuDNN, layouts are chosen and calls are planned;
// then products are assigned to cuBLASLt. Steps that a generated kernel runs faster
// than a library stay generated.
#pragma once

#include "runtime/backend.h"
#include "runtime/cuda/codegen/pull.h"
#include "runtime/cuda/cublas/matmul_tune.h"
#include "runtime/cuda/cudnn/steps.h"
#include "runtime/cuda/tuning/plan_db.h"

#include <map>

namespace tg::cuda {

/// The libraries that run steps, and their stored plans. Null:
/// without a library, its steps are generated; without stored plans,
/// they are measured at each load.
struct ExecutableLibraries {
  std::shared_ptr<const BlasLt> blas = {};
  std::shared_ptr<PlanDb> blas_plans = {};
  std::shared_ptr<const Cudnn> dnn = {};
  std::shared_ptr<PlanDb> dnn_plans = {};
};

class LibraryPlan {
public:
  LibraryPlan(const Plan& plan, ExecutableLibraries libraries)
      : plan_(plan), libraries_(std::move(libraries)) {}

  /// `generated`: times of the generated kernels that compete with a library's.
  void prepare(const CompileOptions& options, ScratchTimer& timer, const TimeGenerated& generated);

  const Plan& plan() const { return plan_; }
  /// Returns the number of a step in the original plan.
  PlanStepId origin(PlanStepId step) const { return origin_[step]; }
  /// The strides of values.
  StridesOf strides() const { return strides_of(plan_, channels_last_); }
  bool channels_last(PlanValueId id) const {
    return id < channels_last_.size() && channels_last_[id];
  }
  /// Returns the elements of a value in its device layout; empty if it is row-major.
  std::vector<std::byte> laid_out(PlanValueId value, const std::byte* from) const;
  /// The number of steps of a run that convert images to the other layout;
  /// nullopt if cuDNN chose none.
  std::optional<int> layout_conversions() const { return layout_conversions_; }

  /// For a product run by cuBLASLt.
  const std::optional<MatmulProblem>& problem_of(const PlanStep& step) const {
    return problems_[static_cast<size_t>(&step - plan_.steps.data())];
  }
  const MatmulChoice& product(const MatmulProblem& problem) const { return products_.at(problem); }
  /// For a step run by cuDNN; null for others.
  const DnnCall* call_of(const PlanStep& step) const {
    auto it = calls_.find(step.result);
    return it == calls_.end() ? nullptr : &it->second;
  }
  /// Returns the reason why a step is generated that a library might run; empty if there is none.
  llvm::StringRef why_generated(PlanValueId result) const;

  /// The largest workspace of a call.
  int64_t workspace_bytes() const { return workspace_bytes_; }
  /// The bytes of zeros that cuDNN reads in place of an absent bias.
  int64_t zero_bytes() const;
  /// The database of the times of generated kernels; null if there is none.
  PlanDb* timings() const {
    return (libraries_.dnn_plans ? libraries_.dnn_plans : libraries_.blas_plans).get();
  }

private:
  void prepare_convolutions(const CompileOptions& options, ScratchTimer& timer,
                            const TimeGenerated& generated);
  void prepare_products(const CompileOptions& options, ScratchTimer& timer,
                        const TimeGenerated& generated);
  void note_rivals(const MatmulTuner& tuner, bool allow_tf32);

  Plan plan_;
  ExecutableLibraries libraries_;   // must outlive the plans made from them
  std::vector<PlanStepId> origin_;  // of steps: their original numbers
  std::vector<bool> channels_last_; // of values; false for those beyond the end
  std::optional<int> layout_conversions_;
  std::vector<std::optional<MatmulProblem>> problems_; // of steps
  std::map<MatmulProblem, MatmulChoice> products_;
  std::map<PlanValueId, DnnCall> calls_;              // by the step's result
  std::map<PlanValueId, std::string> not_by_library_; // by the step's result: reason
  int64_t workspace_bytes_ = 0;
};

} // namespace tg::cuda
