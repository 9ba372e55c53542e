#include "compiler/import/text/composites.h"

#include "compiler/import/text/import_text.h"
#include "compiler/rules/from_ast.h"
#include "compiler/rules/rewrite.h"
#include "compiler/rules/sides.h"
#include "lang/syntax/parse.h"

#include <cassert>
#include <cstring>

namespace tg {
namespace {

constexpr OpKind kCompositeOperators[] = {OpKind::Attention, OpKind::LayerNorm, OpKind::BatchNorm,
                                          OpKind::Softmax,   OpKind::Gelu,      OpKind::Hardswish,
                                          OpKind::Mish};

/// Composites that are functions of the library.
struct CompositeRow {
  llvm::StringLiteral function, composite;
};
constexpr CompositeRow kComposites[] = {{"silu", "silu"},
                                        {"hard_sigmoid", "hard_sigmoid"},
                                        {"gelu_sigmoid", "gelu_sigmoid"},
                                        {"gelu_tanh", "gelu_tanh"},
                                        {"gelu_logistic", "gelu_tanh"},
                                        {"rms_scaled", "rms_norm"},
                                        {"rms_scaled_wide", "rms_norm"},
                                        {"group_scaled", "group_norm"},
                                        {"instance_scaled", "group_norm"},
                                        {"turned", "rotary"},
                                        {"turned_pairs", "rotary"},
                                        {"attention", "attention in steps"},
                                        {"masked_attention", "attention in steps"},
                                        {"safe_attention", "attention in steps"},
                                        {"shared_attention", "attention in steps"}};

/// Pieces that look like a composite, the more specific first. Right sides are not used.
struct NearRow {
  llvm::StringLiteral composite, reason, rule;
};
constexpr NearRow kNear[] = {
    {"attention", "the mask is added after the softmax",
     "(s, m, v, axis) risky { (softmax(s, axis) + m) @ v => s @ v }"},
    {"attention", "the softmax is multiplied before its product with the values",
     "(s, m, v, axis) risky { (softmax(s, axis) * m) @ v => s @ v }"},
    {"attention", "the softmax is not along the keys",
     "(s, v, axis) risky { softmax(s, axis) @ v => s @ v where axis != rank(s) - 1 }"},
    {"attention", "the scores are more than a product of queries and keys with a mask",
     "(s, v, axis) risky { softmax(s, axis) @ v => s @ v }"},
    {"attention", "rows are replaced between the softmax and its product with the values",
     "(s, c, v, axis) risky { select(c, 0.0, softmax(s, axis)) @ v => s @ v }"},
    {"attention", "the softmax passes through other operators before its product with the values",
     "(s, v, t, axis) risky { reshape(softmax(s, axis), t) @ v => v }"},
    {"layer_norm", "epsilon is added to the deviation, not to the variance",
     "(x, e, a) risky { let d = x - reduce_mean(x, axes = a, keepdims = true)\n"
     "  d / (sqrt(reduce_mean(d * d, axes = a, keepdims = true)) + e) => d / e }"},
    {"layer_norm", "the means are not along the last axis alone",
     "(x, e, a) risky { let d = x - reduce_mean(x, axes = a, keepdims = true)\n"
     "  d / sqrt(reduce_mean(d * d, axes = a, keepdims = true) + e) => d / e\n"
     "  where a != [rank(x) - 1] }"},
    {"layer_norm", "the means are not along the last axis alone",
     "(x, e, a) risky { let d = x - reduce_mean(x, axes = a, keepdims = true)\n"
     "  d * rsqrt(reduce_mean(d * d, axes = a, keepdims = true) + e) => d / e\n"
     "  where a != [rank(x) - 1] }"},
    {"rms_norm", "the squares are summed, not averaged",
     "(x, e, a) risky { x * rsqrt(reduce_sum(x * x, axes = a, keepdims = true) + e) => x / e }"},
    {"gelu", "the operand of erf is not x / sqrt(2)",
     "(x, a) risky { x * (1 + erf(x * full([], a))) => x }"},
    {"gelu", "the operand of erf is not x / sqrt(2)",
     "(x, a) risky { x * (1 + erf(x / full([], a))) => x }"},
    {"gelu_tanh", "the factors are not sqrt(2 / pi) and 0.044715",
     "(x, a, b) risky {\n"
     "  x * (1 + tanh(full([], a) * (x + full([], b) * (x * x * x)))) => x\n"
     "  where a < 0.7978 or a > 0.798 or b < 0.0447 or b > 0.04473 }"},
    {"gelu_sigmoid", "the operand of sigmoid is not 1.702 * x",
     "(x, a) risky { x * sigmoid(x * full([], a)) => x }"},
    {"hardswish", "the bounds or the divisor are not those of relu6(x + 3) / 6",
     "(x, a, b, c) risky { x * clip(x + full([], a), b, c) => x }"}};

/// The rows of kNear as rules, in their order. A row may give several rules, in other orders of
/// operands, with the same declared name.
std::vector<Rule> near_rules() {
  std::string text;
  for (size_t row = 0; row < std::size(kNear); ++row)
    text += "rule near_" + std::to_string(row) + kNear[row].rule.str() + "\n";
  SourceManager sources;
  DiagnosticSink sink;
  Ast tree = parse(sources, sources.add("<pieces like composites>", text), sink);
  std::vector<Rule> rules = rules_from_ast(tree, sources, sink, nullptr, RuleTypes::Known);
  assert(!sink.failed() && "the built-in rules parse");
  return rules;
}

void add_near(std::vector<NearComposite>& near, llvm::StringRef composite, llvm::StringRef reason,
              size_t count) {
  for (NearComposite& row : near)
    if (row.composite == composite && row.reason == reason) {
      row.count += count;
      return;
    }
  near.push_back({composite.str(), reason.str(), count});
}

/// Returns the operator that a node applies as a composite: itself, or its activation.
std::optional<OpKind> composite_operator(const Graph& graph, NodeId id) {
  const OpInfo& op = op_info(graph.node(id).op);
  if (llvm::is_contained(kCompositeOperators, op.kind)) return op.kind;
  int slot = op.attr_slot("act");
  if (slot < 0) return std::nullopt;
  std::optional<Act> act = parse_act(graph.attr(id, static_cast<size_t>(slot)).text);
  std::optional<OpKind> applied = act ? act_op(*act) : std::nullopt;
  return applied && llvm::is_contained(kCompositeOperators, *applied) ? applied : std::nullopt;
}

} // namespace

Composites composites_of(const Graph& fused) {
  Graph graph = without_fused(fused);
  std::vector<bool> counted = graph.reachable();
  Composites result;
  llvm::DenseMap<uint32_t, std::string> names;
  for (const GraphCall& call : library_calls(graph, names)) {
    const auto* row =
        llvm::find_if(kComposites, [&](auto& f) { return f.function == call.function; });
    if (row == std::end(kComposites)) continue;
    add_count(result.found, row->composite, 1);
    counted[call.root.index] = false;
    for (NodeId node : call.inner) counted[node.index] = false;
  }
  for (uint32_t i = 0; i < graph.size(); ++i)
    if (counted[i])
      if (std::optional<OpKind> op = composite_operator(graph, {i}))
        add_count(result.found, op_info(*op).name, 1);
  llvm::sort(result.found, [](auto& a, auto& b) { return a.rule < b.rule; });
  std::vector<Rule> rules = near_rules();
  for (const RuleMatchIn& match : closed_matches(graph, rules, /*either_order=*/true)) {
    if (!counted[match.root.index]) continue;
    const NearRow& row = kNear[std::stoul(rules[match.rule].declared.substr(std::strlen("near_")))];
    add_near(result.near, row.composite, row.reason, 1);
  }
  return result;
}

} // namespace tg
