#include "compiler/search/rewrites.h"

#include "compiler/extract/extract.h"
#include "compiler/search/chosen_graph.h"
#include "compiler/search/node_prices.h"

#include <llvm/ADT/Hashing.h>

namespace tg {

Rewrites::Rewrites(const Graph& graph, llvm::ArrayRef<Rule> rules, const ExplorerOptions& options,
                   bool record)
    : graph_(graph), egraph_(egraph_of(graph)), explorer_(egraph_, rules, options) {
  if (record) egraph_.record_history();
  explorer_.rebuild();
  explorer_.find_new(0, matches_);
  source_.resize(egraph_.class_bound());
  for (uint32_t n = 0; n < egraph_.node_bound(); ++n)
    if (usable(egraph_, {n})) source_[class_of(egraph_, {n}).index] = {n};
}

std::optional<Graph> Rewrites::make(size_t i) {
  Checkpoint before = egraph_.checkpoint();
  uint32_t nodes = egraph_.node_bound();
  std::optional<Graph> out;
  if (explorer_.apply(matches_[i]) == Outcome::Applied) {
    explorer_.rebuild();
    out = rebuilt(nodes);
    if (out && egraph_.recording()) history_ = history_of(egraph_);
  }
  egraph_.rollback(before);
  egraph_.release(before);
  explorer_.moved();
  return out;
}

/// Builds the graph after a rewrite. New nodes replace the old nodes of their classes. If classes
/// were merged, the users' operands change with them, and the older node remains.
std::optional<Graph> Rewrites::rebuilt(uint32_t first_new) {
  std::vector<ENodeId> choice(egraph_.class_bound());
  for (uint32_t c = 0; c < source_.size(); ++c) {
    ENodeId node = source_[c];
    if (!node.valid() || !usable(egraph_, node)) continue;
    ENodeId& at = choice[class_of(egraph_, node).index];
    if (!at.valid() || node.index < at.index) at = node;
  }
  for (uint32_t n = first_new; n < egraph_.node_bound(); ++n)
    if (usable(egraph_, {n})) choice[class_of(egraph_, {n}).index] = {n};
  std::vector<ENodeId> order;
  if (!walk(choice, order)) return std::nullopt;
  return graph_of(egraph_, graph_, order);
}

/// Lists the chosen nodes below the roots, operands first and in order, so that equal graphs are
/// numbered equally. Returns false if a class has no chosen node.
bool Rewrites::walk(llvm::ArrayRef<ENodeId> choice, std::vector<ENodeId>& order) const {
  std::vector<uint8_t> state(choice.size()); // 1: entered, 2: done
  std::vector<ClassId> worklist;
  for (const EGraphRoot& root : egraph_.roots()) {
    worklist.push_back(egraph_.find(root.id));
    while (!worklist.empty()) {
      ClassId cls = worklist.back();
      ENodeId node = choice[cls.index];
      if (!node.valid()) return false;
      if (state[cls.index] == 0) {
        state[cls.index] = 1;
        llvm::ArrayRef<ClassId> children = egraph_.children(node);
        for (size_t i = children.size(); i-- > 0;) {
          ClassId child = egraph_.find(children[i]);
          if (state[child.index] == 0) worklist.push_back(child);
        }
        continue;
      }
      worklist.pop_back();
      if (state[cls.index] == 1) state[cls.index] = 2, order.push_back(node);
    }
  }
  return true;
}

uint64_t structural_hash(const Graph& graph) {
  llvm::hash_code hash = graph.size();
  for (uint32_t i = 0; i < graph.size(); ++i) {
    const Node& node = graph.node({i});
    hash = llvm::hash_combine(hash, static_cast<unsigned>(node.op), node.attrs.index);
    for (NodeId operand : graph.operands({i})) hash = llvm::hash_combine(hash, operand.index);
  }
  for (const GraphOutput& output : graph.outputs())
    hash = llvm::hash_combine(hash, output.node.index);
  return static_cast<uint64_t>(hash) >> 2;
}

} // namespace tg
