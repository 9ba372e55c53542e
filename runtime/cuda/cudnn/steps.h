// What an executable has cuDNN do, decided before anything else is placed: the plan rewritten for
// it (activations cut off, layouts chosen, conversions put in), and for each step that the library
// is to run its plan. Measured prices decide: of layouts by region, of library against generated
// kernel where the latter may win (convolutions of few terms, and of strict f32).
#pragma once

#include "runtime/cuda/codegen/layout.h"
#include "runtime/cuda/cudnn/problem.h"
#include "runtime/cuda/cudnn/tune.h"
#include "runtime/cuda/tuning/rivals.h"

namespace tg::cuda {

/// What a plan is rewritten by. Prices in microseconds.
struct DnnAnswers {
  /// Whether the library runs such a step (attention.h).
  std::function<bool(const Plan&, const PlanStep&)> takes_attention;
  /// Whether a convolution's activation is better done by another kernel.
  std::function<bool(const Plan&, const PlanStep&)> cuts_activation;
  /// Of a convolution with all its images in one layout; nullopt: the library lacks it.
  std::function<std::optional<double>(const Plan&, const PlanStep&, bool channels_last)>
      convolution;
  /// Of turning an image.
  std::function<double(const TensorType&)> conversion;
};
/// Attention as one step, activations cut off, layouts by region.
LaidOutPlan rewrite_for_dnn(const Plan& plan, const DnnAnswers& answers);

/// All images of a plan in one layout.
StridesOf all_images(const Plan& plan, bool channels_last);

/// A step that the library runs.
struct DnnCall {
  std::string text; // of its graph
  std::shared_ptr<const DnnPlan> plan;
  std::vector<PlanValueId> values; // of the graph's tensors: DnnProblem
};

class DnnSteps {
public:
  DnnSteps(DnnTuner& tuner, TimeGenerated generated)
      : tuner_(tuner), generated_(std::move(generated)) {}

  /// The plan that is to be run.
  LaidOutPlan prepare(const Plan& plan);
  /// Whether and how the library runs a step, which lies as `strides` say; `why` it does not, where
  /// it was asked.
  std::optional<DnnCall> call(const Plan& plan, const PlanStep& step, const StridesOf& strides,
                              std::string& why);

private:
  bool has_rival(const Plan& plan, const PlanStep& step, bool channels_last) const;
  std::optional<double> price(const Plan& plan, const PlanStep& step, bool channels_last);
  std::optional<double> price_in_layout(const Plan& plan, const PlanStep& step, bool channels_last);
  /// Microseconds of a step of the plan alone, by a generated kernel.
  std::optional<double> generated(const Plan& plan, const PlanStep& step, const StridesOf& strides);
  bool worth_cutting(const Plan& plan, const PlanStep& step);
  double conversion(const TensorType& type);
  /// Microseconds of the generated kernel where it is preferred to the library's.
  std::optional<double> rival(const Plan& plan, const PlanStep& step, const StridesOf& strides,
                              double library);

  DnnTuner& tuner_;
  TimeGenerated generated_;
  std::map<std::string, double> conversions_; // by type
};

} // namespace tg::cuda
