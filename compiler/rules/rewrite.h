// Rules applied to a graph as it stands, without a search: what files of other formats spell out in
// pieces becomes the operator that it is. A left side is compared with the terms below each node,
// from the outputs inwards, rule by rule in their order; a match is taken if all that it replaces
// goes away with it and no more operators come, so that the result is never larger and rewriting
// ends.
//
// A number of a rule stands for every constant that is the same in the constant's own dtype: files
// hold the square root of two as f32 has it.
#pragma once

#include "compiler/ir/graph.h"
#include "compiler/rules/rule.h"

namespace tg {

struct Rewritten {
  Graph graph;
  /// By node of the graph that was given: the node that has its value, invalid if none has.
  std::vector<NodeId> became;
};

/// Rules of several left sides and native ones are passed over.
Rewritten rewrite(const Graph& graph, llvm::ArrayRef<Rule> rules);

/// A place where a left side fits.
struct RuleMatchIn {
  NodeId root;
  RuleId rule = 0;
  std::vector<NodeId> covered; // its operators, the root's among them
  std::vector<NodeId> classes; // what the rule's variables stand for
  std::vector<ValueId> values;
};

/// The matches that rewrite() would look at first, with the operands of sums and products in the
/// order of the rule's text alone. No node is covered by two of them.
std::vector<RuleMatchIn> closed_matches(const Graph& graph, llvm::ArrayRef<Rule> rules);

} // namespace tg
