// Exports a graph and its weights as an ONNX file: computes everything that depends only on
// weights, and restores kept operators of the source's file. compiler/import/onnx writes the file.
#pragma once

#include "compiler/api/backends/prepare.h"
#include "compiler/api/files/open_model.h"
#include "compiler/optimizer/optimize.h"

namespace tg {

struct OnnxExport {
  int64_t ops = 0; // nodes of the file
  int opset = 0;
  uint64_t bytes = 0, external_bytes = 0; // total size, and size of the second file
  std::vector<std::string> notes;         // assumptions of the file
};

/// Returns the newest opset that a file may have for a requested `opset`; 0: no request.
int newest_opset(int opset);

/// `opset` 0: the usual one, or a newer one if kept operators need it. If a kept operator would
/// depend on itself, the source is exported instead, with a note. Errors: `unsupported`,
/// `cannot_write`, those of `prepare` and of the weight source.
Result<OnnxExport> export_onnx(const Graph& graph, const KeptOperators* kept,
                               const PrepareOptions& options, int opset, llvm::StringRef path);

/// Returns the graph in the form in which an ONNX file stores it. `kept` belongs to its source;
/// null if that is not an ONNX file. nullopt: it cannot be written.
std::optional<UsedForm> written_form(const Graph& graph, const KeptOperators* kept = nullptr);

/// Exports the graph made from a model that was read. Notes also name nodes of its file that could
/// not be kept.
Result<OnnxExport> export_onnx(const LoadedModel& source, const Graph& graph,
                               const PrepareOptions& options, int opset, llvm::StringRef path);

/// Returns the model to export at these sizes.
using ModelAt = llvm::function_ref<Result<LoadedModel>(llvm::ArrayRef<int64_t> point)>;

/// Exports a model with open sizes as one file for all of them: writes it in memory at several
/// sizes and joins the results (compiler/import/onnx/write/open_export.h). Before the file is kept,
/// it is read at further sizes and compared with the file for only these. `options` have the
/// weights of the model. Errors: those of export_onnx and `at`, and those of join_open.
Result<OnnxExport> export_open_onnx(llvm::ArrayRef<OpenSize> sizes, ModelAt at,
                                    const PrepareOptions& options, int opset, llvm::StringRef path);

} // namespace tg
