// Tests explanations over random walks through an e-graph: rounds of applying, undoing
// and redoing, then a random choice of nodes. The chain that explains the choice has
// to pass the checker, which does not use an e-graph.
#include "compiler/api/files/model.h"
#include "compiler/egraph/explain/explain.h"
#include "compiler/extract/extract.h"
#include "compiler/search/explorer.h"
#include "compiler/search/portfolio/portfolio.h"
#include "compiler/verify/replay.h"
#include "tests/property/rules/library.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace tg {
namespace {

struct Case {
  const char *model, *rules;
};

const Case kCases[] = {
    {"model m(x: f32[4, 6]) {\n"
     "  param a: f32[6, 5]\n  param b: f32[6, 5]\n  param c: f32[5, 3]\n"
     "  relu(x @ a + x @ b) @ c + (x @ a) @ c\n}\n",
     "matmul,explore,algebra"},
    {"model m(x: f32[1, 4, 6, 6]) {\n"
     "  param w: f32[4, 4, 3, 3]\n  param v: f32[4, 4, 1, 1]\n  param b: f32[4, 1, 1]\n"
     "  let y = relu(conv2d(x, w, pad = same) + b)\n"
     "  y + conv2d(y, v, pad = same)\n}\n",
     "conv,fuse,algebra"},
    {"model m(x: f32[2, 8], y: f32[2, 8]) {\n"
     "  let s = tanh(x * y + x)\n  (sigmoid(s) * s, relu(s) + x * y)\n}\n",
     "fuse,explore,algebra"},
    {"model m(x: f32[2, 3, 4]) {\n"
     "  let t = transpose(transpose(x, perm = [0, 2, 1]), perm = [1, 0, 2])\n"
     "  reshape(concat([t, t], axis = 1), [2, 24]) * 2.0\n}\n",
     "layout,shape,algebra"},
};

std::optional<Graph> model_of(const char* text) {
  SourceManager sources;
  DiagnosticSink sink;
  std::optional<Graph> graph = load_model(sources, sources.add("m.tg", text), {}, sink);
  for (const Diagnostic& d : sink.all()) render(d, sources, llvm::errs());
  return graph;
}

std::vector<Rule> rules_of(const char* sets) {
  llvm::SmallVector<llvm::StringRef, 4> names;
  llvm::StringRef(sets).split(names, ',');
  return test::library({names.begin(), names.end()});
}

/// Random prices: any graph of the e-graph may be the cheapest.
class RandomCost final : public CostModel {
public:
  explicit RandomCost(uint64_t seed) : seed_(seed) {}
  std::string name() const override { return "random"; }
  double price(const Symbols& symbols, const OpInstance& instance) override {
    std::mt19937_64 rng(seed_ ^ std::hash<std::string>()(instance_key(symbols, instance)));
    return std::pow(10, static_cast<double>(rng() % 1000) / 200);
  }

private:
  uint64_t seed_;
};

class Walk {
public:
  Walk(EGraph& egraph, llvm::ArrayRef<Rule> rules, uint64_t seed)
      : egraph_(egraph), explorer_(egraph, rules, {400, 200, {}, {}}), rng_(seed) {
    explorer_.settle();
  }

  /// Applies some of the present matches.
  void apply(int count) {
    std::vector<Match> matches;
    explorer_.find_new(0, matches);
    for (int i = 0; i < count && !matches.empty() && !explorer_.full(); ++i)
      explorer_.apply(matches[rng_() % matches.size()]);
    explorer_.settle();
  }

