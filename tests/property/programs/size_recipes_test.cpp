// Optimises random models with open sizes once, and compares the result with the source at several
// sizes of the ranges. (The chain is also replayed at each of them by the text of the rules.)
#include "tests/property/ir/generic_models.h"
#include "tests/unit/api/public_api.h"

#include <algorithm>
#include <cstdlib>

namespace tangram {
namespace {

/// Returns the ends of the ranges, 1, primes and random sizes, eight points in all.
std::vector<Sizes> points_of(const Model& model, tg::test::Random& random) {
  std::vector<Sizes> points(8);
  for (const OpenSize& size : model.open_sizes()) {
    int64_t most = size.most.value_or(size.least + 40);
    auto within = [&](int64_t n) { return std::clamp(n, size.least, most); };
    int64_t fixed[] = {size.least, most, within(1), within(7), within(13)};
    for (size_t i = 0; i < points.size(); ++i)
      points[i][size.name] = i < std::size(fixed)
                                 ? fixed[i]
                                 : std::uniform_int_distribution<int64_t>(size.least, most)(random);
  }
  std::swap(points[2]["N"], points[5]["N"]); // not all sizes at one kind of value
  return points;
}

/// Returns the error, or "".
std::string fault_at(const Optimized& best, const Model& model, const Sizes& sizes) {
  auto source = model.at(sizes);
  if (!source) return source.error().text();
  auto result = best.at(sizes);
  if (!result) return result.error().text();
  if (result->cost_after_us > result->cost_before_us) return "it costs more than the source";
  std::vector<Tensor> inputs;
  for (const TensorSpec& input : source->inputs()) inputs.push_back(ramp(input.shape));
  auto differences = check_outputs(result->model, *source, inputs, {.backend = Backend::Ref});
  if (!differences) return differences.error().text();
  for (const OutputDifference& output : *differences)
    if (!output.within_bound) return "the values differ by " + std::to_string(output.difference);
  return "";
}

TEST(SizeRecipes, OfRandomModelsAreRightAtEverySize) {
  const size_t wanted = std::getenv("TANGRAM_FULL_TESTS") ? 400 : 12;
  tg::test::Models models(29);
  tg::test::Random random(3);
  OptimizeOptions options{.time_limit_s = 2};
  options.cost = CostSpec::analytic("cpu");
  options.finalists = 0;
  size_t accepted = 0, rewritten = 0, several = 0, skipped = 0;
  for (size_t drawn = 0; accepted < wanted && drawn < 40 * wanted; ++drawn) {
    std::string text = models.next("  z = relu(relu(transpose(transpose(z + 0.0)))) * 1.0\n");
    auto model = parse(text);
    if (!model || model->open_sizes().size() != 2) continue;
    auto best = optimize(*model, options);
    if (!best) { // the types do not hold for the ranges
      ASSERT_EQ(best.error().text().find("E0970"), std::string::npos) << text;
      continue;
    }
    ++accepted;
    ASSERT_FALSE(best->recipes.empty()) << text << best->report_json;
    ASSERT_EQ(best->recipes.size(), best->report.recipes.size());
    rewritten += best->report.changed;
    several += best->recipes.size() > 1;
    for (const SizeTrial& trial : best->report.tried) skipped += trial.skipped > 0;
    for (const Sizes& sizes : points_of(*model, random)) {
      std::string at;
      for (const auto& [name, n] : sizes) at += name + " = " + std::to_string(n) + " ";
      EXPECT_EQ(fault_at(*best, *model, sizes), "") << text << at;
    }
  }
  std::printf("%zu models, %zu rewritten, %zu with several recipes, %zu points with skipped "
              "rewrites\n",
              accepted, rewritten, several, skipped);
  EXPECT_EQ(accepted, wanted);
  EXPECT_GT(rewritten, wanted / 2);
}

} // namespace
} // namespace tangram
