// Applies rules to a graph directly, without a search: several operators of an imported file become
// the single operator that they express. A left side is compared with the terms below each node,
// from the outputs inwards, rule by rule in their order. A match is applied if all the nodes that
// it covers become unused and the right side has no more operators, so the result is never larger
// and rewriting terminates.
//
// A number of a rule matches every constant that is equal to it in the constant's own dtype: files
// have the square root of two rounded to f32.
#pragma once

#include "compiler/ir/graph.h"
#include "compiler/rules/rule.h"

namespace tg {

struct Rewritten {
  Graph graph;
  /// By node of the input graph: the node with its value, or invalid.
  std::vector<NodeId> became;
};

/// Rewrites a graph. Rules with several left sides and native ones are skipped.
Rewritten rewrite(const Graph& graph, llvm::ArrayRef<Rule> rules);

/// A place where a left side matches.
struct RuleMatchIn {
  NodeId root;
  RuleId rule = 0;
  std::vector<NodeId> covered; // its operators, including the root's
  std::vector<NodeId> classes; // bindings of the rule's variables
  std::vector<ValueId> values;
};

/// Returns the matches that rewrite() would try first, with the operands of sums and products only
/// in the order of the rule's text, unless either order is requested. No node is covered by two.
std::vector<RuleMatchIn> closed_matches(const Graph& graph, llvm::ArrayRef<Rule> rules,
                                        bool either_order = false);

} // namespace tg
