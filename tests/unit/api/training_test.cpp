// Tests models that update weights through the public API: a run continues from the last one's
// state.
#include "tangram/tangram.h"

#include <gtest/gtest.h>

namespace tangram {
namespace {

constexpr const char* kSteps = R"(
model steps(x: f32[2]) -> (old: f32[2], sum: f32[2]) {
  param a: f32[2] (init = ones)
  param b: f32[2] (init = zeros)
  param w: f32[2] (init = zeros)
  update(a, b)
  update(b, a)
  update(w, w + x)
  (a, w * 1)
}
)";

class Training : public ::testing::TestWithParam<Backend> {};

TEST_P(Training, ContinuesFromThePreviousRun) {
  auto model = parse(kSteps);
  ASSERT_TRUE(model) << model.error().text();
  EXPECT_EQ(model->inputs().size(), 1u);
  EXPECT_EQ(model->weights().size(), 3u);
  ASSERT_EQ(model->outputs().size(), 5u);
  EXPECT_EQ(model->outputs()[4].name, "w");
  auto program = compile(*model, {.backend = GetParam()});
  ASSERT_TRUE(program) << program.error().text();
  Tensor x{{2}, {1, 10}};
  for (int step = 0; step < 4; ++step) {
    auto outputs = program->run({x});
    ASSERT_TRUE(outputs) << outputs.error().text();
    float old = step % 2 == 0 ? 1 : 0, times = static_cast<float>(step);
    EXPECT_EQ((*outputs)[0].data, (std::vector<float>{old, old}));
    EXPECT_EQ((*outputs)[1].data, (std::vector<float>{times, 10 * times}));
    EXPECT_EQ((*outputs)[2].data, (std::vector<float>{1 - old, 1 - old})); // a, from b
    EXPECT_EQ((*outputs)[4].data, (std::vector<float>{times + 1, 10 * times + 10}));
  }
  auto none = program->run(std::vector<Tensor>{});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().diagnostics[0].message, "the number of inputs of `steps` is 1, got 0");
}

TEST_P(Training, BeginsWithTheWeightsThatAreGiven) {
  auto model = parse(kSteps);
  ASSERT_TRUE(model);
  CompileOptions options{.backend = GetParam()};
  options.weights = [](const std::string& path, const std::vector<int64_t>& shape) {
    float first = path == "w" ? 5 : 0;
    return Tensor{shape, {first, first}};
  };
  auto program = compile(*model, options);
  ASSERT_TRUE(program) << program.error().text();
  auto outputs = program->run({Tensor{{2}, {1, 10}}});
  ASSERT_TRUE(outputs);
  EXPECT_EQ((*outputs)[4].data, (std::vector<float>{6, 15}));
}

INSTANTIATE_TEST_SUITE_P(Backends, Training, ::testing::Values(Backend::Ref, kDefaultBackend),
                         [](const auto& info) { return std::string(info.index ? "own" : "ref"); });

TEST(TrainingModels, ComeBackFromTheirTextAndFromASearch) {
  auto model = parse(kSteps);
  ASSERT_TRUE(model);
  auto again = parse(model->text());
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(again->text(), model->text());
  auto fast = optimize(*model, {.verify = true, .cost = CostSpec::analytic()});
  ASSERT_TRUE(fast) << fast.error().text();
  EXPECT_EQ(fast->report.verified, Verified::Equal);
  EXPECT_EQ(fast->report.load_nodes_after, 0u); // no weight is known at load
  auto differences = check_outputs(fast->model, *model, {Tensor{{2}, {1, 10}}});
  ASSERT_TRUE(differences) << differences.error().text();
  for (const OutputDifference& difference : *differences) EXPECT_TRUE(difference.within_bound);
}

} // namespace
} // namespace tangram
