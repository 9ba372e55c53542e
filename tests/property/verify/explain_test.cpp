// Tests explanations over random walks through an e-graph: rounds of applying, undoing
// and redoing, then a random choice of nodes. The chain that explains the choice has
// to pass the checker, which does not use an e-graph.
#include "compiler/api/files/model.h"
#include "compiler/egraph/explain/explain.h"
#include "compiler/egraph/explain/instantiate.h"
#include "compiler/extract/extract.h"
#include "compiler/optimizer/optimize.h"
#include "compiler/pricing/cost_model.h"
#include "compiler/search/explorer.h"
#include "compiler/search/portfolio/portfolio.h"
#include "compiler/search/saturate.h"
#include "compiler/verify/replay.h"
#include "tests/property/rules/library.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
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
    explorer_.rebuild();
  }

  /// Applies some of the present matches.
  void apply(int count) {
    std::vector<Match> matches;
    explorer_.find_new(0, matches);
    for (int i = 0; i < count && !matches.empty() && !explorer_.full(); ++i)
      explorer_.apply(matches[rng_() % matches.size()]);
    explorer_.rebuild();
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

/// A graph that was extracted from an e-graph after a random walk.
struct Walked {
  Graph graph;
  History history;
};

std::optional<Walked> walk_and_extract(const Graph& source, llvm::ArrayRef<Rule> rules,
                                       uint64_t seed) {
  EGraph egraph = egraph_of(source);
  egraph.record_history();
  Walk walk(egraph, rules, seed);
  for (int round = 0; round < 8; ++round) walk.round();
  RandomCost costs(seed);
  PriceCache prices(egraph.symbols(), costs);
  ExtractOptions options;
  options.extractor = Extractor::Greedy;
  options.max_weight_growth = 1e6;
  Result<ExtractedGraph> found = extract(egraph, source, prices, options);
  EXPECT_TRUE(found) << (found ? "" : found.error().message);
  if (!found) return std::nullopt;
  return Walked{std::move(found->graph), history_of(egraph)};
}

TEST(Explain, ChainsOfRandomWalksAreConfirmed) {
  size_t steps = 0;
  for (const Case& c : kCases) {
    std::optional<Graph> source = model_of(c.model);
    ASSERT_TRUE(source) << c.model;
    std::vector<Rule> rules = rules_of(c.rules);
    ASSERT_FALSE(rules.empty());
    for (uint64_t seed = 0; seed < 60; ++seed) {
      std::optional<Walked> found = walk_and_extract(*source, rules, seed);
      ASSERT_TRUE(found);
      Result<Derivation> chain = explain(found->history, rules, *source, found->graph);
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

// The same kinds of models with a size N.
const Case kOpenCases[] = {
    {"model m(x: f32[N, 6], N: int = 3) {\n"
     "  param a: f32[6, 5]\n  param b: f32[6, 5]\n  param c: f32[5, 3]\n"
     "  relu(x @ a + x @ b) @ c + (x @ a) @ c\n}\n",
     "matmul,explore,algebra"},
    {"model m(x: f32[N, 4, 6, N], N: int = 3) {\n"
     "  param w: f32[4, 4, 3, 3]\n  param v: f32[4, 4, 1, 1]\n  param b: f32[4, 1, 1]\n"
     "  let y = relu(conv2d(x, w, pad = same) + b)\n"
     "  y + conv2d(y, v, pad = same)\n}\n",
     "conv,fuse,algebra"},
    {"model m(x: f32[N, 8], y: f32[N, 8], N: int = 3) {\n"
     "  let s = tanh(x * y + x)\n  (sigmoid(s) * s, relu(s) + x * y)\n}\n",
     "fuse,explore,algebra"},
    {"model m(x: f32[2, N, 4], N: int = 3) {\n"
     "  let t = transpose(transpose(x, perm = [0, 2, 1]), perm = [1, 0, 2])\n"
     "  reshape(concat([t, t], axis = 1), [2, 8 * N]) * 2.0\n}\n",
     "layout,shape,algebra"},
    {"model m(q: f32[2, N, 8], k: f32[2, N, 8], v: f32[2, N, 8], N: int = 3) {\n"
     "  let h = transpose(reshape(q, [2, N, 2, 4]), perm = [0, 2, 1, 3])\n"
     "  let s = softmax(h @ transpose(reshape(k, [2, N, 2, 4]), perm = [0, 2, 3, 1]) * 0.5)\n"
     "  let y = s @ transpose(reshape(v, [2, N, 2, 4]), perm = [0, 2, 1, 3])\n"
     "  reshape(transpose(y, perm = [0, 2, 1, 3]), [2, N, 8])\n}\n",
     "attention,layout,shape,algebra"},
};
constexpr int64_t kSample = 11; // unlike all constants of the models
constexpr int64_t kOtherSizes[] = {1, 2, 5, 64};

std::optional<Graph> model_at(const char* text, int64_t n) {
  SourceManager sources;
  DiagnosticSink sink;
  ModelRequest request;
  request.settings.push_back({"N", std::to_string(n)});
  std::optional<Graph> graph = load_model(sources, sources.add("m.tg", text), request, sink);
  for (const Diagnostic& d : sink.all()) render(d, sources, llvm::errs());
  return graph;
}

TEST(Instantiate, ChainsOfRandomWalksHoldAtOtherSizes) {
  size_t steps = 0, skipped = 0, replaced = 0, makers = 0;
  for (const Case& c : kOpenCases) {
    std::optional<Graph> source = model_at(c.model, kSample);
    ASSERT_TRUE(source) << c.model;
    std::vector<Rule> rules = rules_of(c.rules);
    for (uint64_t seed = 0; seed < 30; ++seed) {
      std::optional<Walked> found = walk_and_extract(*source, rules, seed);
      ASSERT_TRUE(found);
      Result<Derivation> chain = explain(found->history, rules, *source, found->graph);
      ASSERT_TRUE(chain) << chain.error().message;
      for (int64_t n : kOtherSizes) {
        std::optional<Graph> other = model_at(c.model, n);
        Instantiated then = instantiate(*chain, rules, *other);
        Graph result = graph_of(then.chain, then.chain.end, *other);
        EXPECT_EQ(replay(then.chain, rules, *other, result), "") << "seed " << seed << " n " << n;
        steps += chain->steps.size(), makers += chain->makers.size();
        skipped += then.skipped.size(), replaced += then.replaced;
        if (then.skipped.empty() && then.replaced == 0) {
          EXPECT_EQ(result.op_count(), found->graph.op_count());
        }
      }
      // At the size of the chain, the result is the extracted graph.
      Instantiated same = instantiate(*chain, rules, *source);
      EXPECT_EQ(difference(graph_of(same.chain, same.chain.end, *source), found->graph), "")
          << "seed " << seed;
      EXPECT_EQ(same.replaced, 0u);
    }
  }
  std::printf("%zu steps and %zu makers, %zu skipped, %zu terms replaced\n", steps, makers, skipped,
              replaced);
  EXPECT_GT(steps, 300u);
}

struct OpenExample {
  const char* file;
  std::vector<std::pair<std::string, std::string>> settings;
  const char* size; // the parameter that stays open
  std::vector<int64_t> others;
};

std::optional<Graph> example_at(const OpenExample& example, int64_t n) {
  SourceManager sources;
  DiagnosticSink sink;
  ModelRequest request;
  request.settings = example.settings;
  request.settings.push_back({example.size, std::to_string(n)});
  std::string path = std::string(TG_SOURCE_DIR "/examples/") + example.file;
  std::optional<Graph> graph = load_graph(sources, path, request, sink);
  for (const Diagnostic& d : sink.all()) render(d, sources, llvm::errs());
  return graph;
}

TEST(Instantiate, ChainsOfSearchesHoldAtOtherSizes) {
  const std::vector<std::pair<std::string, std::string>> kSmall = {
      {"layers", "2"}, {"width", "48"}, {"heads", "4"}, {"vocabulary", "71"}};
  const OpenExample kExamples[] = {
      {"gpt2.tg", kSmall, "S", {1, 2, 7, 96}},
      {"bert_base.tg", kSmall, "S", {1, 2, 7, 96}},
      {"llama_block.tg",
       {{"D", "64"}, {"heads", "8"}, {"kv_heads", "2"}, {"hidden", "88"}},
       "S",
       {1, 2, 7, 96}},
      {"mobilenetv2.tg", {}, "N", {1, 2, 7}},
  };
  std::vector<Rule> rules = test::library();
  for (const OpenExample& example : kExamples) {
    std::optional<Graph> source = example_at(example, 13);
    ASSERT_TRUE(source);
    auto costs = make_cost_model({.spec = CostSpec::analytic("cpu"), .cost_db = {}, .progress = {}},
                                 *source);
    OptimizeOptions options;
    options.search = Search::Mcts;
    options.explain = options.kernels = true;
    set_limits(options, 4, -1);
    Result<Optimized> best = optimize(*source, rules, **costs, options, nullptr);
    ASSERT_TRUE(best && best->chain) << example.file;
    EXPECT_GE(best->chain->steps.size(), 1u) << example.file; // on a busy machine
    for (int64_t n : example.others) {
      SCOPED_TRACE(example.file + std::string(" at ") + std::to_string(n));
      std::optional<Graph> other = example_at(example, n);
      Instantiated then = instantiate(*best->chain, rules, *other);
      Graph result = graph_of(then.chain, then.chain.end, *other);
      EXPECT_EQ(replay(then.chain, rules, *other, result), "");
      EXPECT_EQ(then.skipped.size(), 0u);
      PriceCache prices(other->symbols(), **costs);
      EXPECT_LT(price_graph(result, prices), price_graph(*other, prices));
    }
  }
}

class DearConvolutions final : public CostModel {
public:
  std::string name() const override { return "dear convolutions"; }
  double price(const Symbols&, const OpInstance& instance) override {
    return instance.op == OpKind::Conv2d ? 1000 : 1;
  }
};

// The patches of the second convolution fill the image at some sizes only.
const char* const kPatches = "model m(x: f32[1, 4, N, N], N: int = 12) {\n"
                             "  param w: f32[4, 4, 1, 1]\n  param v: f32[6, 4, 4, 4]\n"
                             "  conv2d(relu(relu(conv2d(x, w))), v, stride = 4, pad = valid)\n}\n";

TEST(Instantiate, StepsWhoseConditionsFailAreLeftOut) {
  std::optional<Graph> source = model_at(kPatches, 12);
  ASSERT_TRUE(source);
  std::vector<Rule> rules = test::library();
  llvm::erase_if(rules, [](const Rule& rule) {
    return rule.name.find("conv_of_patches") != 0 && rule.name.find("relu_relu") != 0;
  });
  auto is_patches = [&](const DerivationStep& step) {
    return rules[step.rule].name.find("conv_of_patches") == 0;
  };
  EGraph egraph = egraph_of(*source);
  egraph.record_history();
  saturate(egraph, rules, {});
  DearConvolutions costs;
  PriceCache prices(egraph.symbols(), costs);
  ExtractOptions options;
  options.extractor = Extractor::Greedy;
  Result<ExtractedGraph> found = extract(egraph, *source, prices, options);
  ASSERT_TRUE(found);
  Result<Derivation> chain = explain(history_of(egraph), rules, *source, found->graph);
  ASSERT_TRUE(chain);
  ASSERT_EQ(chain->steps.size(), 2u);
  ASSERT_TRUE(llvm::any_of(chain->steps, is_patches));
  for (int64_t n : {16, 13, 15}) {
    std::optional<Graph> other = model_at(kPatches, n);
    Instantiated then = instantiate(*chain, rules, *other);
    Graph result = graph_of(then.chain, then.chain.end, *other);
    EXPECT_EQ(replay(then.chain, rules, *other, result), "") << n;
    bool fits = n % 4 == 0;
    EXPECT_EQ(then.skipped.empty(), fits) << n;
    EXPECT_EQ(llvm::any_of(then.chain.steps, is_patches), fits) << n;
    EXPECT_FALSE(then.chain.steps.empty()) << n; // the steps before still apply
  }
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

TEST(Explain, MapsStepsOfSegmentsToTheWholeGraph) {
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
