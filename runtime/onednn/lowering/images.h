// Where the images of kernels of our own lie: they read and write pixels whose channels lie side by
// side.
#pragma once

#include "runtime/onednn/lowering/lowering.h"

namespace tg::cpu {

/// Strides of the image where it lies if its channels lie side by side, else those of a copy.
Shape image_strides(const Place& now);
/// The image with these strides.
Result<Place> operand_image(Lowering& l, PlanValueId value);
/// For a step with an operand "residual": the place of one that dies here, else a new one. The
/// residual is read where it lies.
Place result_image(Lowering& l, const PlanStep& step);

} // namespace tg::cpu
