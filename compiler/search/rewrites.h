// All rewrites of one graph: every rule at every place, in a fixed order. A rewrite is made in an
// e-graph of this graph alone and rolled back; the resulting graph is built on demand. Used by the
// searches that move from graph to graph.
#pragma once

#include "compiler/egraph/explain/explain.h"
#include "compiler/search/explorer.h"

namespace tg {

class Rewrites {
public:
  /// The graph must outlive this object. `record` keeps the history of the last rewrite made.
  Rewrites(const Graph& graph, llvm::ArrayRef<Rule> rules, const ExplorerOptions& options,
           bool record = false);

  /// Number of pattern matches. Conditions are checked only when a rewrite is made.
  size_t size() const { return matches_.size(); }
  const Match& match(size_t i) const { return matches_[i]; }
  size_t nodes() const { return node_count(egraph_); }
  /// Returns true if the graph alone reaches the node limit, so no rewrite can be made.
  bool full() const { return explorer_.full(); }
  std::string place(size_t i) const { return place_text(egraph_, {matches_[i].words.front()}); }
  size_t memory_bytes() const { return egraph_.memory_bytes() + explorer_.memory_bytes(); }
  bool recording() const { return egraph_.recording(); }
  const History& history() const { return history_; }

  /// Returns the graph after one rewrite, or nothing if the rule does not apply there.
  std::optional<Graph> make(size_t i);

private:
  std::optional<Graph> rebuilt(uint32_t first_new);
  bool walk(llvm::ArrayRef<ENodeId> choice, std::vector<ENodeId>& order) const;

  const Graph& graph_;
  EGraph egraph_;
  Explorer explorer_;
  std::vector<Match> matches_;
  std::vector<ENodeId> source_; // by class: the graph's own node
  History history_;             // of the last rewrite made, if recorded
};

/// Equal for graphs with the same nodes in the same order and the same outputs. Graphs from `make`
/// are numbered independently of the path to them. Comparable only within one symbol table.
uint64_t structural_hash(const Graph& graph);

} // namespace tg
