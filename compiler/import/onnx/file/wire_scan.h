// A scan of an ONNX file's bytes before protobuf reads them. It walks model, graphs, nodes,
// attributes, functions and tensors and copies the fields that onnx.proto names. It replaces long
// `raw_data` of tensors by its place in the file (Tensor.place_begin, place_end). The result is the
// input of protobuf.
//
// The scan is stricter than protobuf, which reads a damaged file as a different one: a field must
// have the wire type of its schema, a singular field must occur once, and every length must end
// within the enclosing message. The open messages are a stack of limited depth.
#pragma once

#include "lang/core/result.h"

#include <llvm/ADT/StringRef.h>

#include <string>

namespace tg::onnx {

/// Raw data of up to this many bytes stays in the messages.
inline constexpr size_t kMaxInlineRawData = 256;
/// Limit on nested messages; a graph within a graph takes three.
inline constexpr int kMaxMessageDepth = 200;

/// Returns the file without raw data. Errors: `bad_data_file`, which names the message and the
/// byte. `name` is the file's name.
Result<std::string> without_raw_data(llvm::StringRef file, llvm::StringRef name);

} // namespace tg::onnx
