// A graph and its weights as an ONNX file: what depends on weights alone is computed now, the rest
// is compiler/import/onnx's.
#pragma once

#include "compiler/driver/files/model.h"
#include "compiler/driver/runs/prepare.h"

namespace tg {

struct OnnxExport {
  int64_t ops = 0; // nodes of the file
  int opset = 0;
  uint64_t bytes = 0, external_bytes = 0; // all, and of the second file
  std::vector<std::string> notes;         // what the file takes for granted
};

/// Errors: `unsupported`, `cannot_write`, those of `prepare` and of the weight source.
Result<OnnxExport> export_onnx(const Graph& graph, const PrepareOptions& options, int opset,
                               llvm::StringRef path);

/// What became of a model that was read. Notes also tell of recurrent nodes of its file, which are
/// written step by step.
Result<OnnxExport> export_onnx(const LoadedModel& source, const Graph& graph,
                               const PrepareOptions& options, int opset, llvm::StringRef path);

} // namespace tg
