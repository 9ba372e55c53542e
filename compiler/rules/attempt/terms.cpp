#include "compiler/rules/attempt/terms.h"

#include "lang/core/shape_rules.h"

#include <llvm/ADT/STLExtras.h>

namespace tg {

AttemptTerms::AttemptTerms(Symbols& symbols, const Rule& rule, llvm::ArrayRef<DType> dtypes,
                           const RuleHints& hints, InstanceDraws& draws, OperatorMaker& operators,
                           RuleInstance& instance, std::string& why)
    : symbols_(symbols), rule_(rule), dtypes_(dtypes), hints_(hints), draws_(draws),
      operators_(operators), in_(instance), why_(why), types_(rule.terms.size()) {}

std::optional<Shape> AttemptTerms::known(TermId id) {
  if (types_[id] == TypeId{} && (!decided(id) || !make(id, nullptr))) return std::nullopt;
  const TensorType& type = symbols_.type(types_[id]);
  if (type.is_none()) return std::nullopt;
  return type.shape;
}

bool AttemptTerms::decided(TermId id) const {
  const Term& term = rule_.terms[id];
  if (term.kind == Term::Kind::ClassVar) return in_.types[term.variable] != TypeId{};
  return llvm::all_of(term.operands, [&](TermId operand) { return decided(operand); });
}

bool AttemptTerms::bind(uint32_t variable, const TensorType& type) {
  if (type.rank() > kMaxRank) return false;
  in_.types[variable] = symbols_.type(type);
  return true;
}

bool AttemptTerms::make(TermId id, const Shape* want) {
  const Term& term = rule_.terms[id];
  if (types_[id] == TypeId{}) {
    if (term.kind == Term::Kind::ClassVar) {
      if (in_.types[term.variable] == TypeId{} &&
          !bind(term.variable,
                {dtypes_[term.variable], want ? *want : hints_.shape(term.variable, 0, draws_)}))
        return false;
      types_[id] = in_.types[term.variable];
    } else if (!operators_.make_op(id, want)) {
      return false;
    }
  }
  const TensorType& type = symbols_.type(types_[id]);
  if (!want || (!type.is_none() && type.shape == *want)) return true;
  if (term.kind == Term::Kind::ClassVar)
    why_ = "`" + rule_.class_var_names[term.variable] + "` would be " + type.text() + " and " +
           f32(*want).text();
  return false;
}

bool AttemptTerms::make_optional(TermId id, const Shape& want) {
  const Term& term = rule_.terms[id];
  if (term.kind == Term::Kind::ClassVar) {
    if (in_.types[term.variable] == TypeId{}) {
      bool absent = hints_.none(term.variable).value_or(draws_.chance(50));
      in_.types[term.variable] =
          absent ? symbols_.none_type() : symbols_.type({dtypes_[term.variable], want});
    }
    types_[id] = in_.types[term.variable];
    return true;
  }
  return term.op == OpKind::None ? make(id, nullptr) : make(id, want);
}

bool AttemptTerms::make_with_rank(TermId id, const Shape* want, int64_t least) {
  bool any = !want && !is_op(id) && !known(id);
  if (any ? !make(id, hints_.shape(rule_.terms[id].variable, least, draws_)) : !make(id, want))
    return false;
  // Conditions of a rule may require a rank that the operator does not support.
  return static_cast<int64_t>(shape(id).size()) >= least;
}

bool AttemptTerms::make_none(TermId id) {
  types_[id] = symbols_.none_type();
  return true;
}

bool AttemptTerms::make_number(TermId id) {
  const Term& term = rule_.terms[id];
  Value type = term.attrs[1].literal;
  if (term.attrs[1].kind != TermAttr::Kind::Literal) {
    std::optional<uint32_t> like = hints_.typed_like(term.attrs[1].variable);
    if (!like) return false;
    type = Value::of_type({dtypes_[*like], {}});
  }
  std::optional<Value> values = attr(term, 0);
  if (!values) {
    if (hints_.waits(term.attrs[0].variable)) return false; // it depends on an unknown value
    values = Value::of_floats({draws_.any_number(type.as_type().dtype)}); // `full([], name)`
  }
  return finish(id, {*values, type});
}

bool AttemptTerms::finish(TermId id, llvm::ArrayRef<Value> values) {
  const Term& term = rule_.terms[id];
  llvm::SmallVector<ValueId, 4> attrs;
  for (const Value& v : values) attrs.push_back(symbols_.value(v));
  llvm::SmallVector<TypeId, 4> operands;
  for (TermId operand : term.operands) operands.push_back(types_[operand]);
  TypeId type;
  if (!infer(symbols_, term.op, attrs, operands, type, &why_)) return false;
  if (symbols_.type(type).elements() > kMaxInstanceElements) return false;
  for (size_t slot = 0; slot < attrs.size(); ++slot) {
    const TermAttr& a = term.attrs[slot];
    ValueId wanted =
        a.kind == TermAttr::Kind::Literal ? symbols_.value(a.literal) : in_.values[a.variable];
    if (wanted != ValueId{} && wanted != attrs[slot]) return false;
    if (a.kind == TermAttr::Kind::Variable) in_.values[a.variable] = attrs[slot];
  }
  types_[id] = type;
  return true;
}

bool AttemptTerms::finish_with_epilogue(TermId id, int64_t channels, llvm::ArrayRef<Value> attrs) {
  const Term& term = rule_.terms[id];
  llvm::SmallVector<ValueId, 4> ids;
  for (const Value& v : attrs) ids.push_back(symbols_.value(v));
  TypeId none = symbols_.none_type(), plain;
  TypeId x = types_[term.operands[0]], y = types_[term.operands[1]];
  if (!infer(symbols_, term.op, ids, {x, y, none, none}, plain, &why_)) return false;
  Shape result = symbols_.type(plain).shape;
  return make_optional(term.operands[2], {channels}) && make_optional(term.operands[3], result) &&
         finish(id, attrs);
}

// --- slots -------------------------------------------------------------------------------------

std::optional<Value> AttemptTerms::attr(const Term& term, size_t slot) const {
  const TermAttr& a = term.attrs[slot];
  if (a.kind == TermAttr::Kind::Literal) return a.literal;
  if (in_.values[a.variable] != ValueId{}) return symbols_.value(in_.values[a.variable]);
  return hints_.value(a.variable);
}

Value AttemptTerms::attr_or(const Term& term, size_t slot, Value otherwise) const {
  if (std::optional<Value> decided = attr(term, slot)) return *decided;
  if (term.attrs[slot].kind != TermAttr::Kind::Variable) return otherwise;
  return hints_.with_entries(term.attrs[slot].variable, std::move(otherwise));
}

int64_t AttemptTerms::int_or(const Term& term, size_t slot, int64_t otherwise) const {
  Value v = attr_or(term, slot, Value::of_int(otherwise));
  return v.is(Value::Kind::Int) ? v.number : otherwise;
}

void AttemptTerms::fix_slot(const Term& term, size_t slot, const Value& value) {
  if (term.attrs[slot].kind == TermAttr::Kind::Variable)
    in_.values[term.attrs[slot].variable] = symbols_.value(value);
}

bool AttemptTerms::waits_for_type(const Term& term) const {
  return llvm::any_of(term.attrs, [&](const TermAttr& a) {
    return a.kind == TermAttr::Kind::Variable && in_.values[a.variable] == ValueId{} &&
           hints_.waits(a.variable);
  });
}

} // namespace tg
