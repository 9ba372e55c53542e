// Tests that the rewrites of one search serve the same model at other sizes.
#include "tests/unit/api/public_api.h"

namespace tangram {
namespace {

const char* const kAnyLength =
    "model m(q: f32[2, S, 8], k: f32[2, S, 8], v: f32[2, S, 8], S: int = 13) {\n"
    "  let h = transpose(reshape(q, [2, S, 2, 4]), perm = [0, 2, 1, 3])\n"
    "  let s = softmax(h @ transpose(reshape(k, [2, S, 2, 4]), perm = [0, 2, 3, 1]) * 0.5)\n"
    "  let y = s @ transpose(reshape(v, [2, S, 2, 4]), perm = [0, 2, 1, 3])\n"
    "  reshape(transpose(y, perm = [0, 2, 1, 3]), [2, S, 8]) + q[:, 0:S // 2 + 1][:, 0:1]\n}\n";

Expected<Model> of_length(int64_t length) {
  return parse(kAnyLength, "m.tg", {.set = {{"S", std::to_string(length)}}});
}

TEST(Api, ARecipeServesOtherSizes) {
  OptimizeOptions options{.time_limit_s = 5, .recipe = true};
  options.cost = CostSpec::analytic("cpu");
  auto fast = optimize(*of_length(13), options);
  ASSERT_TRUE(fast) << fast.error().text();
  ASSERT_TRUE(fast->recipe);
  for (int64_t length : {1, 2, 3, 13, 64, 131}) {
    Model source = *of_length(length);
    auto same = repeat(*fast->recipe, source);
    ASSERT_TRUE(same) << same.error().text();
    EXPECT_GT(same->steps, 0u) << length;
    EXPECT_LT(same->cost_after_us, same->cost_before_us) << length;
    EXPECT_FALSE(same->source_returned) << length;
    EXPECT_LT(same->model.op_count(), source.op_count()) << length;
    std::vector<Tensor> inputs(3, ramp({2, length, 8}));
    EXPECT_LT(largest_difference(run(source, inputs), run(same->model, inputs)), 1e-5) << length;
  }
}

TEST(Api, ARecipeRefusesOtherModels) {
  OptimizeOptions options{.time_limit_s = 2, .recipe = true};
  options.cost = CostSpec::analytic("cpu");
  auto fast = optimize(*of_length(13), options);
  ASSERT_TRUE(fast && fast->recipe);
  auto other = repeat(*fast->recipe, parsed(kTwins));
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().diagnostics[0].code, "E0801");
  // Equal names with another computation are not an error: nothing of the recipe applies.
  auto changed = parse("model m(q: f32[2], k: f32[2], v: f32[2]) { q * k + v }", "n.tg");
  ASSERT_TRUE(changed) << changed.error().text();
  std::string output = changed->outputs()[0].name;
  auto kept = repeat(*fast->recipe, *changed);
  ASSERT_TRUE(kept) << kept.error().text();
  EXPECT_EQ(kept->steps, 0u);
  EXPECT_EQ(kept->model.text(), changed->text());
}

} // namespace
} // namespace tangram
