// A graph and its weights as an ONNX file: what depends on weights alone is computed now, what was
// kept of the source's file is put back, the rest is compiler/import/onnx's.
#pragma once

#include "compiler/api/backends/prepare.h"
#include "compiler/api/files/model.h"
#include "compiler/optimizer/optimize.h"

namespace tg {

struct OnnxExport {
  int64_t ops = 0; // nodes of the file
  int opset = 0;
  uint64_t bytes = 0, external_bytes = 0; // all, and of the second file
  std::vector<std::string> notes;         // what the file takes for granted
};

/// That a file may have of which `opset` is asked; 0: nothing is.
int newest_opset(int opset);

/// `opset` 0: the usual one, or a newer one that kept operators need. A graph in which one of these
/// waits for itself is left for their source, with a note. Errors: `unsupported`, `cannot_write`,
/// those of `prepare` and of the weight source.
Result<OnnxExport> export_onnx(const Graph& graph, const KeptOperators* kept,
                               const PrepareOptions& options, int opset, llvm::StringRef path);

/// The graph as an ONNX file says it. `kept`: of its source; null if that is not an ONNX file.
/// nullopt: it cannot be written.
std::optional<UsedForm> written_form(const Graph& graph, const KeptOperators* kept = nullptr);

/// True if both graphs become the same nodes and weights of an ONNX file, whatever their names:
/// operators with an activation, for example, are written as two.
bool written_alike(const Graph& a, const Graph& b, const KeptOperators* kept = nullptr);

/// What became of a model that was read.
/// Notes also name nodes of its file that could not be kept.
Result<OnnxExport> export_onnx(const LoadedModel& source, const Graph& graph,
                               const PrepareOptions& options, int opset, llvm::StringRef path);

} // namespace tg
