// The messages of the ONNX format (onnx.proto) under short names. The generated header is
// third-party code, so Tangram's warnings are disabled for it.
#pragma once

#pragma GCC system_header
#include "compiler/import/onnx/file/onnx.pb.h"

namespace tg::onnx {
namespace schema = ::tangram_onnx;
} // namespace tg::onnx
