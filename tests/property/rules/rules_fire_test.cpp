// Tests that every library rule fires: on the graph of its own left side, at a random instance,
// the engine finds the match and adds the right side to the same class. So no rule is dead
// for an unnoticed reason (a normal form, a type, a condition). A rule that sorts operands does
// nothing if they are sorted already; its other orders fire.
#include "compiler/egraph/egraph.h"
#include "compiler/rules/instances/sample.h"
#include "compiler/search/saturate.h"
#include "tests/property/rules/library.h"

#include <gtest/gtest.h>

#include <set>

namespace tg {
namespace {

/// Returns true if both sides are the same terms.
bool is_done(const Rule& rule, const std::shared_ptr<Symbols>& symbols,
             const RuleInstance& instance) {
  Graph graph(symbols);
  std::vector<NodeId> nodes;
  for (const auto* side : {&rule.lhs, &rule.rhs})
    for (TermId root : *side) {
      NodeId node = build_term(graph, rule, instance, root, nodes);
      if (!node.valid()) return false; // no types fit the right side here
      graph.add_output("y" + std::to_string(root), node);
    }
  EGraph egraph = egraph_of(graph);
  for (size_t i = 0; i < rule.lhs.size(); ++i)
    if (egraph.roots()[i].id != egraph.roots()[rule.lhs.size() + i].id) return false;
  return true;
}

/// Returns true if one iteration with only this rule changes the e-graph of the instance's left
/// side.
bool fires(const Rule& rule, const std::shared_ptr<Symbols>& symbols,
           const RuleInstance& instance) {
  Graph graph(symbols);
  std::vector<NodeId> nodes;
  for (TermId root : rule.lhs)
    graph.add_output("y" + std::to_string(root), build_term(graph, rule, instance, root, nodes));
  EGraph egraph = egraph_of(graph);
  SaturateOptions options;
  options.iterations = options.multi_iterations = 1;
  SaturateReport report = saturate(egraph, {rule}, options);
  return report.rules[0].applied > 0;
}

/// Orders of operands in which the left side equals the right side already.
/// Exactly these rules must not fire.
const std::set<std::string> kIdle = {"gelu_logistic_in_order",  "gelu_sigmoid_in_order",
                                     "gelu_tanh_in_order",      "rms_norm_in_order",
                                     "silu_in_order",           "weight_added_last~2",
                                     "weight_multiplied_last~2"};

TEST(RuleLibrary, EveryRuleFires) {
  std::set<std::string> declared, at_work, idle;
  for (const Rule& rule : test::library()) {
    if (rule.native != Native::No) continue;
    auto symbols = std::make_shared<Symbols>();
    RuleSampler sampler(*symbols, rule, /*seed=*/11);
    bool fired = false, done = true;
    for (int i = 0; i < 200 && !fired; ++i)
      if (std::optional<RuleInstance> instance = sampler.draw(20000)) {
        fired = fires(rule, symbols, *instance);
        done &= is_done(rule, symbols, *instance);
      }
    EXPECT_TRUE(fired || done) << rule_text(rule);
    declared.insert(rule.declared);
    (fired ? at_work : idle).insert(fired ? rule.declared : rule.name);
  }
  EXPECT_EQ(declared, at_work); // in some order of operands
  EXPECT_EQ(idle, kIdle);
}

} // namespace
} // namespace tg
