// From a path to a checked graph, and the library files on the way: what every subcommand and the
// public API begin with.
#pragma once

#include "compiler/ir/from_ast.h"

#include <utility>

namespace tg {

/// Which model, with which compile-time parameters.
struct ModelRequest {
  std::string model;                                         // "" = the only one of the file
  std::vector<std::pair<std::string, std::string>> settings; // {"N", "8"}
};

/// stdlib/ and rules/ as built into the program; files below the folder that the environment
/// variable TANGRAM_LIBRARY names come first, so that a library can be worked on without a new
/// build.
const ModuleLoader& library();

/// The settings as values. Errors: `usage` names the text that is none.
Result<ModelSettings> read_settings(const ModelRequest& request);

/// Checks names and instantiates a model of a program that was read. nullopt if the sink got
/// errors.
std::optional<Graph> build_graph(const Program& program, const ModelRequest& request,
                                 DiagnosticSink& sink);

/// Reads, checks and instantiates. nullopt if the sink got errors.
std::optional<Graph> load_model(SourceManager& sources, llvm::StringRef path,
                                const ModelRequest& request, DiagnosticSink& sink);
/// The same for text that is already in `sources`.
std::optional<Graph> load_model(SourceManager& sources, FileId file, const ModelRequest& request,
                                DiagnosticSink& sink);

} // namespace tg
