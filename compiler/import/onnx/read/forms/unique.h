// Unique: the distinct elements or rows, padded to the largest possible number.
#pragma once

#include "compiler/import/onnx/read/call.h"

namespace tg::onnx {

void unique(Call& call);

} // namespace tg::onnx
