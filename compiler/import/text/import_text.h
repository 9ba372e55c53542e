// The text of a model that came from another format, as a person would have written it: values
// named after their places in the network, functions of the library where the graph spells out
// their bodies, and equal parts as one function (compiler/ir/repeats.h). It reads back to the same
// graph, which is tried; where it does not, the text is plainer.
#pragma once

#include "compiler/ir/graph.h"
#include "lang/check/modules.h"

namespace tg {

/// `of_file`: what the file calls the values, by node of `graph`. `library` has the functions that
/// are called (stdlib/) and the rules that find them.
std::string import_text(const Graph& graph, const llvm::DenseMap<uint32_t, std::string>& of_file,
                        const ModuleLoader& library);

} // namespace tg
