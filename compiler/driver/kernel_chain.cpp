// The rules of that kind alone saturate a small e-graph in a few rounds, one
// for each operator that goes into a kernel; its history has the chain.
#include "compiler/driver/kernel_chain.h"

#include "compiler/egraph/explain.h"
#include "compiler/search/saturate.h"

namespace tg {

namespace {

/// f(op(...)) => op(..., act = f), op(...) + b => op(..., bias = b) and their
/// like.
bool fuses(const Rule& rule) {
  if (rule.multi() || rule.rhs.size() != 1) return false;
  const Term &left = rule.terms[rule.lhs.front()], &right = rule.terms[rule.rhs.front()];
  return left.kind == Term::Kind::Op && op_info(left.op).has(Trait::Pointwise) &&
         right.kind == Term::Kind::Op && (right.op == OpKind::Conv2d || right.op == OpKind::Matmul);
}

} // namespace

Result<Derivation> explain_kernels(const Graph& plain, const Graph& fused,
                                   llvm::ArrayRef<Rule> rules, Numerics numerics) {
  std::vector<Rule> fusing;
  std::vector<RuleId> number;
  for (size_t r = 0; r < rules.size(); ++r) {
    if (rules[r].numerics > numerics || !fuses(rules[r])) continue;
    fusing.push_back(rules[r]);
    number.push_back(static_cast<RuleId>(r));
  }
  SaturateOptions options;
  options.iterations = 4; // two sums and an activation
  options.numerics = numerics;
  EGraph egraph = EGraph::from_graph(plain);
  egraph.record_history();
  saturate(egraph, fusing, options);
  TG_TRY(Derivation chain, explain(history_of(egraph), fusing, plain, fused));
  for (DerivationStep& step : chain.steps) step.rule = number[step.rule];
  return chain;
}

} // namespace tg
