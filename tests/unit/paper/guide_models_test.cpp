// Tests the guide as models: the numbering of nodes and rules does not matter, it learns from its
// samples, files keep the whole state of training, and damaged files are refused.
#include "bench/paper/learned/followed_policy.h"
#include "bench/paper/learned/guide_models.h"

#include "bench/paper/learned/rival_tables.h"
#include "compiler/api/policy_file.h"
#include "runtime/files/safetensors.h"
#include "tests/unit/search/search_fixture.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/Support/FileSystem.h>

#include <cmath>

namespace tg::paper {
namespace {

using test::kSumRules;
using test::rules_of;

std::unique_ptr<GuideModels> fresh(GuideModelOptions options = {}) {
  options.run.threads = 1;
  options.rate = 0.01;
  auto guide = GuideModels::fresh(std::move(options));
  EXPECT_TRUE(guide) << guide.error().message;
  return std::move(*guide);
}

/// A sample in which one of the rules has all the gain.
GuideSample sample(const Graph& graph, size_t rules, size_t rule, float gain) {
  GuideSample out{std::make_shared<GraphFeatures>(features_of(graph)), {}, {}, gain};
  out.tried.assign(rules * kGrains, 1);
  out.shares.assign(rules * kGrains, 0);
  out.shares[rule * kGrains] = 1;
  return out;
}

GuideRunner::Answer answer(GuideModels& guide, const GraphFeatures& graph,
                           llvm::ArrayRef<Rule> rules) {
  auto out = guide.assess(graph, rules);
  EXPECT_TRUE(out) << out.error().message;
  return *out;
}

/// Teaches that residual connections need one rule, and chains of products another.
void teach(GuideModels& guide, const std::vector<Rule>& rules, int steps) {
  GuideSample layers = sample(test::layers(2), rules.size(), 3, 0.5);
  GuideSample products = sample(test::shared_products(3), rules.size(), 1, 0);
  const GuideSample* batch[] = {&layers, &products};
  for (int i = 0; i < steps; ++i) ASSERT_TRUE(guide.train_step(batch, rules));
}

TEST(GuideModels, NumberingOfNodesAndRulesChangesNothing) {
  std::vector<Rule> rules = rules_of(kSumRules);
  auto guide = fresh();
  teach(*guide, rules, 5);
  GraphFeatures graph = features_of(test::layers(3)), turned = graph;
  auto last = static_cast<uint32_t>(graph.operators.size() - 1);
  std::reverse(turned.operators.begin(), turned.operators.end());
  std::reverse(turned.traits.begin(), turned.traits.end());
  for (auto& [from, to] : turned.edges) from = last - from, to = last - to;
  std::vector<Rule> others(rules.rbegin(), rules.rend());
  GuideRunner::Answer a = answer(*guide, graph, rules), b = answer(*guide, turned, others);
  EXPECT_NEAR(a.gain, b.gain, 1e-5);
  for (size_t r = 0; r < rules.size(); ++r)
    for (size_t g = 0; g < kGrains; ++g)
      EXPECT_NEAR(a.logits[r * kGrains + g], b.logits[(rules.size() - 1 - r) * kGrains + g], 1e-4);
}

/// Padding of nodes and samples changes neither answers nor learning.
TEST(GuideModels, PaddingChangesNothing) {
  std::vector<Rule> rules = rules_of(kSumRules);
  auto small = fresh({.least_samples = 2}), large = fresh({.least_nodes = 60});
  GuideSample layers = sample(test::layers(2), rules.size(), 3, 0.5);
  GuideSample products = sample(test::shared_products(3), rules.size(), 1, 0);
  const GuideSample* batch[] = {&layers, &products};
  GraphFeatures graph = features_of(test::layers(3));
  GuideRunner::Answer before = answer(*small, graph, rules);
  for (int step = 0; step < 3; ++step) {
    GuideRunner::Answer near = answer(*small, graph, rules), far = answer(*large, graph, rules);
    EXPECT_NEAR(near.gain, far.gain, 1e-4);
    ASSERT_EQ(near.logits.size(), far.logits.size());
    for (size_t i = 0; i < near.logits.size(); ++i)
      EXPECT_NEAR(near.logits[i], far.logits[i], 1e-3) << step << " " << i;
    auto one = small->train_step(batch, rules), other = large->train_step(batch, rules);
    ASSERT_TRUE(one && other);
    EXPECT_NEAR(*one, *other, 1e-4);
  }
  EXPECT_GT(std::abs(answer(*small, graph, rules).gain - before.gain), 1e-4) << "nothing learned";
}

/// More edges than places, and one edge twice: each edge has its part of a mean,
/// and the copy has none.
TEST(GuideModels, EdgesAreAsManyAsThereAre) {
  std::vector<Rule> rules = rules_of(kSumRules);
  auto small = fresh({.least_nodes = 1, .least_samples = 1}), large = fresh({.least_nodes = 200});
  GuideSample dense = sample(test::layers(1), rules.size(), 3, 0.5);
  auto graph = std::make_shared<GraphFeatures>(*dense.graph);
  auto nodes = static_cast<uint32_t>(graph->operators.size());
  for (uint32_t copy = 0; copy < 5; ++copy)
    for (uint32_t n = 0; n < nodes; ++n) {
      graph->operators.push_back(graph->operators[n]);
      graph->traits.push_back(graph->traits[n]);
    }
  graph->edges.clear();
  for (uint32_t to = 0; to < graph->operators.size(); ++to)
    for (uint32_t from = 0; from < to; ++from) graph->edges.emplace_back(from, to);
  ASSERT_GT(graph->edges.size(), 2 * graph->operators.size());
  dense.graph = graph;
  const GuideSample* batch[] = {&dense};
  auto one = small->train_step(batch, rules), other = large->train_step(batch, rules);
  ASSERT_TRUE(one && other);
  EXPECT_NEAR(*one, *other, 1e-4);
  GuideRunner::Answer once = answer(*small, *graph, rules), far = answer(*large, *graph, rules);
  graph->edges.push_back(graph->edges.front());
  GuideRunner::Answer twice = answer(*small, *graph, rules);
  for (size_t i = 0; i < once.logits.size(); ++i) {
    EXPECT_NEAR(once.logits[i], far.logits[i], 1e-3) << i;
    EXPECT_EQ(once.logits[i], twice.logits[i]) << i;
  }
}

TEST(GuideModels, StudiesMoreSamplesAtOnceThanItsBucketHas) {
  std::vector<Rule> rules = rules_of(kSumRules);
  auto guide = fresh({.least_samples = 1});
  GuideSample layers = sample(test::layers(2), rules.size(), 3, 0.5);
  const GuideSample* batch[] = {&layers, &layers, &layers};
  EXPECT_TRUE(guide->train_step(batch, rules));
}

TEST(GuideModels, LearnsTheGainsOfRulesAndOfStates) {
  std::vector<Rule> rules = rules_of(kSumRules);
  auto guide = fresh();
  teach(*guide, rules, 60);
  // For sizes that were not in the training.
  GuideRunner::Answer layers = answer(*guide, features_of(test::layers(4)), rules);
  GuideRunner::Answer products = answer(*guide, features_of(test::shared_products(5)), rules);
  EXPECT_GT(layers.logits[3 * kGrains], layers.logits[1 * kGrains]);
  EXPECT_LT(products.logits[3 * kGrains], products.logits[1 * kGrains]);
  EXPECT_GT(layers.gain, products.gain + 0.1);
}

class GuideFiles : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_FALSE(llvm::sys::fs::createTemporaryFile("guide", "safetensors", path_));
  }
  void TearDown() override { llvm::sys::fs::remove(path_); }
  std::string path() const { return path_.str().str(); }
  GuideModelOptions options() const {
    GuideModelOptions out;
    out.run.threads = 1, out.rate = 0.01;
    return out;
  }

private:
  llvm::SmallString<128> path_;
};

