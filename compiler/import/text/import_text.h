// Writes an imported model as a person would: values named after their places in the network, calls
// of library functions instead of their bodies, and one function for equal parts
// (compiler/ir/repeats.h). The text is checked to read back to the same graph; if it does not, a
// plainer text is written.
#pragma once

#include "compiler/ir/open_graph.h"
#include "compiler/ir/repeats.h"
#include "lang/check/modules.h"

namespace tg {

/// Returns the text. `of_file` has the names of the values in the file, by node of `graph`.
/// `library` has the functions that are called (stdlib/) and the rules that find them.
std::string import_text(const Graph& graph, const llvm::DenseMap<uint32_t, std::string>& of_file,
                        const ModuleLoader& library);

/// A graph of a model with open sizes, at one point.
struct GraphAt {
  sizes::Point point;
  const Graph* graph = nullptr;
};

/// The same for a model with open sizes. The text is checked to read back to these graphs. Errors:
/// `internal` if it does not; then the language cannot express the model.
Result<std::string> import_text(const OpenGraph& graph, llvm::ArrayRef<GraphAt> checks,
                                const llvm::DenseMap<uint32_t, std::string>& of_file,
                                const ModuleLoader& library);

/// Returns the places at which the graph contains the body of a library function; they share no
/// node. Unnamed operands of calls are named after the function's parameters.
std::vector<GraphCall> library_calls(const Graph& graph,
                                     llvm::DenseMap<uint32_t, std::string>& names);

} // namespace tg
