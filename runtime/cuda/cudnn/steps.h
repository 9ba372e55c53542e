// The steps of an executable that cuDNN runs, decided before everything else:
// the plan rewritten for the library (activations split off, layouts chosen, conversions inserted),
// and a library plan for each of these steps.
// Measured prices decide: layouts by region, and library or generated kernel
// where the latter may be faster (convolutions of few terms, and in strict f32).
#pragma once

#include "runtime/cuda/codegen/layout.h"
#include "runtime/cuda/cudnn/problem.h"
#include "runtime/cuda/cudnn/tune.h"
#include "runtime/cuda/tuning/rivals.h"

namespace tg::cuda {

/// The functions that decide the rewriting of a plan. Prices are in microseconds.
struct DnnAnswers {
  /// Returns true if the library runs such a step (attention.h).
  std::function<bool(const Plan&, const PlanStep&)> takes_attention;
  /// Returns true if another kernel should compute a convolution's activation.
  std::function<bool(const Plan&, const PlanStep&)> cuts_activation;
  /// The price of a convolution with all its images in one layout; nullopt:
  /// not supported by the library.
  std::function<std::optional<double>(const Plan&, const PlanStep&, bool channels_last)>
      convolution;
  /// The price of converting an image.
  std::function<double(const TensorType&)> conversion;
};
/// Fuses attention into one step, splits off activations, and chooses layouts by region.
PlanWithLayouts rewrite_for_dnn(const Plan& plan, const DnnAnswers& answers);

/// Returns strides with all images of a plan in one layout.
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

  /// Returns the plan that is to be run.
  PlanWithLayouts prepare(const Plan& plan);
  /// Returns the call by which the library runs a step whose values have these strides;
  /// `why` is the reason if it was considered and does not.
  std::optional<DnnCall> call(const Plan& plan, const PlanStep& step, const StridesOf& strides,
                              std::string& why);

private:
  bool has_rival(const Plan& plan, const PlanStep& step, bool channels_last) const;
  std::optional<double> price(const Plan& plan, const PlanStep& step, bool channels_last);
  std::optional<double> price_in_layout(const Plan& plan, const PlanStep& step, bool channels_last);
  /// Returns the microseconds of a generated kernel for a step of the plan alone.
  std::optional<double> generated(const Plan& plan, const PlanStep& step, const StridesOf& strides);
  bool worth_cutting(const Plan& plan, const PlanStep& step);
  double conversion(const TensorType& type);
  /// Returns the microseconds of the generated kernel if it is preferred to the library's.
  std::optional<double> rival(const Plan& plan, const PlanStep& step, const StridesOf& strides,
                              double library);

  DnnTuner& tuner_;
  TimeGenerated generated_;
  std::map<std::string, double> conversions_; // by type
};

} // namespace tg::cuda