TEST_F(GuideFiles, TrainingGoesOnAsIfItHadNotBeenInterrupted) {
  std::vector<Rule> rules = rules_of(kSumRules);
  auto whole = fresh(), parts = fresh();
  teach(*whole, rules, 6);
  teach(*parts, rules, 3);
  ASSERT_TRUE(parts->save(path(), {{"school", "one"}}));
  auto again = GuideModels::open(path(), options());
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ((*again)->notes().at("school"), "one");
  teach(**again, rules, 3);
  GraphFeatures graph = features_of(test::layers(3));
  EXPECT_EQ(answer(*whole, graph, rules).logits, answer(**again, graph, rules).logits);
  EXPECT_TRUE(open_policy(path()));
}

TEST_F(GuideFiles, OtherFilesAreRefused) {
  auto refused = [&](std::vector<std::pair<std::string, std::string>> metadata) {
    auto written = write_safetensors(
        path(), {}, [](size_t) -> Result<Tensor> { return Tensor(); }, metadata);
    ASSERT_TRUE(written);
    auto opened = GuideModels::open(path(), options());
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, Code::bad_data_file) << opened.error().message;
  };
  refused({{"policy", "xrlflow"}, {"version", "1"}});
  refused({{"policy", "guide"}, {"version", "0"}});
  refused({{"policy", "guide"}, {"version", "1"}, {"operators", "relu"}});
  refused({{"policy", "guide"}, {"version", "1"}, {"operators", operator_names()}, {"steps", "x"}});
  refused({{"policy", "guide"}, {"version", "1"}, {"operators", operator_names()}, {"steps", "1"}});
}

TEST(RivalFiles, RoundTripAndAreRefusedIfInvalid) {
  std::string text;
  llvm::raw_string_ostream out(text);
  write_gains(out, {{"doubles", {10, 5, 1}}});
  auto gains = parse_rival(out.str(), "gains.json");
  ASSERT_TRUE(gains) << gains.error().message;
  EXPECT_EQ((*gains)->name(), "gains");
  text.clear();
  write_motifs(out, {{{"doubles", 0.5}}, {{{"doubles", "residual"}, 0.25}}});
  auto motifs = parse_rival(out.str(), "motifs.json");
  ASSERT_TRUE(motifs) << motifs.error().message;
  EXPECT_EQ((*motifs)->name(), "motifs");
  for (const char* bad :
       {"", "[]", "{}", R"({"agent": "other", "rules": {}})", R"({"agent": "gains", "rules": 3})",
        R"({"agent": "gains", "rules": {"r": {"tried": 1, "paid": 2, "gain": 0}}})",
        R"({"agent": "motifs", "rules": {"r": -1}, "pairs": []})",
        R"({"agent": "motifs", "rules": {"r": 1}})",
        R"({"agent": "motifs", "rules": {}, "pairs": [["a", "b"]]})",
        R"({"agent": "motifs", "rules": {}, "pairs": [["a", "b", "c"]]})"})
    EXPECT_FALSE(parse_rival(bad, "bad.json")) << bad;
}

} // namespace
} // namespace tg::paper
