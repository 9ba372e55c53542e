// A plan as it is run: rewritten for the libraries, which lie under some of its steps. Winograd's
// convolutions become plain ones; with cuDNN, layouts are chosen and calls planned; then products
// become cuBLASLt's. What a library could run and a generated kernel does faster stays generated.
#pragma once

#include "runtime/backend.h"
#include "runtime/cuda/codegen/pull.h"
#include "runtime/cuda/cublas/matmul_tune.h"
#include "runtime/cuda/cudnn/steps.h"
#include "runtime/cuda/tuning/plan_db.h"

#include <map>

namespace tg::cuda {

/// Libraries that run steps, and the plans kept for them. Null: what is not there is generated, or
/// measured at each load.
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

  /// `generated`: what kernels take that stand against a library's.
  void prepare(const CompileOptions& options, ScratchTimer& timer, const TimeGenerated& generated);

  const Plan& plan() const { return plan_; }
  /// Which step of the plan as it was given one is.
  PlanStepId origin(PlanStepId step) const { return origin_[step]; }
  /// How values lie.
  StridesOf strides() const { return strides_of(plan_, channels_last_); }
  bool channels_last(PlanValueId id) const {
    return id < channels_last_.size() && channels_last_[id];
  }
  /// The elements of a value as it lies on the device; empty where it lies plainly.
  std::vector<std::byte> laid_out(PlanValueId value, const std::byte* from) const;
  /// Steps of a run that turn images into the other layout; nothing where cuDNN chose none.
  std::optional<int> layout_conversions() const { return layout_conversions_; }

  /// Of a product by cuBLASLt.
  const std::optional<MatmulProblem>& problem_of(const PlanStep& step) const {
    return problems_[static_cast<size_t>(&step - plan_.steps.data())];
  }
  const MatmulChoice& product(const MatmulProblem& problem) const { return products_.at(problem); }
  /// Of a step by cuDNN; null for others.
  const DnnCall* call_of(const PlanStep& step) const {
    auto it = calls_.find(step.result);
    return it == calls_.end() ? nullptr : &it->second;
  }
  /// Why a step is generated that a library might run; empty where there is nothing to say.
  llvm::StringRef why_generated(PlanValueId result) const;

  /// The most that a call needs.
  int64_t workspace_bytes() const { return workspace_bytes_; }
  /// Bytes of zeros that cuDNN reads in place of a bias that there is not.
  int64_t zero_bytes() const;
  /// Where times of generated kernels are kept; null if nowhere.
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
  ExecutableLibraries libraries_;   // outlive the plans that they made
  std::vector<PlanStepId> origin_;  // of steps: which they were
  std::vector<bool> channels_last_; // of values; of those beyond it false
  std::optional<int> layout_conversions_;
  std::vector<std::optional<MatmulProblem>> problems_; // of steps
  std::map<MatmulProblem, MatmulChoice> products_;
  std::map<PlanValueId, DnnCall> calls_;              // by the step's result
  std::map<PlanValueId, std::string> not_by_library_; // by the step's result: why
  int64_t workspace_bytes_ = 0;
};

} // namespace tg::cuda
