// Unique: the elements or rows that differ, with as many places as there may be.
#pragma once

#include "compiler/import/onnx/read/call.h"

namespace tg::onnx {

void unique(Call& call);

} // namespace tg::onnx
