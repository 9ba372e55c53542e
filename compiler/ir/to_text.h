// A graph as a readable .tg file, which instantiates to an equal graph again: the form in which an
// optimised model is kept.
#pragma once

#include "compiler/ir/repeats.h"

namespace tg {

struct TextOptions {
  /// Lines of a `##` comment at the head of the file.
  std::string doc;
  /// An operator that is used once is written inside its user's line while that stays this short.
  size_t width = 90;
  /// Whose `extern op`s the file has declared already: a model that stands before this one.
  const Graph* before = nullptr;
  /// Names for `let`s and `param`s, by node: identifiers, or what is made into one; the same name
  /// twice is numbered. Other nodes are named after their operators, weights after their paths.
  const llvm::DenseMap<uint32_t, std::string>* names = nullptr;
  /// What is written as calls of library functions.
  llvm::ArrayRef<GraphCall> calls = {};
  /// Equal parts become a function (repeats.h).
  bool functions = false;
};

/// One model, named as the graph, in the canonical layout. Each node that more than one other uses
/// has a `let`; a weight is declared before its first use, with its path and initialisation spelled
/// out; attributes are given where they differ from their defaults. Names of inputs and outputs
/// survive; those that are no identifiers are made into one. Leaves out what no output needs, but
/// for inputs.
std::string to_text(const Graph& graph, const TextOptions& options = {});

/// The graph that comes of its text: inputs and outputs have the names that they have there.
Graph with_text_names(const Graph& graph);

} // namespace tg
