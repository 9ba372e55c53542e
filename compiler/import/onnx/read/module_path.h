// In which module of its source a node stands, where the exporter notes that: PyTorch's newer one
// does, and calls values `val_12`.
#pragma once

#include "compiler/import/onnx/file/schema.h"

#include <string>

namespace tg::onnx {

/// `/encoder/layer.0/query`; "" if the file does not tell.
std::string module_path(const schema::Node& node);

} // namespace tg::onnx
