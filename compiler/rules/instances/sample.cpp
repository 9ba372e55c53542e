#include "compiler/rules/instances/sample.h"

#include "compiler/rules/attempt/attempt.h"

namespace tg {

RuleSampler::RuleSampler(Symbols& symbols, const Rule& rule, uint64_t seed, SampledDTypes sampled)
    : symbols_(symbols), rule_(rule), dtypes_(rule), sampled_(sampled), rng_(seed),
      dtype_rng_(~seed) {}

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

std::optional<RuleInstance> RuleSampler::draw(size_t attempts, const Forced& forced) {
  RuleInstance instance;
  while (attempts-- > 0)
    if (attempt(instance, true, forced)) return instance;
  return std::nullopt;
}

std::optional<RuleInstance> RuleSampler::draw_unconditioned(size_t attempts) {
  RuleInstance instance;
  while (attempts-- > 0)
    if (attempt(instance, false, {})) return instance;
  return std::nullopt;
}

} // namespace tg
