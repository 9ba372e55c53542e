// Saturates a small e-graph with the fusion rules only, in a few rounds, one for each operator
// fused into a kernel. The chain comes from its history.
#include "compiler/optimizer/explanation.h"

#include "compiler/egraph/explain/explain.h"
#include "compiler/extract/extract.h"
#include "compiler/search/saturate.h"

#include <algorithm>

namespace tg {

namespace {

constexpr double kSecondsOfExtraction = 1; // a class is one operator or one of a few kernels

/// Returns true for rules such as f(op(...)) => op(..., act = f) and
/// op(...) + b => op(..., bias = b).
bool fuses(const Rule& rule) {
  if (rule.multi() || rule.rhs.size() != 1) return false;
  const Term &left = rule.terms[rule.lhs.front()], &right = rule.terms[rule.rhs.front()];
  return left.kind == Term::Kind::Op && op_info(left.op).has(Trait::Pointwise) &&
         right.kind == Term::Kind::Op && (right.op == OpKind::Conv2d || right.op == OpKind::Matmul);
}

struct FusingRules {
  std::vector<Rule> rules;
  std::vector<RuleId> number; // RuleId of each among all rules
};

FusingRules fusing_rules(llvm::ArrayRef<Rule> rules, Numerics numerics) {
  FusingRules out;
  for (size_t r = 0; r < rules.size(); ++r) {
    if (!admits(numerics, rules[r]) || !fuses(rules[r])) continue;
    out.rules.push_back(rules[r]);
    out.number.push_back(static_cast<RuleId>(r));
  }
  return out;
}

void fuse(EGraph& egraph, const FusingRules& fusing, Numerics numerics) {
  SaturateOptions options;
  options.iterations = 4; // two sums and an activation
  options.numerics = numerics;
  saturate(egraph, fusing.rules, options);
}

} // namespace

Result<Derivation> explain_kernels(const Graph& plain, const Graph& fused,
                                   llvm::ArrayRef<Rule> rules, Numerics numerics) {
  FusingRules fusing = fusing_rules(rules, numerics);
  EGraph egraph = egraph_of(plain);
  egraph.record_history();
  fuse(egraph, fusing, numerics);
  TG_TRY(Derivation chain, explain(history_of(egraph), fusing.rules, plain, fused));
  chain.each_step([&](DerivationStep& step) { step.rule = fusing.number[step.rule]; });
  return chain;
}

Graph with_fused_kernels(const Graph& graph, llvm::ArrayRef<Rule> rules, PriceCache& prices,
                         Numerics numerics, Extractor extractor) {
  FusingRules fusing = fusing_rules(rules, numerics);
  EGraph egraph = egraph_of(graph);
  fuse(egraph, fusing, numerics);
  ExtractOptions options;
  options.extractor = extractor;
  options.ilp.time_limit_s = kSecondsOfExtraction;
  Result<ExtractedGraph> found = extract(egraph, graph, prices, options);
  bool pays = found && price_graph(found->graph, prices) <= price_graph(graph, prices);
  return pays ? std::move(found->graph) : graph;
}

std::optional<WithKernels> use_kernels(const Graph& graph, llvm::ArrayRef<Rule> rules,
                                       PriceCache& prices, Numerics numerics) {
  if (prices.patterns().empty()) return std::nullopt;
  ExtractOptions options;
  options.extractor = Extractor::Best;
  options.ilp.time_limit_s = kSecondsOfExtraction;
  options.kernels = true;
  Result<ExtractedGraph> found = extract(egraph_of(graph), graph, prices, options);
  if (!found || !found->plain) return std::nullopt;
  double cost = price_graph(found->graph, prices);
  if (!(cost < price_graph(graph, prices) * (1 - kLeastGain))) return std::nullopt;
  Result<Derivation> chain = explain_kernels(graph, found->graph, rules, numerics);
  if (!chain) return std::nullopt;
  return WithKernels{std::move(found->graph), cost, std::move(*chain)};
}

} // namespace tg
