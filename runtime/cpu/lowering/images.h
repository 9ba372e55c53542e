// Where the images of kernels of our own lie: they read and write pixels whose channels lie side by
// side.
#pragma once

#include "runtime/cpu/lowering/lowering.h"

namespace tg::cpu {

/// Strides of the image where it lies if its channels lie side by side, else those of a copy.
inline Shape image_strides(const Place& now) {
  return now.strides[1] == 1 || now.shape[1] == 1 ? now.strides : nhwc_strides(now.shape);
}
/// The image with these strides.
inline Result<Place> operand_image(Lowering& l, PlanValueId value) {
  return l.operand_as(value, image_strides(l.place(value)));
}
/// For a step with an operand "residual": the place of one that dies here, else a new one. The
/// residual is read where it lies.
inline Place result_image(Lowering& l, const PlanStep& step) {
  Shape strides = nhwc_strides(l.type(step.result).shape);
  PlanValueId residual = optional_operand(step, "residual");
  if (residual != kNoValue && step.in_place == residual)
    if (std::optional<Place> place = l.take_over(step, strides, false)) return *place;
  return l.new_image(step);
}

} // namespace tg::cpu
