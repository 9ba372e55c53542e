#include "compiler/rules/instances/instance.h"

#include "lang/core/shape_rules.h"

namespace tg {

namespace {

/// Returns the terms under a root, operands first: ids ascend from operands to users.
std::vector<TermId> terms_under(const Rule& rule, TermId root) {
  std::vector<bool> needed(rule.terms.size());
  needed[root] = true;
  for (TermId id = root + 1; id-- > 0;)
    if (needed[id])
      for (TermId operand : rule.terms[id].operands) needed[operand] = true;
  std::vector<TermId> terms;
  for (TermId id = 0; id <= root; ++id)
    if (needed[id]) terms.push_back(id);
  return terms;
}

bool attributes_of(const RuleMatch& match, const Term& term, llvm::SmallVectorImpl<ValueId>& out,
                   std::string* why) {
  for (const TermAttr& attr : term.attrs) {
    std::optional<ValueId> v = attribute(match, attr);
    if (!v && why) *why = "an attribute has no value here";
    if (!v) return false;
    out.push_back(*v);
  }
  return true;
}

NodeId leaf_of(Graph& graph, const Rule& rule, const RuleInstance& instance, uint32_t variable) {
  const TensorType& type = graph.symbols().type(instance.types[variable]);
  const std::string& name = rule.class_var_names[variable];
  if (type.is_none()) return graph.none();
  bool whole = !is_float(type.dtype);
  bool given = variable < instance.literals.size() && !instance.literals[variable].empty();
  if (instance.constants[variable] && given)
    return graph.constant(instance.literals[variable], type);
  if (instance.constants[variable] && type.dtype == DType::Bool)
    return graph.constant({static_cast<double>(variable % 2)}, type);
  if (instance.constants[variable])
    return graph.constant({whole ? variable : 0.5 + variable}, type);
  return instance.weights[variable] ? graph.weight(name, type) : graph.input(name, type);
}

} // namespace

bool type_terms(Symbols& symbols, const Rule& rule, const RuleInstance& instance, TermId root,
                std::vector<TypeId>& types, std::string* why) {
  types.resize(rule.terms.size());
  RuleMatch match{rule, symbols, instance.values, instance};
  for (TermId id : terms_under(rule, root)) {
    if (types[id] != TypeId{}) continue;
    const Term& term = rule.terms[id];
    if (term.kind == Term::Kind::ClassVar) {
      types[id] = instance.types[term.variable];
      continue;
    }
    llvm::SmallVector<ValueId, 4> attrs;
    llvm::SmallVector<TypeId, 4> operands;
    for (TermId operand : term.operands) operands.push_back(types[operand]);
    if (!attributes_of(match, term, attrs, why) ||
        !infer(symbols, term.op, attrs, operands, types[id], why))
      return false;
  }
  return true;
}

NodeId build_term(Graph& graph, const Rule& rule, const RuleInstance& instance, TermId root,
                  std::vector<NodeId>& nodes, std::string* why) {
  nodes.resize(rule.terms.size());
  RuleMatch match{rule, graph.symbols(), instance.values, instance};
  for (TermId id : terms_under(rule, root)) {
    if (nodes[id].valid()) continue;
    const Term& term = rule.terms[id];
    if (term.kind == Term::Kind::ClassVar) {
      nodes[id] = leaf_of(graph, rule, instance, term.variable);
      if (!nodes[id].valid()) return {};
      continue;
    }
    llvm::SmallVector<ValueId, 4> attrs;
    llvm::SmallVector<NodeId, 4> operands;
    for (TermId operand : term.operands) operands.push_back(nodes[operand]);
    if (!attributes_of(match, term, attrs, why)) return {};
    nodes[id] = graph.add(term.op, attrs, operands, why);
    if (!nodes[id].valid()) return {};
  }
  return nodes[root];
}

std::vector<std::string> describe(const Symbols& symbols, const Rule& rule,
                                  const RuleInstance& instance) {
  std::vector<std::string> lines;
  for (uint32_t v = 0; v < rule.class_vars; ++v) {
    if (instance.types[v] == TypeId{}) continue;
    std::string line = rule.class_var_names[v] + ": " + symbols.type(instance.types[v]).text();
    if (instance.constants[v] && v < instance.literals.size() && !instance.literals[v].empty())
      line += " = " + Value::of_floats(instance.literals[v]).text_form();
    else if (instance.weights[v])
      line += " (weight)";
    lines.push_back(std::move(line));
  }
  for (uint32_t v = 0; v < rule.value_vars; ++v)
    if (instance.values[v] != ValueId{} && // dtypes of numbers are those of tensors
        !symbols.value(instance.values[v]).is(Value::Kind::Type))
      lines.push_back(rule.value_var_names[v] + " = " +
                      symbols.value(instance.values[v]).text_form());
  return lines;
}

} // namespace tg
