// From a path to a checked graph with its weights, and the library files on the way: what every
// subcommand and the public API begin with. Here alone the ending of a path decides what a file is.
#pragma once

#include "compiler/api/files/weight_file.h"
#include "compiler/ir/from_ast.h"

#include <utility>

namespace tg {

/// Which model, with which compile-time parameters.
struct ModelRequest {
  std::string model;                                         // "" = the only one of the file
  std::vector<std::pair<std::string, std::string>> settings; // {"N", "8"}
  /// Of an ONNX file: sizes of its inputs, and whether it is to become one again.
  onnx::ImportOptions onnx_options = {};
  /// The request is for other files, too: what a file has nothing for is left out.
  bool shared = false;
};

/// What a graph leaves out of its ONNX file, to be put back when it is written as one, and the
/// graph as it was read.
struct KeptOperators {
  onnx::KeptNodes nodes;
  onnx::FileFacts facts; // values are those of `source`
  Graph source;
  /// The file, if this version of Tangram wrote it, and it was read with its own sizes; null
  /// otherwise. A graph that is still `source` is written as this file.
  std::shared_ptr<const onnx::ModelFile> own_file = {};
  std::shared_ptr<const WeightFile> own_weights = {}; // of own_file

  bool has_nodes() const { return !nodes.nodes.empty(); }
};

/// A model from a file.
struct LoadedModel {
  Graph graph;
  /// Those that the file itself has; null for a .tg file.
  std::shared_ptr<const WeightFile> weights = {};
  /// What the file calls the values, by node, where it is not a .tg file.
  llvm::DenseMap<uint32_t, std::string> names{};
  int64_t ops = 0;                        // nodes of such a file
  std::vector<std::string> left_out = {}; // of a shared request: inputs, dimensions, parameters
  /// The facts that writing the graph as an ONNX file needs; null for other files.
  std::shared_ptr<const KeptOperators> kept = {};
  /// "LSTM `/rnn/LSTM`": nodes of such a file that were to be kept and could not be.
  std::vector<std::string> written_out = {};
  /// Inputs whose type in such a file has fewer numbers than the one here.
  InputRanges ranges = {};
};

/// stdlib/ and rules/ as built into the program; files below the folder that the environment
/// variable TANGRAM_LIBRARY names come first, so that a library can be worked on without a new
/// build.
const ModuleLoader& library();

/// The settings as values. Errors: `usage` names the text that is none.
Result<ModelSettings> read_settings(const ModelRequest& request);

/// Checks names and instantiates a model of a program that was read.
/// nullopt if the sink got errors.
std::optional<Graph> build_graph(const Program& program, const ModelRequest& request,
                                 DiagnosticSink& sink);

/// Reads a .tg or .onnx file; checks and instantiates. nullopt if the sink got errors. `refused`
/// gets every node of an ONNX file that has no form here.
std::optional<LoadedModel> load_model(SourceManager& sources, llvm::StringRef path,
                                      const ModelRequest& request, DiagnosticSink& sink,
                                      std::vector<onnx::Refusal>* refused = nullptr);
/// The same for text that is already in `sources`.
std::optional<Graph> load_model(SourceManager& sources, FileId file, const ModelRequest& request,
                                DiagnosticSink& sink);

/// The inputs of an .onnx file with sizes that it leaves open. Empty for other files, and for one
/// that cannot be read: load_model() reports why.
std::vector<std::string> open_inputs(llvm::StringRef path);

/// The graph alone.
std::optional<Graph> load_graph(SourceManager& sources, llvm::StringRef path,
                                const ModelRequest& request, DiagnosticSink& sink);

} // namespace tg
