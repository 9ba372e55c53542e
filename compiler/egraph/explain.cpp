#include "compiler/egraph/explain.h"

#include "compiler/egraph/explain_chain.h"

#include <cassert>

namespace tg {

History history_of(const EGraph& egraph) {
  assert(egraph.recording());
  History out;
  out.makers.resize(egraph.class_bound());
  std::vector<bool> made(egraph.class_bound());
  for (uint32_t i = 0; i < egraph.node_bound(); ++i) {
    const ENode& node = egraph.node({i});
    if (made[node.home.index]) continue; // put into a class that was there
    made[node.home.index] = true;
    out.makers[node.home.index] = {node.op, node.attrs, static_cast<uint32_t>(out.operands.size()),
                                   node.arity};
    for (uint32_t e = 0; e < node.arity; ++e)
      out.operands.push_back(egraph.born_child(node.first + e));
  }
  out.applications = egraph.history();
  return out;
}

Result<Derivation> explain(const History& history, llvm::ArrayRef<Rule> rules, const Graph& source,
                           const Graph& result, llvm::ArrayRef<const Derivation*> known) {
  ExplainLedger ledger(history, rules, source.shared_symbols(), known);
  std::vector<NodeId> from, to;
  Translation of_source(source, ledger.terms), of_result(result, ledger.terms);
  for (const GraphOutput& output : source.outputs()) from.push_back(of_source(output.node));
  for (const GraphOutput& output : result.outputs()) to.push_back(of_result(output.node));
  ledger.closure.catch_up();
  for (size_t i = 0; i < from.size(); ++i)
    if (!ledger.closure.same(from[i], to[i]))
      return error(Code::internal,
                   "the rules applied do not lead from the source to the output `{0}`",
                   source.outputs()[i].name);
  Derivation out(source.shared_symbols());
  out.start = from;
  bool found = false;
  for (ChainManner manner :
       {ChainManner::Jointly, ChainManner::Everywhere, ChainManner::AlongForest,
        ChainManner::InPlace, ChainManner::ToTheLetter}) {
    if (found && manner > ChainManner::AlongForest) break;
    auto steps = find_chain(ledger, from, to, manner);
    if (!steps) continue;
    Derivation candidate(source.shared_symbols());
    candidate.start = from;
    candidate.steps = std::move(*steps);
    cut_loops(candidate);
    if (!found || candidate.steps.size() < out.steps.size()) out.steps = std::move(candidate.steps);
    found = true;
  }
  if (!found)
    return error(Code::internal, "no chain of less than 20,000 steps explains the result");
  out.terms = std::move(ledger.terms);
  return out;
}

} // namespace tg
