// Every rule of the library fires: on the graph of its own left side, at a random instance, the
// engine finds the match and puts the right side into the same class. So no rule is dead for a
// reason that its author did not see (a normal form, a type, a condition).
#include "compiler/egraph/egraph.h"
#include "compiler/rules/instances/sample.h"
#include "compiler/search/saturate.h"
#include "tests/property/rules/library.h"

#include <gtest/gtest.h>

namespace tg {
namespace {

/// Whether one iteration with this rule alone changes the e-graph of the instance's left side.
bool fires(const Rule& rule, const std::shared_ptr<Symbols>& symbols,
           const RuleInstance& instance) {
  Graph graph(symbols);
  std::vector<NodeId> nodes;
  for (TermId root : rule.lhs)
    graph.add_output("y" + std::to_string(root), build_term(graph, rule, instance, root, nodes));
  EGraph egraph = EGraph::from_graph(graph);
  SaturateOptions options;
  options.iterations = options.multi_iterations = 1;
  SaturateReport report = saturate(egraph, {rule}, options);
  return report.rules[0].applied > 0;
}

TEST(RuleLibrary, EveryRuleFires) {
  for (const Rule& rule : test::library()) {
    if (rule.native != Native::No) continue;
    auto symbols = std::make_shared<Symbols>();
    RuleSampler sampler(*symbols, rule, /*seed=*/11);
    bool fired = false;
    for (int i = 0; i < 200 && !fired; ++i)
      if (std::optional<RuleInstance> instance = sampler.draw(20000))
        fired = fires(rule, symbols, *instance);
    EXPECT_TRUE(fired) << rule_text(rule);
  }
}

} // namespace
} // namespace tg
