#include "compiler/emit/plan_from_graph.h"

#include "compiler/ir/updated.h"

#include <llvm/ADT/STLExtras.h>

#include <algorithm>

namespace tg {

namespace {

class PlanBuilder {
public:
  PlanBuilder(const Graph& graph, const RecomputeOptions& options)
      : graph_(graph), options_(options), value_of_(graph.size(), kNoValue),
        needed_(graph.reachable()) {
    plan_.model = graph.name();
  }

  PlanOfNodes run() {
    for (NodeId id : graph_.inputs()) plan_.inputs.push_back(leaf(id));
    for (uint32_t i = 0; i < graph_.size(); ++i)
      if (needed_[i] && value_of_[i] == kNoValue && is_leaf({i})) {
        PlanValueId value = leaf({i});
        if (is_updated(graph_, {i})) plan_.inputs.push_back(value);
      }
    for (uint32_t i = 0; i < graph_.size(); ++i)
      if (needed_[i] && !is_leaf({i}) && graph_.node({i}).weight_only) step({i}, Phase::Load);
    RunOrder schedule = recompute(graph_, best_order(graph_), options_);
    for (NodeId id : schedule.order) step(id, Phase::Run);
    for (const GraphOutput& output : graph_.outputs()) {
      PlanValueId value = value_of_[output.node.index];
      plan_.values[value].is_output = plan_.values[value].pinned = true;
      plan_.outputs.push_back({output.name, value});
    }
    lifetimes();
    for (PlanStep& step : plan_.steps) in_place(step);
    assert(verify(plan_).empty());
    return {std::move(plan_), std::move(node_of_), schedule.recomputed};
  }

private:
  bool is_leaf(NodeId id) const { return op_info(graph_.node(id).op).has(Trait::Leaf); }

  /// Returns kNoValue for `none`.
  PlanValueId leaf(NodeId id) {
    PlanValue value;
    value.type = graph_.type(id);
    switch (graph_.node(id).op) {
    case OpKind::None: return kNoValue;
    case OpKind::Input:
      value.kind = PlanValue::Kind::Input;
      value.name = graph_.attr(id, 0).text;
      break;
    case OpKind::Weight:
      value.kind = PlanValue::Kind::Weight;
      value.name = graph_.attr(id, 0).text;
      value.init = declared_init(graph_, id);
      if (is_updated(graph_, id)) {
        value.kind = PlanValue::Kind::Input;
        if (value.init.empty()) value.init = "fan_in"; // inputs without `init` are the user's
      }
      break;
    default: {
      const Value& values = graph_.attr(id, 0);
      value.kind = PlanValue::Kind::Constant;
      value.constant = values.reals;
      value.exact.assign(values.ints.begin(), values.ints.end());
    }
    }
    return add_value(id, std::move(value));
  }

  PlanValueId add_value(NodeId id, PlanValue value) {
    plan_.values.push_back(std::move(value));
    return value_of_[id.index] = static_cast<PlanValueId>(plan_.values.size() - 1);
  }

  void step(NodeId id, Phase phase) {
    PlanStep step;
    step.op = graph_.node(id).op;
    step.phase = phase;
    for (size_t slot = 0; slot < graph_.attrs(id).size(); ++slot)
      step.attrs.push_back(graph_.attr(id, slot));
    for (NodeId operand : graph_.operands(id)) step.operands.push_back(value_of_[operand.index]);
    PlanValue value;
    value.kind = PlanValue::Kind::Temporary;
    value.type = graph_.type(id);
    value.defined_by = static_cast<PlanStepId>(plan_.steps.size());
    step.result = add_value(id, std::move(value));
    plan_.steps.push_back(std::move(step));
    node_of_.push_back(id);
  }

  void lifetimes() {
    for (PlanStepId s = 0; s < plan_.steps.size(); ++s)
      for (PlanValueId id : plan_.steps[s].operands) {
        if (id == kNoValue) continue;
        PlanValue& value = plan_.values[id];
        value.last_use = s;
        bool from_load = value.kind == PlanValue::Kind::Temporary &&
                         plan_.steps[value.defined_by].phase == Phase::Load;
        value.pinned |= from_load && plan_.steps[s].phase == Phase::Run;
      }
  }

  void in_place(PlanStep& step) {
    PlanStepId s = plan_.values[step.result].defined_by;
    llvm::ArrayRef<NodeId> operands = graph_.operands(node_of_[s]);
    auto dies = [&](NodeId operand) {
      // value_of_ has only the latest value of the node.
      const auto* at = llvm::find(operands, operand);
      const PlanValue& value =
          plan_.values[step.operands[static_cast<size_t>(at - operands.begin())]];
      return value.kind == PlanValue::Kind::Temporary && !value.pinned && value.last_use == s;
    };
    int position = in_place_operand(graph_, node_of_[s], dies);
    if (position >= 0) step.in_place = step.operands[static_cast<size_t>(position)];
  }

  const Graph& graph_;
  const RecomputeOptions& options_;
  Plan plan_;
  std::vector<PlanValueId> value_of_; // by node, the latest
  std::vector<NodeId> node_of_;       // by step
  std::vector<bool> needed_;
};

} // namespace

PlanOfNodes plan_of_nodes(const Graph& graph, const RecomputeOptions& options) {
  return PlanBuilder(graph, options).run();
}

Plan plan_from_graph(const Graph& graph) { return plan_of_nodes(graph).plan; }

} // namespace tg