  void round() {
    Checkpoint here = egraph_.checkpoint();
    apply(12);
    if (rng_() % 2) {
      Delta delta = egraph_.take_back(here);
      explorer_.moved();
      apply(5); // an excursion
      egraph_.rollback(here);
      if (rng_() % 3) {
        ASSERT_TRUE(egraph_.redo(delta));
      }
      explorer_.moved();
    }
    egraph_.release(here);
  }

private:
  EGraph& egraph_;
  Explorer explorer_;
  std::mt19937_64 rng_;
};

TEST(Explain, ChainsOfRandomWalksAreConfirmed) {
  size_t steps = 0;
  for (const Case& c : kCases) {
    std::optional<Graph> source = model_of(c.model);
    ASSERT_TRUE(source) << c.model;
    std::vector<Rule> rules = rules_of(c.rules);
    ASSERT_FALSE(rules.empty());
    for (uint64_t seed = 0; seed < 60; ++seed) {
      EGraph egraph = egraph_of(*source);
      egraph.record_history();
      Walk walk(egraph, rules, seed);
      for (int round = 0; round < 8; ++round) walk.round();
      RandomCost costs(seed);
      PriceCache prices(egraph.symbols(), costs);
      ExtractOptions options;
      options.extractor = Extractor::Greedy;
      options.max_weight_growth = 1e6;
      Result<ExtractedGraph> found = extract(egraph, *source, prices, options);
      ASSERT_TRUE(found) << found.error().message;
      Result<Derivation> chain = explain(history_of(egraph), rules, *source, found->graph);
      ASSERT_TRUE(chain) << chain.error().message << "\nseed " << seed << "\n"
                         << dump(*source) << dump(found->graph);
      EXPECT_EQ(replay(*chain, rules, *source, found->graph), "")
          << "seed " << seed << "\n"
          << dump(*source) << dump(found->graph);
      steps += chain->steps.size();
    }
  }
  EXPECT_GT(steps, 300u); // otherwise the walks changed nothing
}

const char* const kLayers =
    "fn layer(x: f32[N, D]) -> f32[N, D] {\n  param w: f32[D, D]\n  param b: f32[D]\n"
    "  relu(relu(x @ w + b)) + x\n}\n"
    "model m(x: f32[4, 8]) {\n  var y = x\n  for i in 0..5 { y = layer(y) }\n  y\n}\n";

/// Prices every operator equally, so that fewer operators are better.
class CountCost final : public CostModel {
public:
  std::string name() const override { return "count"; }
  double price(const Symbols&, const OpInstance&) override { return 1; }
};

TEST(Explain, SearchesOfSegmentsAreToldOfTheWhole) {
  std::optional<Graph> source = model_of(kLayers);
  std::vector<Rule> rules = rules_of("fuse,algebra");
  ASSERT_TRUE(source && !rules.empty());
  for (bool whole : {false, true}) {
    CountCost costs;
    PortfolioOptions options;
    options.explain = true;
    options.use_saturation = whole;
    options.use_segments = !whole;
    options.threads = 2;
    options.segments = {2, 5, 3};
    options.mcts.explore.node_limit = options.saturate.node_limit = whole ? 45 : 80;
    options.mcts.budget = 16;
    PortfolioReport report = search_portfolio(*source, rules, costs, options);
    ASSERT_TRUE(report.changed);
    ASSERT_TRUE(report.chain) << report.unexplained;
    EXPECT_GE(report.chain->steps.size(), 10u); // steps for each layer
    EXPECT_EQ(replay(*report.chain, rules, *source, report.graph), "");
  }
}

/// A valid chain, for tests of the checker's error after a change.
class BrokenChains : public testing::Test {
protected:
  void SetUp() override {
    source_ = model_of(kCases[0].model);
    rules_ = rules_of(kCases[0].rules);
    ASSERT_TRUE(source_);
    for (uint64_t seed = 0; !chain_ || chain_->steps.size() < 2; ++seed) {
      ASSERT_LT(seed, 50u);
      EGraph egraph = egraph_of(*source_);
      egraph.record_history();
      Walk walk(egraph, rules_, seed);
      for (int round = 0; round < 8; ++round) walk.round();
      RandomCost costs(seed);
      PriceCache prices(egraph.symbols(), costs);
      ExtractOptions options;
      options.extractor = Extractor::Greedy;
      Result<ExtractedGraph> found = extract(egraph, *source_, prices, options);
      ASSERT_TRUE(found);
      result_ = found->graph;
      Result<Derivation> chain = explain(history_of(egraph), rules_, *source_, *result_);
      ASSERT_TRUE(chain) << chain.error().message;
      chain_ = std::move(*chain);
    }
    ASSERT_EQ(said(), "");
  }
  std::string said() const { return replay(*chain_, rules_, *source_, *result_); }

  std::optional<Graph> source_, result_;
  std::vector<Rule> rules_;
  std::optional<Derivation> chain_;
};

TEST_F(BrokenChains, AStepIsMissing) {
  chain_->steps.pop_back();
  EXPECT_NE(said().find("does not end at the result"), std::string::npos) << said();
}

TEST_F(BrokenChains, AStepIsOfAnotherRule) {
  RuleId& rule = chain_->steps[0].rule;
  rule = static_cast<RuleId>((rule + 1) % rules_.size());
  EXPECT_NE(said().find("step 1"), std::string::npos) << said();
}

TEST_F(BrokenChains, AStepGoesTheWrongWay) {
  chain_->steps[0].forward = !chain_->steps[0].forward;
  EXPECT_NE(said().find("step 1"), std::string::npos) << said();
}

TEST_F(BrokenChains, AnOutputIsAnother) {
  std::swap(chain_->end[0], chain_->start[0]);
  EXPECT_NE(said(), "");
}

TEST_F(BrokenChains, SomethingElseIsPutThere) {
  Exchange& exchange = chain_->steps[0].exchanges[0];
  exchange.to = exchange.from;
  EXPECT_NE(said().find("step 1"), std::string::npos) << said();
}

TEST_F(BrokenChains, TheRuleSaysSomethingElse) {
  // As if the optimiser had used a rule other than the written one.
  for (DerivationStep& step : chain_->steps) {
    Rule& rule = rules_[step.rule];
    if (rule.native == Native::No) rule.rhs = rule.lhs;
  }
  EXPECT_NE(said(), "");
}

} // namespace
} // namespace tg
