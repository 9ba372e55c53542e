#include "compiler/rules/sides.h"

#include "lang/core/fused_body.h"

#include <cassert>

namespace tg {

namespace {

/// Builds one operator over operands that have been built.
NodeId build_op(Graph& graph, const Rule& rule, const Term& term, const NodeBinding& binding,
                llvm::ArrayRef<NodeId> built) {
  NodeFacts facts(graph, binding.classes);
  RuleMatch match{rule, graph.symbols(), binding.values, facts};
  llvm::SmallVector<ValueId, 6> attrs;
  for (const TermAttr& attr : term.attrs) {
    std::optional<ValueId> value = attribute(match, attr);
    if (!value || value->index == UINT32_MAX) return {};
    attrs.push_back(*value);
  }
  llvm::SmallVector<NodeId, 6> operands;
  for (TermId operand : term.operands) operands.push_back(built[operand]);
  return graph.add(term.op, attrs, operands);
}

/// Builds the operators of a body over these operands.
NodeId written_out(Graph& graph, const FusedBody& body, llvm::ArrayRef<NodeId> operands) {
  llvm::SmallVector<NodeId, 16> stack;
  for (const FusedInstr& instr : body.code) {
    if (instr.is_operand) {
      stack.push_back(operands[instr.operand]);
      continue;
    }
    size_t arity = static_cast<size_t>(op_info(instr.op).operand_count);
    llvm::SmallVector<NodeId, 3> taken(stack.end() - static_cast<std::ptrdiff_t>(arity),
                                       stack.end());
    stack.resize(stack.size() - arity);
    stack.push_back(graph.add(instr.op, {}, taken));
    if (!stack.back().valid()) return {};
  }
  return stack.back();
}

/// Adds a node of a graph to `target` over these operands, a fused_map as its operators.
NodeId copied_plain(const Graph& graph, NodeId node, llvm::ArrayRef<NodeId> operands,
                    Graph& target) {
  llvm::SmallVector<ValueId, 6> attrs(graph.attrs(node).begin(), graph.attrs(node).end());
  if (graph.node(node).op != OpKind::FusedMap)
    return target.add(graph.node(node).op, attrs, operands);
  auto body = parse_fused_body(graph.symbols().value(attrs[0]).text);
  return body && body->operands <= operands.size() ? written_out(target, *body, operands)
                                                   : NodeId{};
}

} // namespace

bool conditions_hold(const Graph& graph, const Rule& rule, const NodeBinding& binding) {
  NodeFacts facts(graph, binding.classes);
  return conditions_hold({rule, graph.symbols(), binding.values, facts});
}

NodeId build_side(Graph& graph, const Rule& rule, TermId root, const NodeBinding& binding,
                  std::vector<NodeId>& built) {
  built.resize(rule.terms.size());
  llvm::SmallVector<TermId, 16> worklist{root};
  while (!worklist.empty()) {
    TermId id = worklist.back();
    const Term& term = rule.terms[id];
    size_t before = worklist.size();
    if (!built[id].valid() && term.kind == Term::Kind::Op)
      for (TermId operand : term.operands)
        if (!built[operand].valid()) worklist.push_back(operand);
    if (worklist.size() != before) continue;
    worklist.pop_back();
    if (built[id].valid()) continue;
    if (term.kind == Term::Kind::ClassVar)
      built[id] = binding.classes[term.variable];
    else if (term.kind == Term::Kind::Op)
      built[id] = build_op(graph, rule, term, binding, built);
    if (!built[id].valid()) return {};
  }
  return built[root];
}

NodeId without_fused(Graph& graph, NodeId node, llvm::DenseMap<uint32_t, NodeId>& known) {
  llvm::SmallVector<NodeId, 16> worklist{node};
  while (!worklist.empty()) {
    NodeId next = worklist.back();
    size_t before = worklist.size();
    if (!known.count(next.index))
      for (NodeId operand : graph.operands(next))
        if (!known.count(operand.index)) worklist.push_back(operand);
    if (worklist.size() != before) continue;
    worklist.pop_back();
    if (known.count(next.index)) continue;
    llvm::SmallVector<NodeId, 8> operands;
    for (NodeId operand : graph.operands(next)) operands.push_back(known.lookup(operand.index));
    NodeId plain = copied_plain(graph, next, operands, graph);
    if (!plain.valid()) return {};
    known[next.index] = plain;
  }
  return known.lookup(node.index);
}

Graph without_fused(const Graph& graph) {
  Graph result(graph.shared_symbols(), graph.name());
  std::vector<NodeId> at(graph.size());
  for (NodeId input : graph.inputs())
    at[input.index] = result.input(graph.attr(input, 0).text, graph.type(input));
  std::vector<bool> needed = graph.reachable();
  for (uint32_t i = 0; i < graph.size(); ++i) {
    if (!needed[i] || at[i].valid()) continue;
    llvm::SmallVector<NodeId, 8> operands;
    for (NodeId operand : graph.operands({i})) operands.push_back(at[operand.index]);
    at[i] = copied_plain(graph, {i}, operands, result);
    assert(at[i].valid() && "the body of a fused_map in a graph parses");
  }
  for (const GraphOutput& output : graph.outputs())
    result.add_output(output.name, at[output.node.index]);
  return result;
}

} // namespace tg
