// An exported model as a file: the wire format of protobuf, in which the nodes are serialised by
// protobuf and the weights by hand, so that no more than one tensor is held at a time. A file
// beyond what protobuf reads (2 GB) has its weights in a second file beside it, aligned to be
// mapped.
#pragma once

#include "compiler/import/onnx/write/export.h"

namespace tg::onnx {

/// Takes the elements of one tensor: row-major, little-endian.
using TakeElements = llvm::function_ref<Result<void>(llvm::StringRef bytes)>;
/// Hands the elements of a weight to `take`.
using ElementSource = llvm::function_ref<Result<void>(NodeId weight, TakeElements take)>;

/// What protobuf's readers take at most.
inline constexpr uint64_t kMostInOneFile = (uint64_t{1} << 31) - 1;

struct Written {
  uint64_t bytes = 0;          // of both files
  uint64_t external_bytes = 0; // of the second; 0: there is none
};

/// Writes `path`, and `path`.data where the model is larger than `most`; both under temporary names
/// that are renamed at the end. Errors: `cannot_write`, those of the source, `unsupported` for a
/// weight whose elements are indices that ONNX says nothing of.
Result<Written> write_model(const Exported& exported, llvm::StringRef path, ElementSource source,
                            uint64_t most = kMostInOneFile);

} // namespace tg::onnx
