// Models with open sizes: parameters with a range (`S: int in 1..2048 = 128`) that no setting
// fixes, and dimensions that an ONNX file leaves open (onnx_sizes.h). The model is instantiated at
// any point of the ranges.
#pragma once

#include "compiler/api/files/model.h"
#include "compiler/ir/open_graph.h"

#include <mutex>

namespace tg {

/// Returns the first error, after warnings, of a sink that has one.
const Diagnostic& first_error(const DiagnosticSink& sink);

/// A model as a function of its open sizes. Without any, it is instantiated at the empty point. Any
/// number of threads may use one, each with its own sources and sink.
class OpenModel {
public:
  /// Reads a .tg or .onnx file. Errors of names are reported here, those of shapes by check() and
  /// at(). Returns nullopt if the sink got errors. `sources` must outlive the model.
  static std::optional<OpenModel> open(SourceManager& sources, llvm::StringRef path,
                                       ModelRequest request, DiagnosticSink& sink);
  /// The same for .tg text that is already in `sources`.
  static std::optional<OpenModel> open(SourceManager& sources, FileId file, ModelRequest request,
                                       DiagnosticSink& sink);

  llvm::ArrayRef<OpenSize> sizes() const { return sizes_; }
  bool is_open() const { return !sizes_.empty(); }
  /// Returns the sizes of a plain run.
  sizes::Point sample() const;
  /// Returns the request for the model at these sizes.
  ModelRequest request_at(llvm::ArrayRef<int64_t> point) const;

  /// Checks the shapes of a .tg model for all sizes in the ranges, as `tg check` does. Returns
  /// false if the sink got errors.
  bool check(DiagnosticSink& sink) const;
  /// Returns the model at these sizes, one for each of sizes(). Returns nullopt if the sink got
  /// errors, also for a size outside its range.
  /// `refused` receives every unsupported node of an ONNX file.
  std::optional<LoadedModel> at(llvm::ArrayRef<int64_t> point, DiagnosticSink& sink,
                                std::vector<onnx::Refusal>* refused = nullptr) const;
  /// The same, with the sizes in the first error, and for an ONNX file with advice.
  Result<LoadedModel> at(llvm::ArrayRef<int64_t> point) const;
  /// Says how to leave out sizes for which an ONNX file has no meaning, as at this point: the bound
  /// of a size, such as the rows of a table of positions, if one explains the failure.
  std::string advice(llvm::ArrayRef<int64_t> failed) const;

private:
  OpenModel(SourceManager& sources, std::string path, ModelRequest request)
      : sources_(&sources), path_(std::move(path)), request_(std::move(request)) {}
  static std::optional<OpenModel> of_file(OpenModel model, DiagnosticSink& sink);
  static std::optional<OpenModel> of_program(OpenModel model, Program program,
                                             DiagnosticSink& sink);

  SourceManager* sources_;
  std::string path_;
  ModelRequest request_;
  std::shared_ptr<const Program> program_;      // null for an .onnx file
  std::shared_ptr<const onnx::ModelFile> file_; // of an .onnx file
  /// For an .onnx file, whose import adds texts to the sources.
  std::shared_ptr<std::mutex> importing_ = std::make_shared<std::mutex>();
  std::vector<OpenSize> sizes_;
};

} // namespace tg
