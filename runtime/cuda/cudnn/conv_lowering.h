// Rewrites the convolutions of a plan for this backend:
//
//   winograd_conv2d   becomes the original convolution: the library has its own transforms and uses
//                     them where they are faster
//   activations       for which cuDNN has no fast engine are split off and fuse into the next
//                     generated kernel
#pragma once

#include "runtime/cuda/codegen/plan_edit.h"

#include <functional>

namespace tg::cuda {

/// Replaces every winograd_conv2d whose weight is winograd_weight(w) by conv2d with w.
EditedPlan lower_winograd(const Plan& plan);

/// `cut` decides for each convolution with an activation whether it becomes two steps.
EditedPlan cut_activations(const Plan& plan, const std::function<bool(const PlanStep&)>& cut);

/// Returns true if a plain loop over the terms of a convolution's sums may be as fast
/// as the library: depthwise convolutions and similar ones.
bool has_few_terms(const Plan& plan, const PlanStep& convolution);

} // namespace tg::cuda
