// Image layouts of our own kernels: they read and write pixels with adjacent channels.
#pragma once

#include "runtime/cpu/lowering/lowering.h"

namespace tg::cpu {

/// Returns the image's strides if its channels are adjacent, else those of a copy.
inline Shape image_strides(const Place& now) {
  return now.strides[1] == 1 || now.shape[1] == 1 ? now.strides : nhwc_strides(now.shape);
}
/// Returns the image with these strides.
inline Result<Place> operand_image(Lowering& l, PlanValueId value) {
  return l.operand_as(value, image_strides(l.place(value)));
}
/// For a step with an operand "residual": returns the place of a residual that dies here,
/// else a new one. The residual is read in place.
inline Place result_image(Lowering& l, const PlanStep& step) {
  Shape strides = nhwc_strides(l.type(step.result).shape);
  PlanValueId residual = optional_operand(step, "residual");
  if (residual != kNoValue && step.in_place == residual)
    if (std::optional<Place> place = l.take_over(step, strides, false)) return *place;
  return l.new_image(step);
}

} // namespace tg::cpu
