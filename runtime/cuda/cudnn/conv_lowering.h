// Convolutions as this backend runs them, rewritten on the plan:
//
//   winograd_conv2d   becomes the convolution that it was made from: the library has transforms of
//                     its own, and takes them where they pay
//   activations       that cuDNN has no fast engine for are cut off, and fuse into the next
//                     generated kernel
#pragma once

#include "runtime/cuda/codegen/plan_edit.h"

#include <functional>

namespace tg::cuda {

/// Every winograd_conv2d whose weight is winograd_weight(w) becomes conv2d with w.
EditedPlan lower_winograd(const Plan& plan);

/// `cut` says of each convolution with an activation whether it becomes two steps.
EditedPlan cut_activations(const Plan& plan, const std::function<bool(const PlanStep&)>& cut);

/// Whether a plain loop over the terms of a convolution's sums may keep up with the library:
/// depthwise ones and their like.
bool has_few_terms(const Plan& plan, const PlanStep& convolution);

} // namespace tg::cuda
