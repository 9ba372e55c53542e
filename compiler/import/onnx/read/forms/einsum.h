// Einsum: sums of products over named axes.
#pragma once

#include "compiler/import/onnx/read/call.h"

namespace tg::onnx {

void write_einsum(Call& call);

} // namespace tg::onnx
