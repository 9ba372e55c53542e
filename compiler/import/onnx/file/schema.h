// The messages of the ONNX format (onnx.proto), and their short name. The generated header is
// another's code: our warnings are not for it.
#pragma once

#pragma GCC system_header
#include "compiler/import/onnx/file/onnx.pb.h"

namespace tg::onnx {
namespace schema = ::tangram_onnx;
} // namespace tg::onnx
