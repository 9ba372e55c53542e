// Integers in the text of a graph: numbers, or the expressions that a generic model has in their
// place.
#pragma once

#include "compiler/ir/to_text.h"

#include <string>
#include <vector>

namespace tg::text {

class Integers {
public:
  /// `open`: the expressions; null for a model without open sizes.
  Integers(const Graph& graph, const OpenText* open) : graph_(graph), open_(open) {}

  /// Returns the expression at a place, or null.
  const std::string* open(const IntegerPlace& place) const;
  bool has_open(NodeId id, uint32_t slot) const;

  std::string text(int64_t number, const IntegerPlace& place) const;
  std::vector<std::string> texts(llvm::ArrayRef<int64_t> numbers, NodeId id, uint32_t slot) const;
  /// Returns "[2, N]" for the integers of an attribute or a shape.
  std::string list(llvm::ArrayRef<int64_t> numbers, NodeId id, uint32_t slot) const;

  std::vector<std::string> sizes(NodeId id) const;
  /// Returns "f32[2, N]".
  std::string type(NodeId id) const;

private:
  const Graph& graph_;
  const OpenText* open_;
};

} // namespace tg::text
