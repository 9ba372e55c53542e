// Loads a path to a checked graph with its weights, and the library files it uses. All subcommands
// and the public API start here. Only this file determines the kind of a file by its extension.
#pragma once

#include "compiler/api/files/weight_file.h"
#include "compiler/ir/from_ast.h"

#include <functional>
#include <utility>

namespace tg {

/// A tensor that is given for an input.
struct InputTensor {
  std::string name;
  TensorType type;
  std::string file;
};

/// The model in a file, with compile-time parameters.
struct ModelRequest {
  std::string model;                                         // "" = the only one of the file
  std::vector<std::pair<std::string, std::string>> settings; // {"N", "8"}
  /// For an ONNX file: sizes of its inputs, and whether it will be exported again.
  onnx::ImportOptions onnx_options = {};
  /// The request also covers other files: settings that do not apply to a file are ignored.
  bool shared = false;
  /// Returns the tensors of a run. Called only for a model with ranges, whose sizes then follow
  /// from them (input_sizes.h); null: sizes that are not set have their defaults.
  std::function<Result<std::vector<InputTensor>>()> inputs = nullptr;
  /// Sizes that an .onnx file leaves open, and that follow from no input, have their samples
  /// (onnx_sizes.h). Otherwise they are an error.
  bool sample_sizes = false;
};

/// Operators of an ONNX file that the graph leaves out and that are restored on export, and the
/// original graph.
struct KeptOperators {
  onnx::KeptNodes nodes;
  onnx::FileFacts facts; // values are those of `source`
  Graph source;
  /// The file, if this version of Tangram wrote it, and it was read with its own sizes; null
  /// otherwise. A graph that is still `source` is written as this file.
  std::shared_ptr<const onnx::ModelFile> own_file = {};
  std::shared_ptr<const WeightFile> own_weights = {}; // the weights of own_file

  bool has_nodes() const { return !nodes.nodes.empty(); }
};

/// A model read from a file.
struct LoadedModel {
  Graph graph;
  /// Weights in the file itself; null for a .tg file.
  std::shared_ptr<const WeightFile> weights = {};
  /// Names of the values in the file, by node; empty for a .tg file.
  llvm::DenseMap<uint32_t, std::string> names{};
  int64_t ops = 0;                        // nodes in such a file
  std::vector<std::string> left_out = {}; // ignored by a shared request: "an input `x`"
  /// Data for exporting the graph as an ONNX file; null for other files.
  std::shared_ptr<const KeptOperators> kept = {};
  /// "LSTM `/rnn/LSTM`": nodes of such a file that should have been kept but had to be expanded.
  std::vector<std::string> written_out = {};
  /// Inputs whose type in such a file has fewer numbers than the one here.
  InputRanges ranges = {};
  /// "S in 1..2048": sizes with a range that the request did not set, so that the graph is for
  /// their default.
  std::vector<std::string> defaulted_sizes = {};
  /// Branches of an ONNX file that known conditions decided (import.h).
  std::vector<std::string> decisions = {};
};

/// Returns stdlib/ and rules/ as built into the program. Files in the folder of the environment
/// variable TANGRAM_LIBRARY take precedence, so that a library can be developed without a new
/// build.
const ModuleLoader& library();

/// Parses the settings. Errors: `usage` names the invalid text.
Result<ModelSettings> read_settings(const ModelRequest& request);

/// Checks names and instantiates a model of a parsed program. Returns nullopt if the sink got
/// errors.
std::optional<Graph> build_graph(const Program& program, const ModelRequest& request,
                                 DiagnosticSink& sink);

/// Reads, checks and instantiates a .tg or .onnx file. Returns nullopt if the sink got errors.
/// `refused` receives every unsupported node of an ONNX file.
std::optional<LoadedModel> load_model(SourceManager& sources, llvm::StringRef path,
                                      const ModelRequest& request, DiagnosticSink& sink,
                                      std::vector<onnx::Refusal>* refused = nullptr);
/// The same for text that is already in `sources`.
std::optional<Graph> load_model(SourceManager& sources, FileId file, const ModelRequest& request,
                                DiagnosticSink& sink);
/// The same for an .onnx file that was opened.
std::optional<LoadedModel> load_model(SourceManager& sources, llvm::StringRef path,
                                      std::shared_ptr<const onnx::ModelFile> file,
                                      const ModelRequest& request, DiagnosticSink& sink,
                                      std::vector<onnx::Refusal>* refused = nullptr);

/// Returns the model of an ONNX file that was opened, without reading elements of its weights: all
/// weights must be in `options.folded`. nullopt if the file cannot be imported.
std::optional<LoadedModel> model_without_elements(std::shared_ptr<const onnx::ModelFile> file,
                                                  const onnx::ImportOptions& options);

/// Returns the inputs of an .onnx file with unspecified sizes. Empty for other files, and for one
/// that cannot be read, which load_model() reports.
std::vector<std::string> open_inputs(llvm::StringRef path);

/// Loads only the graph.
std::optional<Graph> load_graph(SourceManager& sources, llvm::StringRef path,
                                const ModelRequest& request, DiagnosticSink& sink);

} // namespace tg
