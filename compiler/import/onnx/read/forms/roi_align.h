// RoiAlign (He et al. 2017, "Mask R-CNN", section 3): regions of images as images of one size.
#pragma once

#include "compiler/import/onnx/read/call.h"

namespace tg::onnx {

void roi_align(Call& call);

} // namespace tg::onnx
