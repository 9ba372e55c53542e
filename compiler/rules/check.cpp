#include "compiler/rules/from_ast.h"

#include "compiler/rules/instances/sample.h"

namespace tg {

namespace {

constexpr size_t kInstances = 12;     // must agree in type; some of them must broadcast
constexpr size_t kMoreInstances = 40; // before a right side counts as never well typed
constexpr size_t kAttempts = 4000;    // before a left side counts as never well typed

uint64_t seed_of(llvm::StringRef name) { // FNV-1a: the same on every machine
  uint64_t h = 14695981039346656037u;
  for (char c : name) h = (h ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return h;
}

/// Returns true if the right side is well typed at this instance; sets `fault` if the types differ.
bool check_instance(Symbols& symbols, const Rule& rule, const RuleInstance& instance,
                    RuleFault& fault) {
  std::vector<TypeId> types;
  for (size_t side = 0; side < rule.lhs.size(); ++side) {
    if (!type_terms(symbols, rule, instance, rule.lhs[side], types)) return false;
    if (!type_terms(symbols, rule, instance, rule.rhs[side], types, &fault.why)) return false;
    TypeId left = types[rule.lhs[side]], right = types[rule.rhs[side]];
    if (left == right) continue;
    fault.kind = RuleFault::Kind::TypesDiffer;
    fault.left = symbols.type(left).text();
    fault.right = symbols.type(right).text();
    fault.side = side;
    return true;
  }
  return true;
}

RuleFault no_instance(Symbols& symbols, const Rule& rule, RuleSampler& sampler) {
  RuleFault fault;
  fault.kind = RuleFault::Kind::NeverTyped;
  fault.why = sampler.why();
  if (std::optional<RuleInstance> untold = sampler.draw_unconditioned(kAttempts)) {
    fault.kind = RuleFault::Kind::NeverHolds;
    fault.why.clear();
    fault.operands = describe(symbols, rule, *untold);
  }
  return fault;
}

} // namespace

RuleFault check_rule(Symbols& symbols, const Rule& rule) {
  RuleFault fault;
  if (rule.native != Native::No) return fault;
  RuleSampler sampler(symbols, rule, seed_of(rule.name));
  size_t built = 0;
  for (size_t i = 0; i < kMoreInstances && built < kInstances; ++i) {
    std::optional<RuleInstance> instance = sampler.draw(kAttempts);
    if (!instance) return no_instance(symbols, rule, sampler);
    built += check_instance(symbols, rule, *instance, fault);
    fault.operands = describe(symbols, rule, *instance);
    if (fault.kind != RuleFault::Kind::None) return fault;
  }
  if (built > 0) return {};
  fault.kind = RuleFault::Kind::NeverBuilt;
  return fault;
}

} // namespace tg
