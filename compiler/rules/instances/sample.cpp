#include "compiler/rules/instances/sample.h"

#include "compiler/rules/attempt/attempt.h"

namespace tg {

namespace {

constexpr size_t kPatience = 240; // attempts before an instance is solved for
constexpr size_t kSolveEach = 40; // attempts between two solved instances
constexpr size_t kSolveSteps = 12;

} // namespace

RuleSampler::RuleSampler(Symbols& symbols, const Rule& rule, uint64_t seed, SampledDTypes sampled)
    : symbols_(symbols), rule_(rule), dtypes_(rule), sampled_(sampled), rng_(seed),
      dtype_rng_(~seed), solver_rng_(seed ^ 0x736f6c7665), solver_(symbols, rule, solver_rng_) {}

const std::string& RuleSampler::why() const { return why_; }

bool RuleSampler::attempt(RuleInstance& instance, bool conditions, const Forced& forced) {
  instance = {};
  std::vector<DType> dtypes =
      sampled_ == SampledDTypes::Any ? dtypes_.draw(dtype_rng_) : dtypes_.usual();
  RuleAttempt attempt(symbols_, rule_, dtypes, rng_, instance, why_);
  for (const auto& [variable, value] : forced) instance.values[variable] = symbols_.value(value);
  if (!attempt.run()) return false;
  return !conditions || conditions_hold({rule_, symbols_, instance.values, instance});
}

/// Changes an instance of the left side until the conditions hold.
bool RuleSampler::solve(RuleInstance& instance, const Forced& forced) {
  if (!attempt(instance, false, forced) || !solver_.solve(instance, nullptr, kSolveSteps))
    return false;
  for (const auto& [variable, value] : forced)
    if (instance.values[variable] != symbols_.value(value)) return false;
  return conditions_hold({rule_, symbols_, instance.values, instance});
}

std::optional<RuleInstance> RuleSampler::draw(size_t attempts, const Forced& forced) {
  RuleInstance instance;
  for (size_t i = 1; i <= attempts; ++i) {
    if (attempt(instance, true, forced)) return instance;
    if (i < (solved_ ? kSolveEach : kPatience) || i % kSolveEach != 0) continue;
    if (!solve(instance, forced)) continue;
    solved_ = true; // attempts alone seldom satisfy these conditions
    return instance;
  }
  return std::nullopt;
}

std::optional<RuleInstance> RuleSampler::draw_unconditioned(size_t attempts) {
  RuleInstance instance;
  while (attempts-- > 0)
    if (attempt(instance, false, {})) return instance;
  return std::nullopt;
}

} // namespace tg
