#include "compiler/optimizer/explanation.h"

#include "compiler/ir/to_text.h"
#include "compiler/rules/sides.h"
#include "compiler/rules/text.h"
#include "compiler/verify/replay.h"

#include <llvm/ADT/STLExtras.h>

#include <algorithm>
#include <map>

namespace tg {
namespace {

std::string variable_name(const Rule& rule, size_t variable) {
  if (variable < rule.class_var_names.size() && !rule.class_var_names[variable].empty())
    return rule.class_var_names[variable];
  return "x" + std::to_string(variable + 1);
}

/// Returns the class variables that occur in the exchanged sides of a step; all for native rules.
std::vector<bool> used_variables(const DerivationStep& step, const Rule& rule) {
  std::vector<bool> used(step.classes.size(), rule.native != Native::No);
  if (rule.native != Native::No) return used;
  std::vector<TermId> worklist;
  for (const Exchange& exchange : step.exchanges)
    worklist.insert(worklist.end(), {rule.lhs[exchange.side], rule.rhs[exchange.side]});
  std::vector<bool> seen(rule.terms.size());
  while (!worklist.empty()) {
    TermId id = worklist.back();
    worklist.pop_back();
    if (seen[id]) continue;
    seen[id] = true;
    if (rule.terms[id].kind == Term::Kind::ClassVar) used[rule.terms[id].variable] = true;
    llvm::append_range(worklist, rule.terms[id].operands);
  }
  return used;
}

/// Returns a leaf of the fragment for the binding of a variable.
NodeId leaf_for(Graph& graph, const Derivation& chain, NodeId bound, const std::string& name) {
  const TensorType& type = chain.terms.type(bound);
  if (type.is_none()) return graph.none();
  if (chain.terms.node(bound).op == OpKind::Constant)
    return graph.add(OpKind::Constant, chain.terms.attrs(bound), {});
  return chain.terms.node(bound).weight_only ? graph.weight(name, type) : graph.input(name, type);
}

std::string indented(llvm::StringRef text) {
  std::string out;
  llvm::SmallVector<llvm::StringRef, 16> lines;
  text.rtrim().split(lines, '\n');
  for (llvm::StringRef line : lines) out += ("  " + line + "\n").str();
  return out;
}

/// Returns the first step whose sides are different functions, if any.
std::optional<size_t> wrong_step(const Derivation& chain, llvm::ArrayRef<Rule> rules,
                                 const EquivalenceOptions& options) {
  std::map<std::string, bool> known; // equal steps are checked once
  for (size_t i = 0; i < chain.steps.size(); ++i) {
    const DerivationStep& step = chain.steps[i];
    Graph before = step_fragment(chain, step, rules[step.rule], true);
    Graph after = step_fragment(chain, step, rules[step.rule], false);
    auto [entry, fresh] = known.try_emplace(to_text(before) + to_text(after), false);
    if (fresh) {
      Result<Equivalence> same = check_equivalence(before, after, options);
      entry->second = same && same->different();
    }
    if (entry->second) return i;
  }
  return std::nullopt;
}

std::string place_text(const Rule& rule) {
  return rule.built_in ? " of " + rule.set
                       : " (" + rule.file + ":" + std::to_string(rule.line) + ")";
}

} // namespace

Graph step_fragment(const Derivation& chain, const DerivationStep& step, const Rule& rule,
                    bool before) {
  Graph graph(chain.terms.shared_symbols(), before ? "before" : "after");
  std::vector<bool> used = used_variables(step, rule);
  std::vector<NodeId> leaves(step.classes.size());
  for (size_t v = 0; v < leaves.size(); ++v)
    if (used[v] && step.classes[v].valid())
      leaves[v] = leaf_for(graph, chain, step.classes[v], variable_name(rule, v));
  std::vector<NodeId> built;
  Translation into(chain.terms, graph);
  for (size_t v = 0; v < leaves.size(); ++v)
    if (leaves[v].valid()) into.set(step.classes[v], leaves[v]);
  for (const Exchange& exchange : step.exchanges) {
    std::string name = step.exchanges.size() == 1 ? "y" : "y" + std::to_string(exchange.side + 1);
    bool left = before == step.forward;
    NodeId root = rule.native != Native::No
                      ? into(before ? exchange.from : exchange.to)
                      : build_side(graph, rule, (left ? rule.lhs : rule.rhs)[exchange.side],
                                   {leaves, step.values}, built);
    graph.add_output(name, root);
  }
  return graph;
}

std::string step_leaves(const Derivation& chain, const DerivationStep& step, const Rule& rule) {
  std::string text;
  std::vector<bool> used = used_variables(step, rule);
  for (size_t v = 0; v < step.classes.size(); ++v) {
    if (!used[v] || !step.classes[v].valid()) continue;
    OpKind op = chain.terms.node(step.classes[v]).op;
    if (!is_variable(op)) continue;
    text += (text.empty() ? "" : ", ") + variable_name(rule, v) + " = " +
            chain.terms.attr(step.classes[v], 0).text;
  }
  return text;
}

std::vector<RuleCount> count_rules(const Derivation& chain, llvm::ArrayRef<Rule> rules) {
  std::vector<RuleCount> counts;
  for (const DerivationStep& step : chain.steps) add_count(counts, rules[step.rule].name, 1);
  return most_often_first(std::move(counts));
}

Result<void> confirm_chain(const Optimized& optimized, llvm::ArrayRef<Rule> rules,
                           const Graph& source, const StopToken& stop) {
  if (!optimized.chain)
    return error(optimized.unexplained == kExplainStopped || stop.with_grace(0).asked()
                     ? Code::limit_no_answer
                     : Code::internal,
                 "the result cannot be explained: {0}", optimized.unexplained);
  std::string fault = replay(*optimized.chain, rules, source, optimized.graph, stop);
  if (fault.empty()) return {};
  if (fault == kReplayStopped)
    return error(Code::limit_no_answer, "the explanation was not checked against the rules: {0}",
                 fault);
  return error(Code::internal, "the explanation of `{0}` is wrong: {1}", source.name(), fault);
}

Result<Equivalence> verify_optimized(const Graph& source, const Optimized& optimized,
                                     llvm::ArrayRef<Rule> rules,
                                     const EquivalenceOptions& options) {
  TG_TRY(Equivalence result, check_equivalence(source, optimized.graph, options));
  if (!result.different()) return result;
  Diagnostic fault =
      error(Code::optimiser_differs, "the optimised `{0}` is not equal to its source: output `{1}`",
            source.name(), result.counterexample->output);
  const Derivation& chain = *optimized.chain;
  std::optional<size_t> wrong = wrong_step(chain, rules, options);
  if (!wrong) {
    fault.help = "no single step of the explanation is wrong: this is an internal fault";
    return fault;
  }
  const DerivationStep& step = chain.steps[*wrong];
  const Rule& rule = rules[step.rule];
  fault.notes.push_back(llvm::formatv(
      "step {0} of {1} is wrong, by the rule `{2}`{3}{4}\n{5}  becomes\n{6}", *wrong + 1,
      chain.steps.size(), rule.name, place_text(rule), step.forward ? "" : ", used backwards",
      indented(to_text(step_fragment(chain, step, rule, true))),
      indented(to_text(step_fragment(chain, step, rule, false)))));
  fault.help = "`" + verify_command(rule) + "` shows a counterexample of the rule";
  return fault;
}

} // namespace tg
