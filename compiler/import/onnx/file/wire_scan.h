// A scan of an ONNX file's bytes before protobuf reads them: it walks model, graphs, nodes,
// attributes, functions and tensors, copies the fields that onnx.proto names, and leaves out the
// `raw_data` of tensors where that is long, whose place in the file it writes instead
// (Tensor.place_begin, place_end). What it returns is what protobuf parses.
//
// Stricter than protobuf, which takes a damaged file for another one: a field has the wire type of
// its schema, a field that stands once stands once, and every length ends within what holds it. The
// open messages are a stack of bounded depth.
#pragma once

#include "lang/core/result.h"

#include <llvm/ADT/StringRef.h>

#include <string>

namespace tg::onnx {

/// Raw data up to so many bytes stays in the messages.
inline constexpr size_t kMaxInlineRawData = 256;
/// Messages within messages, of which a graph within a graph takes three.
inline constexpr int kMaxMessageDepth = 200;

/// Errors: `bad_data_file`, which names the message and the byte; `name` is the file's.
Result<std::string> without_raw_data(llvm::StringRef file, llvm::StringRef name);

} // namespace tg::onnx
