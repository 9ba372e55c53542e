// Tests that an extraction reports its cost and bound, and that Ctrl-C ends it, as for a search.
#include "compiler/api/files/model.h"
#include "compiler/extract/cost/analytic.h"
#include "compiler/optimizer/optimize.h"
#include "compiler/rules/from_ast.h"

#include <gtest/gtest.h>

namespace tg {
namespace {

constexpr const char* kModel = "model m(x: f32[8, 64]) -> (y: f32[8, 32]) {\n"
                               "  param a: f32[64, 64]\n  param b: f32[64, 32]\n"
                               "  tanh(relu(x @ a) @ b)\n}\n";

class Following : public testing::Test {
protected:
  SourceManager sources;
  DiagnosticSink sink;
  OptimizeOptions options;

  void SetUp() override {
    options.search = Search::Saturate;
    options.extract.extractor = Extractor::Best;
  }
  Result<Optimized> run() {
    std::optional<Graph> source = load_model(sources, sources.add("test.tg", kModel), {}, sink);
    auto rules = load_rules(sources, library(), {}, sink);
    EXPECT_TRUE(source && rules);
    AnalyticCost costs(*find_device_profile("cpu"));
    return optimize(*source, *rules, costs, options, nullptr);
  }
};

TEST_F(Following, CostsFallAndBoundsRise) {
  std::vector<SearchProgress> told;
  options.portfolio.progress = [&](const SearchProgress& now) {
    if (now.where == "extraction") told.push_back(now);
  };
  Result<Optimized> result = run();
  ASSERT_TRUE(result.ok());
  ASSERT_FALSE(told.empty());
  for (size_t i = 0; i < told.size(); ++i) {
    EXPECT_LE(told[i].bound_us, told[i].best_us * (1 + 1e-6));
    if (i == 0) continue;
    EXPECT_LE(told[i].best_us, told[i - 1].best_us);
    EXPECT_GE(told[i].bound_us, told[i - 1].bound_us);
  }
  EXPECT_GE(told.back().best_us, result->report.cost_after_us - 1e-2) << "ties are priced, too";
}

TEST_F(Following, AnEndedSearchHasAnAnswer) {
  Cancellation cancel;
  cancel.request();
  options.time = TimePlan(StopToken(&cancel));
  Result<Optimized> result = run();
  ASSERT_TRUE(result.ok());
  EXPECT_LE(result->report.cost_after_us, result->report.cost_before_us);
}

TEST_F(Following, AnExtractionThatIsEndedHasAnAnswer) {
  Cancellation cancel;
  options.time = TimePlan(StopToken(&cancel));
  options.portfolio.progress = [&](const SearchProgress& now) {
    if (now.where == "extraction") cancel.request();
  };
  Result<Optimized> result = run();
  ASSERT_TRUE(cancel.requested());
  ASSERT_TRUE(result.ok());
  EXPECT_LE(result->report.cost_after_us, result->report.cost_before_us);
}

} // namespace
} // namespace tg
