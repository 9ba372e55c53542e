#include "compiler/rules/attempt.h"

#include "lang/core/shape_rules.h"

namespace tg {

RuleAttempt::RuleAttempt(Symbols& symbols, const Rule& rule, llvm::ArrayRef<DType> dtypes,
                         std::mt19937_64& rng, RuleInstance& instance, std::string& why)
    : symbols_(symbols), rule_(rule), dtypes_(dtypes), rng_(rng), in_(instance), why_(why),
      types_(rule.terms.size()), class_hints_(rule.class_vars), value_hints_(rule.value_vars) {
  in_.types.assign(rule.class_vars, TypeId{});
  in_.literals.resize(rule.class_vars);
  in_.values.assign(rule.value_vars, ValueId{});
  for (ExprIndex condition : rule.conditions) read_hints(condition, true);
  for (const Term& term : rule.terms)
    for (const TermAttr& attr : term.attrs) {
      if (attr.kind != TermAttr::Kind::Literal) continue;
      if (attr.literal.is(Value::Kind::Float)) numbers_.push_back(attr.literal.real);
      numbers_.append(attr.literal.reals.begin(), attr.literal.reals.end());
    }
  for (uint32_t v = 0; v < rule.class_vars; ++v) {
    bool constant = class_hints_[v].constant.value_or(chance(10));
    in_.constants.push_back(constant);
    in_.weights.push_back(class_hints_[v].weight.value_or(constant || chance(30)));
  }
}

bool RuleAttempt::run() {
  for (TermId root : rule_.lhs)
    if (!make(root, nullptr)) return false;
  for (uint32_t v = 0; v < rule_.class_vars; ++v)
    if (in_.constants[v] && in_.types[v] != TypeId{} && !symbols_.type(in_.types[v]).is_none())
      in_.literals[v] = any_literal(symbols_.type(in_.types[v]));
  return true;
}

bool RuleAttempt::bind(uint32_t variable, const TensorType& type) {
  if (type.rank() > kMaxRank) return false;
  in_.types[variable] = symbols_.type(type);
  return true;
}

bool RuleAttempt::make(TermId id, const Shape* want) {
  const Term& term = rule_.terms[id];
  if (types_[id] == TypeId{}) {
    if (term.kind == Term::Kind::ClassVar) {
      if (in_.types[term.variable] == TypeId{} &&
          !bind(term.variable,
                {dtypes_[term.variable], want ? *want : hinted_shape(term.variable, 0)}))
        return false;
      types_[id] = in_.types[term.variable];
    } else if (!make_op(id, want)) {
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

std::optional<Shape> RuleAttempt::known(TermId id) {
  if (types_[id] == TypeId{} && (!decided(id) || !make(id, nullptr))) return std::nullopt;
  const TensorType& type = symbols_.type(types_[id]);
  if (type.is_none()) return std::nullopt;
  return type.shape;
}

bool RuleAttempt::decided(TermId id) const {
  const Term& term = rule_.terms[id];
  if (term.kind == Term::Kind::ClassVar) return in_.types[term.variable] != TypeId{};
  return llvm::all_of(term.operands, [&](TermId operand) { return decided(operand); });
}

bool RuleAttempt::make_optional(TermId id, const Shape& want) {
  const Term& term = rule_.terms[id];
  if (term.kind == Term::Kind::ClassVar) {
    if (in_.types[term.variable] == TypeId{}) {
      bool absent = class_hints_[term.variable].none.value_or(chance(50));
      in_.types[term.variable] =
          absent ? symbols_.none_type() : symbols_.type({dtypes_[term.variable], want});
    }
    types_[id] = in_.types[term.variable];
    return true;
  }
  return term.op == OpKind::None ? make(id, nullptr) : make(id, want);
}

std::optional<Value> RuleAttempt::attr(const Term& term, size_t slot) {
  const TermAttr& a = term.attrs[slot];
  if (a.kind == TermAttr::Kind::Literal) return a.literal;
  if (in_.values[a.variable] != ValueId{}) return symbols_.value(in_.values[a.variable]);
  for (ExprIndex at : value_hints_[a.variable].equals)
    if (std::optional<Value> v = value_of(at)) return v;
  return std::nullopt;
}

Value RuleAttempt::attr_or(const Term& term, size_t slot, Value otherwise) {
  if (std::optional<Value> decided = attr(term, slot)) return *decided;
  if (term.attrs[slot].kind != TermAttr::Kind::Variable) return otherwise;
  return with_entries(term.attrs[slot].variable, std::move(otherwise));
}

Value RuleAttempt::with_entries(uint32_t variable, Value guess) {
  if (!guess.is(Value::Kind::Ints)) return guess;
  for (auto [position, number] : value_hints_[variable].entries) {
    in_.values[variable] = symbols_.value(guess); // entries speak of each other
    std::optional<int64_t> at = int_of(position), n = int_of(number);
    in_.values[variable] = ValueId{};
    if (at && *at < 0) *at += static_cast<int64_t>(guess.ints.size());
    if (at && n && *at >= 0 && *at < static_cast<int64_t>(guess.ints.size()))
      guess.ints[static_cast<size_t>(*at)] = *n;
  }
  return guess;
}

int64_t RuleAttempt::int_or(const Term& term, size_t slot, int64_t otherwise) {
  Value v = attr_or(term, slot, Value::of_int(otherwise));
  return v.is(Value::Kind::Int) ? v.number : otherwise;
}

bool RuleAttempt::finish(TermId id, llvm::ArrayRef<Value> values) {
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

bool RuleAttempt::make_op(TermId id, const Shape* want) {
  const Term& term = rule_.terms[id];
  switch (op_info(term.op).shape) {
  case ShapeRule::none: types_[id] = symbols_.none_type(); return true;
  case ShapeRule::leaf: return make_number(id);
  case ShapeRule::clip: return make_clip(id, want);
  case ShapeRule::cast: return make_cast(id, want);
  case ShapeRule::same:
    if (op_info(term.op).attr_count == 1) return make_softmax(id, want); // along an axis, too
    return make(term.operands[0], want) && finish(id, {});
  case ShapeRule::broadcast:
  case ShapeRule::compare: return make_broadcast(id, want);
  case ShapeRule::matmul: return make_matmul(id, want);
  case ShapeRule::conv2d: return make_conv2d(id, want);
  case ShapeRule::winograd_weight: return make_winograd_weight(id, want);
  case ShapeRule::winograd_conv2d: return make_winograd_conv2d(id, want);
  case ShapeRule::pool2d: return make_pool(id, want);
  case ShapeRule::softmax: return make_softmax(id, want);
  case ShapeRule::batch_norm: return make_norm(id, want, 2);
  case ShapeRule::layer_norm: return make_norm(id, want, 1);
  case ShapeRule::reduce: return make_reduce(id, want);
  case ShapeRule::concat: return make_concat(id, want);
  case ShapeRule::slice: return make_slice(id, want);
  case ShapeRule::reshape: return make_reshape(id, want);
  case ShapeRule::transpose: return make_transpose(id, want);
  case ShapeRule::pad: return make_pad(id, want);
  case ShapeRule::enlarge: return make_enlarge(id, want);
  case ShapeRule::merge_gconv: return make_merge(id, want);
  case ShapeRule::fused_map: return make_fused(id, want);
  case ShapeRule::extern_op: return make_extern(id, want);
  case ShapeRule::select: return make_select(id, want);
  case ShapeRule::argmax: return make_argmax(id, want);
  case ShapeRule::gather: return make_gather(id, want);
  case ShapeRule::iota: return make_iota(id, want);
  case ShapeRule::split: return false;
  }
  return false;
}

/// A constant of a pattern: of the dtype that is drawn for what it stands beside.
bool RuleAttempt::make_number(TermId id) {
  const Term& term = rule_.terms[id];
  const TermAttr& type = term.attrs[1];
  std::optional<Value> values = attr(term, 0);
  if (!values) return false; // it follows from what is not known yet
  if (type.kind == TermAttr::Kind::Literal) return finish(id, {*values, type.literal});
  for (ExprIndex at : value_hints_[type.variable].equals)
    if (const ValueExpr& like = rule_.exprs[at]; like.kind == ValueExpr::Kind::TypeLike)
      return finish(id, {*values, Value::of_type({dtypes_[like.variable], {}})});
  return false;
}

bool RuleAttempt::waits_for_type(const Term& term) {
  return llvm::any_of(term.attrs, [&](const TermAttr& a) {
    if (a.kind != TermAttr::Kind::Variable || in_.values[a.variable] != ValueId{}) return false;
    const auto& equals = value_hints_[a.variable].equals;
    return !equals.empty() && llvm::none_of(equals, [&](ExprIndex at) { return value_of(at); });
  });
}

bool RuleAttempt::make_with_rank(TermId id, const Shape* want, int64_t least) {
  bool any = !want && !is_op(id) && !known(id);
  if (any ? !make(id, hinted_shape(rule_.terms[id].variable, least)) : !make(id, want))
    return false;
  // Conditions of a rule may ask for a rank that the operator does not have.
  return static_cast<int64_t>(shape(id).size()) >= least;
}

} // namespace tg
