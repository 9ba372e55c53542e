// Tests properties of random well-typed programs (random_program.h): they pass the checks;
// the formatter is idempotent and preserves tree and graph; a graph's text reads back
// as the same graph; and optimised programs compute the same values on the reference backend.
// Seeds are fixed. A failure prints the program.
#include "compiler/api/backends/backends.h"
#include "compiler/api/backends/prepare.h"
#include "compiler/api/files/model.h"
#include "compiler/extract/cost/analytic.h"
#include "compiler/ir/graph.h"
#include "compiler/ir/to_text.h"
#include "compiler/optimizer/optimize.h"
#include "compiler/pricing/cost_model.h"
#include "compiler/rules/from_ast.h"
#include "lang/syntax/format.h"
#include "lang/syntax/parse.h"
#include "tests/property/programs/random_program.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tg {
namespace {

/// A program read from text, and its diagnostics.
struct Read {
  SourceManager sources;
  DiagnosticSink sink;
  FileId file;
  std::optional<Graph> graph;

  explicit Read(const std::string& text) : file(sources.add("random.tg", text)) {
    graph = load_model(sources, file, {}, sink);
  }
  std::string errors() const {
    std::string text;
    llvm::raw_string_ostream out(text);
    for (const Diagnostic& d : sink.all()) render(d, sources, out);
    return out.str();
  }
};

class Programs : public ::testing::TestWithParam<uint64_t> {};

TEST_P(Programs, KeepTheirMeaningWhenFormatted) {
  std::string text = test::RandomProgram(GetParam()).text();
  Read first(text);
  ASSERT_TRUE(first.graph) << first.errors() << text;
  std::optional<std::string> laid_out = format_file(first.sources, first.file, first.sink);
  ASSERT_TRUE(laid_out) << first.errors() << text;
  Read second(*laid_out);
  ASSERT_TRUE(second.graph) << second.errors() << *laid_out;
  EXPECT_EQ(difference(*first.graph, *second.graph), "") << text;
  std::optional<std::string> again = format_file(second.sources, second.file, second.sink);
  ASSERT_TRUE(again);
  EXPECT_EQ(*again, *laid_out) << "not idempotent:\n" << text;
}

TEST_P(Programs, ReadBackAsTheGraphThatWasWritten) {
  std::string text = test::RandomProgram(GetParam()).text();
  Read program(text);
  ASSERT_TRUE(program.graph) << program.errors() << text;
  std::string written = to_text(*program.graph);
  Read back(written);
  ASSERT_TRUE(back.graph) << back.errors() << written;
  EXPECT_EQ(difference(*program.graph, *back.graph), "") << written;
}

/// Computes a graph on the reference backend from the inputs and weights of a seed.
std::vector<Tensor> values_of(const Graph& graph) {
  Result<Prepared> prepared = prepare_with_inputs(graph, {.backend = "ref", .weights = {}});
  EXPECT_TRUE(prepared.ok()) << (prepared ? "" : prepared.error().message);
  if (!prepared) return {};
  Result<void> ran = prepared->executable->run_once();
  EXPECT_TRUE(ran.ok());
  Result<std::vector<Tensor>> outputs = prepared->executable->outputs();
  EXPECT_TRUE(outputs.ok());
  return std::move(*outputs);
}

OptimizeOptions options_for(uint64_t seed) {
  OptimizeOptions options;
  options.search = seed % 3 == 0 ? Search::Random : Search::Saturate;
  options.explore.iterations = 4;
  options.explore.node_limit = 600;
  options.explore.numerics = Numerics::Reassociates;
  options.explore.seed = seed;
  options.budget = 4;
  options.depth = 6;
  options.extract.extractor = Extractor::Greedy;
  return options;
}

/// Returns max_rel_diff. If every expected value is zero, the scale is 1,
/// as for inputs and weights: relu(v - max(v)) is zero in one order of rounding and 1e-8
/// in another.
double difference_of(const Tensor& got, const Tensor& expected) {
  TensorSummary zero = summarise(expected);
  if (!(zero.finite && zero.mean == 0 && zero.std == 0)) return max_rel_diff(got, expected);
  double largest = 0;
  for (double x : got.doubles()) largest = std::isfinite(x) ? std::max(largest, std::abs(x)) : 1;
  return got.type() == expected.type() ? largest : 1;
}

void expect_same_values(const Graph& source, const Graph& result, const std::string& text) {
  std::vector<Tensor> expected = values_of(source), got = values_of(result);
  ASSERT_EQ(expected.size(), got.size());
  for (size_t i = 0; i < got.size(); ++i)
    EXPECT_LE(difference_of(got[i], expected[i]), 1e-4) << "output " << i << " of\n"
                                                        << text << "\nbecame\n"
                                                        << to_text(result);
}

TEST_P(Programs, KeepTheirValuesWhenOptimised) {
  std::string text = test::RandomProgram(GetParam()).text();
  Read program(text);
  ASSERT_TRUE(program.graph) << program.errors() << text;
  auto rules = load_rules(program.sources, library(), {}, program.sink);
  ASSERT_TRUE(rules);
  auto costs = make_analytic_cost("cpu");
  auto result = optimize(*program.graph, *rules, **costs, options_for(GetParam()), nullptr);
  ASSERT_TRUE(result.ok()) << result.error().message << text;
  EXPECT_LE(result->report.cost_after_us, result->report.cost_before_us * (1 + 1e-9));
  expect_same_values(*program.graph, result->graph, text);
}

TEST_P(Programs, AreNeverDearerByGroupsAndKeepTheirValuesWhenRefined) {
  // The backend that fuses defines the groups, and a build with TG_CUDA=OFF does not have it.
  // A build with cuda runs this test on every machine, with a GPU or without.
  if (!find_backend("cuda")) GTEST_SKIP() << "built without cuda, the backend that fuses";
  std::string text = test::RandomProgram(GetParam()).text();
  Read program(text);
  ASSERT_TRUE(program.graph) << program.errors() << text;
  auto rules = load_rules(program.sources, library(), {}, program.sink);
  ASSERT_TRUE(rules);
  auto costs = make_cost_model({.spec = CostSpec::analytic("a100"), .cost_db = {}, .progress = {}},
                               *program.graph);
  ASSERT_TRUE(costs.ok());
  ASSERT_TRUE((*costs)->groups());
  OptimizeOptions options = options_for(GetParam());
  options.groups = true;
  options.refine.most_priced = 40;
  auto result = optimize(*program.graph, *rules, **costs, options, nullptr);
  ASSERT_TRUE(result.ok()) << result.error().message << text;
  ASSERT_TRUE(result->report.groups) << text;
  const GroupReport& groups = *result->report.groups;
  EXPECT_LE(groups.after.microseconds, groups.before.microseconds * (1 + 1e-9)) << text;
  // The result may have a higher operator price than the source. Then the source is returned.
  bool kept = difference(*program.graph, result->graph).empty();
  EXPECT_TRUE(kept || groups.after.microseconds <= groups.found->microseconds * (1 + 1e-9)) << text;
  EXPECT_LE(result->report.cost_after_us, result->report.cost_before_us * (1 + 1e-9)) << text;
  expect_same_values(*program.graph, result->graph, text);
}

INSTANTIATE_TEST_SUITE_P(Seeds, Programs, ::testing::Range<uint64_t>(1, 101));

} // namespace
} // namespace tg
