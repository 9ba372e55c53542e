// Tests the search from the form in which a result is used, with invented forms.
#include "compiler/optimizer/optimize.h"

#include "compiler/api/files/model.h"
#include "compiler/extract/cost/analytic.h"
#include "compiler/ir/graph.h"
#include "compiler/rules/from_ast.h"
#include "lang/syntax/parse.h"

#include <gtest/gtest.h>

namespace tg {
namespace {

class UsedForms : public testing::Test {
protected:
  UsedForms() : source_(std::make_shared<Symbols>(), "m") {
    source_ = of({OpKind::Tanh});
    options_.extract.extractor = Extractor::Greedy;
    options_.explore.time_limit_s = 60;
  }

  /// Returns these operators, applied to an input one after the other.
  Graph of(std::vector<OpKind> ops) const {
    Graph graph(source_.shared_symbols(), "m");
    NodeId x = graph.input("x", f32({64, 64}));
    for (OpKind op : ops) x = graph.add(op, {}, {x});
    graph.add_output("y", x);
    return graph;
  }

  /// The source is used as `form`, and other graphs as they are.
  void use_source_as(const Graph& form) {
    options_.used_as = [this, form](const Graph& graph) -> std::optional<UsedForm> {
      const Graph& used = difference(graph, source_).empty() ? form : graph;
      return UsedForm{used, used.op_count(), digest(used), {}, true};
    };
  }

  Optimized run() {
    auto rules = load_rules(sources_, library(), {}, sink_);
    EXPECT_TRUE(rules);
    auto costs = make_analytic_cost("cpu");
    auto result = optimize(source_, *rules, **costs, options_, nullptr);
    EXPECT_TRUE(result.ok());
    return std::move(*result);
  }

  SourceManager sources_;
  DiagnosticSink sink_;
  Graph source_;
  OptimizeOptions options_;
};

/// Nothing is better than the source, but its form can be improved: a later run, which starts
/// from that form, must find nothing more.
TEST_F(UsedForms, TheFormOfTheSourceIsSearched) {
  use_source_as(of({OpKind::Relu, OpKind::Relu}));
  Optimized result = run();
  EXPECT_EQ(difference(result.graph, of({OpKind::Relu})), "");
  EXPECT_TRUE(result.report.changed());
  ASSERT_EQ(result.report.rules_applied.size(), 1u);
  EXPECT_NE(result.report.rules_applied[0].rule.find("relu"), std::string::npos);
}

TEST_F(UsedForms, AFormWithoutGainKeepsTheSource) {
  use_source_as(of({OpKind::Relu}));
  EXPECT_EQ(difference(run().graph, source_), "");
}

} // namespace
} // namespace tg
