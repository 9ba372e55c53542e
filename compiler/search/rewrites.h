// What can be done to one graph: every rule at every place, in a fixed order, as changes on a
// shared base. The base is an e-graph of this graph alone, in which a rewrite is made and taken
// back; the graph after it is built when it is asked for. The common ground of the searches that go
// from graph to graph.
#pragma once

#include "compiler/egraph/explain/explain.h"
#include "compiler/search/explorer.h"

namespace tg {

class Rewrites {
public:
  /// The graph has to outlive this. `record`: with the history of the rewrite made last.
  Rewrites(const Graph& graph, llvm::ArrayRef<Rule> rules, const ExplorerOptions& options,
           bool record = false);

  /// Those that the rules' patterns find; conditions are asked when one is made.
  size_t size() const { return matches_.size(); }
  const Match& match(size_t i) const { return matches_[i]; }
  size_t nodes() const { return egraph_.node_count(); }
  /// The graph alone has as many nodes as there may be: nothing can be made.
  bool full() const { return explorer_.full(); }
  std::string place(size_t i) const { return place_text(egraph_, {matches_[i].words.front()}); }
  size_t memory_bytes() const { return egraph_.memory_bytes() + explorer_.memory_bytes(); }
  bool recording() const { return egraph_.recording(); }
  const History& history() const { return history_; }

  /// The graph after one rewrite; nothing if the rule does not apply there.
  std::optional<Graph> make(size_t i);

private:
  std::optional<Graph> rebuilt(uint32_t first_new);
  bool walk(llvm::ArrayRef<ENodeId> choice, std::vector<ENodeId>& order) const;

  const Graph& graph_;
  EGraph egraph_;
  Explorer explorer_;
  std::vector<Match> matches_;
  std::vector<ENodeId> source_; // by class: the graph's own node
  History history_;             // of the rewrite made last, where that is recorded
};

/// Equal for graphs with the same nodes in the same order and the same outputs: what `make` builds
/// is numbered alike whichever way led there. Equal only within one symbol table.
uint64_t structural_hash(const Graph& graph);

} // namespace tg
