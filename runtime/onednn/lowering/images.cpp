#include "runtime/onednn/lowering/images.h"

namespace tg::cpu {

Shape image_strides(const Place& now) {
  return now.strides[1] == 1 || now.shape[1] == 1 ? now.strides : nhwc_strides(now.shape);
}

Result<Place> operand_image(Lowering& l, PlanValueId value) {
  return l.operand_as(value, image_strides(l.place(value)));
}

Place result_image(Lowering& l, const PlanStep& step) {
  Shape strides = nhwc_strides(l.type(step.result).shape);
  PlanValueId residual = optional_operand(step, "residual");
  if (residual != kNoValue && step.in_place == residual)
    if (std::optional<Place> place = l.take_over(step, strides, false)) return *place;
  return l.new_image(step);
}

} // namespace tg::cpu
