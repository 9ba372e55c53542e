// Operators of models that carry a state along the sequence instead of keys and values.
#pragma once

#include "compiler/import/onnx/read/call.h"

namespace tg::onnx {

void write_linear_attention(Call& call);
void write_causal_conv(Call& call);

} // namespace tg::onnx
