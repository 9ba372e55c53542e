// The two sides of a rule as terms, with nodes of a graph as class variables. This is the meaning
// of the rule without an e-graph; explanations are built and checked with it.
#pragma once

#include "compiler/ir/graph.h"
#include "compiler/rules/eval.h"

namespace tg {

/// The bindings of a rule's variables.
struct NodeBinding {
  llvm::ArrayRef<NodeId> classes; // invalid if not bound
  llvm::ArrayRef<ValueId> values;
};

/// Facts about the nodes themselves, not about equal ones.
class NodeFacts final : public ClassFacts {
public:
  NodeFacts(const Graph& graph, llvm::ArrayRef<NodeId> classes)
      : graph_(graph), classes_(classes) {}
  TypeId type(uint32_t variable) const override {
    return classes_[variable].valid() ? graph_.node(classes_[variable]).type : TypeId{};
  }
  bool weight_only(uint32_t variable) const override {
    return classes_[variable].valid() && graph_.node(classes_[variable]).weight_only;
  }
  bool constant(uint32_t variable) const override {
    return classes_[variable].valid() && graph_.node(classes_[variable]).op == OpKind::Constant;
  }

private:
  const Graph& graph_;
  llvm::ArrayRef<NodeId> classes_;
};

/// Returns true if the rule's conditions hold for these nodes.
bool conditions_hold(const Graph& graph, const Rule& rule, const NodeBinding& binding);

/// Builds the term under `root` into the graph. `built`, by TermId, may be kept from other roots,
/// and its entries are reused. Invalid if a variable is not bound, an attribute has no value, or
/// the term is ill-typed. Not for native rules.
NodeId build_side(Graph& graph, const Rule& rule, TermId root, const NodeBinding& binding,
                  std::vector<NodeId>& built);

/// Returns `node` with every fused_map in it expanded to its operators, which native rules leave
/// unchanged. `known`, by node, may be kept.
NodeId without_fused(Graph& graph, NodeId node, llvm::DenseMap<uint32_t, NodeId>& known);

/// Returns the graph with every fused_map expanded to its operators.
Graph without_fused(const Graph& graph);

} // namespace tg
