// Writes an exported model as a file in the wire format of protobuf. Protobuf serialises the nodes;
// the weights are written by hand, so that only one tensor is in memory at a time. If the file
// would exceed the limit of protobuf's readers (2 GB), its weights go to a second file next to it,
// aligned for mapping.
#pragma once

#include "compiler/import/onnx/write/export.h"

namespace tg::onnx {

/// Receives the elements of one tensor: row-major, little-endian.
using TakeElements = llvm::function_ref<Result<void>(llvm::StringRef bytes)>;
/// Passes the elements of a weight to `take`.
using ElementSource = llvm::function_ref<Result<void>(NodeId weight, TakeElements take)>;

/// The limit of protobuf's readers.
inline constexpr uint64_t kMostInOneFile = (uint64_t{1} << 31) - 1;

struct Written {
  uint64_t bytes = 0;          // of both files
  uint64_t external_bytes = 0; // of the second; 0: no second file
};

/// Writes `path`, and `path`.data if the model is larger than `most`, both under temporary names
/// that are renamed at the end. Errors: `cannot_write`, those of the source, `unsupported` for a
/// weight with indices that ONNX does not define.
Result<Written> write_model(const Exported& exported, llvm::StringRef path, ElementSource source,
                            uint64_t most = kMostInOneFile);

} // namespace tg::onnx
