#include "compiler/rules/attempt/attempt.h"

namespace tg {

RuleInstance& RuleAttempt::emptied(RuleInstance& instance, const Rule& rule) {
  instance.types.assign(rule.class_vars, TypeId{});
  instance.literals.resize(rule.class_vars);
  instance.values.assign(rule.value_vars, ValueId{});
  return instance;
}

RuleAttempt::RuleAttempt(Symbols& symbols, const Rule& rule, llvm::ArrayRef<DType> dtypes,
                         std::mt19937_64& rng, RuleInstance& instance, std::string& why)
    : symbols_(symbols), rule_(rule), in_(emptied(instance, rule)), draws_(rule, rng),
      hints_(symbols, rule, instance),
      terms_(symbols, rule, dtypes, hints_, draws_, *this, instance, why),
      guess_(terms_, hints_, draws_) {
  for (uint32_t v = 0; v < rule.class_vars; ++v) {
    bool constant = hints_.constant(v).value_or(draws_.chance(10));
    in_.constants.push_back(constant);
    in_.weights.push_back(hints_.weight(v).value_or(constant || draws_.chance(30)));
  }
}

bool RuleAttempt::run() {
  for (TermId root : rule_.lhs)
    if (!terms_.make(root, nullptr)) return false;
  for (uint32_t v = 0; v < rule_.class_vars; ++v)
    if (in_.constants[v] && in_.types[v] != TypeId{} && !symbols_.type(in_.types[v]).is_none())
      in_.literals[v] = draws_.any_literal(symbols_.type(in_.types[v]));
  return true;
}

bool RuleAttempt::make_op(TermId id, const Shape* want) { return guess_.make(id, want); }

const OperatorGuess::Maker OperatorGuess::kMakers[] = {
#define TG_OP(...)
#define TG_SHAPE(shape, ...) &OperatorGuess::make_##shape,
#include "lang/core/ops.def"
};

bool OperatorGuess::make(TermId id, const Shape* want) {
  return (this->*kMakers[static_cast<size_t>(op_info(terms_[id].op).shape)])(id, want);
}

} // namespace tg
