// The two sides of a rule as terms: class variables stand for nodes of a graph. What the rule
// itself says, without an e-graph; explanations are built from it and checked against it.
#pragma once

#include "compiler/ir/graph.h"
#include "compiler/rules/eval.h"

namespace tg {

/// What a rule's variables stand for.
struct NodeBinding {
  llvm::ArrayRef<NodeId> classes; // invalid where not bound
  llvm::ArrayRef<ValueId> values;
};

/// Facts about nodes as they stand, not about all that equals them.
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

/// Whether the rule's conditions hold for these nodes.
bool conditions_hold(const Graph& graph, const Rule& rule, const NodeBinding& binding);

/// The term under `root`, built into the graph. `built`, by TermId, may be kept from other roots;
/// what is there is taken. Invalid if a variable is not bound, an attribute has no value, or the
/// term is ill-typed. Not for native rules.
NodeId build_side(Graph& graph, const Rule& rule, TermId root, const NodeBinding& binding,
                  std::vector<NodeId>& built);

/// `node` with every fused_map in it written out as its operators: what the native rules keep.
/// `known`, by node, may be kept.
NodeId without_fused(Graph& graph, NodeId node, llvm::DenseMap<uint32_t, NodeId>& known);

} // namespace tg
