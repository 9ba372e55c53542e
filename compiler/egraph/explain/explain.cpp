#include "compiler/egraph/explain/explain.h"

#include "compiler/egraph/explain/explain_ledger.h"
#include "compiler/egraph/explain/makers.h"

#include <llvm/ADT/STLExtras.h>

#include <cassert>

namespace tg {

History history_of(const EGraph& egraph) {
  assert(egraph.recording());
  History out;
  out.makers.resize(egraph.class_bound());
  std::vector<bool> made(egraph.class_bound());
  for (uint32_t i = 0; i < egraph.node_bound(); ++i) {
    const ENode& node = egraph.node({i});
    if (made[node.home.index]) continue; // added to an existing class
    made[node.home.index] = true;
    out.makers[node.home.index] = {node.op, node.attrs, static_cast<uint32_t>(out.operands.size()),
                                   node.arity};
    llvm::ArrayRef<ClassId> born = egraph.born_children({i});
    out.operands.insert(out.operands.end(), born.begin(), born.end());
  }
  out.applications = egraph.history();
  return out;
}

namespace {

/// The equations of the ledger from which the end of a chain follows.
using Proof = std::vector<TermClosure::Edge>;

/// Returns true if these equations alone suffice.
bool is_proof(const ExplainLedger& ledger, const Proof& proof, const Derivation& chain) {
  TermClosure closure(ledger.terms);
  for (const TermClosure::Edge& edge : proof) closure.merge(edge.from, edge.to, edge.why);
  closure.include_new_nodes();
  return llvm::all_of(llvm::zip(chain.start, chain.end), [&](auto pair) {
    return closure.same(std::get<0>(pair), std::get<1>(pair));
  });
}

Proof find_proof(const ExplainLedger& ledger, const Derivation& chain, const StopToken& stop) {
  using ProofPaths = TermClosure::ProofPaths;
  Proof proof = ledger.closure.proof(chain.start, chain.end, ProofPaths::Shortest, stop);
  if (stop.asked() || is_proof(ledger, proof, chain)) return proof;
  return ledger.closure.proof(chain.start, chain.end, ProofPaths::Forest, stop);
}

/// Converts equations to steps. The equations of one application in one direction become one step,
/// at the position of the first.
std::vector<DerivationStep> steps_of(const ExplainLedger& ledger, const Proof& proof) {
  std::vector<DerivationStep> steps;
  llvm::DenseMap<std::pair<uint32_t, uint32_t>, size_t> known; // by application and direction
  for (const TermClosure::Edge& edge : proof) {
    ExplainLedger::Equation equation = ledger.equation(edge.why);
    const RuleApplication& a = ledger.application(equation.application);
    bool forward = a.left[equation.side] == edge.from;
    auto [entry, fresh] = known.try_emplace({equation.application, forward}, steps.size());
    if (fresh) {
      DerivationStep& step = steps.emplace_back();
      step.rule = a.rule, step.forward = forward;
      step.classes = a.classes, step.values = a.values, step.inlined = a.inlined;
    }
    steps[entry->second].exchanges.push_back({edge.from, edge.to, equation.side});
  }
  return steps;
}

Diagnostic stopped() { return error(Code::limit_no_answer, "{0}", kExplainStopped); }

} // namespace

Result<Derivation> explain(const History& history, llvm::ArrayRef<Rule> rules, const Graph& source,
                           const Graph& result, const StopToken& stop) {
  ExplainLedger ledger(history, rules, source.shared_symbols(), stop);
  if (stop.asked()) return stopped();
  Derivation chain(source.shared_symbols());
  Translation of_source(source, ledger.terms), of_result(result, ledger.terms);
  for (const GraphOutput& output : source.outputs()) chain.start.push_back(of_source(output.node));
  for (const GraphOutput& output : result.outputs()) chain.end.push_back(of_result(output.node));
  ledger.closure.include_new_nodes();
  for (size_t i = 0; i < chain.start.size(); ++i)
    if (!ledger.closure.same(chain.start[i], chain.end[i]))
      return error(Code::internal,
                   "the rules applied do not lead from the source to the output `{0}`",
                   source.outputs()[i].name);
  Proof proof = find_proof(ledger, chain, stop);
  chain.steps = steps_of(ledger, proof);
  chain.makers = makers(ledger, chain, proof, stop);
  if (stop.asked()) return stopped();
  chain.terms = std::move(ledger.terms);
  trim(chain);
  return chain;
}

} // namespace tg
