// The least and the largest number that elements of integers and bools can be, as operators,
// constants and the ranges of inputs show: arithmetic of intervals (Moore 1966). A result that may
// wrap around can be any number of its dtype.
#pragma once

#include "compiler/ir/graph.h"

#include <llvm/ADT/StringMap.h>

namespace tg {

/// From `low` to `high`, both included.
struct WholeRange {
  int64_t low = 0, high = 0;

  bool operator==(const WholeRange&) const = default;
  bool is_single() const { return low == high; }
  bool is_within(const WholeRange& other) const { return other.low <= low && high <= other.high; }
};

/// All numbers of an integer dtype, or of bool.
WholeRange range_of_dtype(DType dtype);

/// Inputs of integers that have no numbers beyond a range, by name.
using InputRanges = llvm::StringMap<WholeRange>;

/// Returns true for operators whose element of the result depends on the elements at its place
/// alone.
bool is_element_by_element(OpKind op);

class WholeRanges {
public:
  /// Both outlive this. The graph may grow.
  explicit WholeRanges(const Graph& graph, const InputRanges* inputs = nullptr)
      : graph_(graph), inputs_(inputs) {}

  /// `id`: of integers or bools.
  WholeRange of(NodeId id);

  /// The range of the elements at whose places an element of `condition` is `holds`: what selects
  /// take there.
  WholeRange under(NodeId id, NodeId condition, bool holds);

private:
  using Known = llvm::DenseMap<uint32_t, WholeRange>;
  using Of = llvm::function_ref<WholeRange(NodeId)>;

  WholeRange computed(NodeId id, Of of);
  WholeRange pointwise(NodeId id, Of of) const;
  WholeRange selected(NodeId id, Of of);
  Known implied(NodeId condition, bool holds);

  const Graph& graph_;
  const InputRanges* inputs_;
  std::vector<WholeRange> ranges_; // of nodes so far
};

} // namespace tg
