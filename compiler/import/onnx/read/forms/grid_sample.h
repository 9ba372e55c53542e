// GridSample and AffineGrid: images that are sampled where a tensor says.
#pragma once

#include "compiler/import/onnx/read/call.h"

namespace tg::onnx {

void grid_sample(Call& call);
void affine_grid(Call& call);

} // namespace tg::onnx
