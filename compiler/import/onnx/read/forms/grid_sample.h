// GridSample and AffineGrid: images sampled at coordinates from a tensor.
#pragma once

#include "compiler/import/onnx/read/call.h"

namespace tg::onnx {

void grid_sample(Call& call);
void affine_grid(Call& call);

} // namespace tg::onnx
