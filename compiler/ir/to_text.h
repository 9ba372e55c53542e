// Writes a graph as a readable .tg file, which instantiates to an equal graph. Optimised models are
// stored in this form.
#pragma once

#include "compiler/ir/repeats.h"

#include <map>

namespace tg {

/// An integer of a graph: an element of an attribute, of a constant's values or of a node's shape.
struct IntegerPlace {
  static constexpr uint32_t kShape = UINT32_MAX;

  uint32_t node = 0;
  uint32_t slot = 0; // of the attribute, or kShape
  uint32_t element = 0;
  auto operator<=>(const IntegerPlace&) const = default;
};

/// The generic form of a model: parameters with ranges, and expressions of them in place of
/// integers (open_graph.h).
struct OpenText {
  struct Parameter {
    std::string name;
    std::string range; // "1..2048 = 128"
  };
  std::vector<Parameter> parameters;
  std::map<IntegerPlace, std::string> expressions;
};

struct TextOptions {
  /// Lines of a `##` comment at the top of the file.
  std::string doc;
  /// An operator with a single use is inlined while the line stays this short.
  size_t width = 90;
  /// A model written earlier in the same file, whose `extern op`s are declared already.
  const Graph* before = nullptr;
  /// Names for `let`s and `param`s, by node. Other text is converted to identifiers, and duplicate
  /// names are numbered. Other nodes are named after their operators, and weights after their
  /// paths.
  const llvm::DenseMap<uint32_t, std::string>* names = nullptr;
  /// Calls of library functions.
  llvm::ArrayRef<GraphCall> calls = {};
  /// Write equal parts as functions (repeats.h).
  bool functions = false;
  /// Makes the model generic. The names of its parameters must differ from those of the inputs.
  const OpenText* open = nullptr;
};

/// Returns one model, named as the graph, in the canonical format. Each node with more than one
/// user has a `let`. A weight is declared before its first use, with its path and initialisation.
/// Attributes with default values are omitted. Names of inputs and outputs are preserved, or
/// converted to identifiers. Nodes that no output needs are omitted, except inputs.
std::string to_text(const Graph& graph, const TextOptions& options = {});

/// Returns the graph that its text instantiates to, with the input and output names of the text.
Graph with_text_names(const Graph& graph);

} // namespace tg
