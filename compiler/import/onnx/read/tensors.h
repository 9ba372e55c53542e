// Converts tensors of the file to values: small tensors that may decide shapes become constants,
// the others weights, which stay in the file.
#pragma once

#include "compiler/import/onnx/read/call.h"

namespace tg::onnx {

/// The role of a tensor: the value of an operator `Constant`, an initializer of the graph, or an
/// initializer that is a weight whatever its size.
enum class TensorRole : uint8_t { Literal, Initializer, Weight };

/// Converts a tensor; `name` becomes the weight's path. Errors: those of ModelFile.
Result<FileValue> value_of_tensor(Emitter& emitter, const ModelFile& file,
                                  const schema::Tensor& tensor, llvm::StringRef name,
                                  TensorRole role);

} // namespace tg::onnx
