// The module of the source to which a node belongs. PyTorch's newer exporter, which names values
// `val_12`, records it.
#pragma once

#include "compiler/import/onnx/file/schema.h"

#include <string>

namespace tg::onnx {

/// Returns `/encoder/layer.0/query`; "" if the file does not record it.
std::string module_path(const schema::Node& node);

} // namespace tg::onnx
