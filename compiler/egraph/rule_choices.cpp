// Operands of operators whose operands are not all numbers of one dtype (conditions, indices), of
// positions and limits, and of operators that the program declares; and the dtypes that these ask
// of a rule's variables.
#include "compiler/egraph/rule_attempt.h"

#include "lang/core/extern_signature.h"
#include "lang/core/shape_rules.h"

#include <algorithm>

namespace tg {

namespace {

/// What an operator says of the dtypes of its operands and its result: fixed ones, and places that
/// are alike. Place 0 is the result, place i + 1 operand i.
struct DTypeFacts {
  llvm::SmallVector<std::pair<size_t, DType>, 4> fixed;
  llvm::SmallVector<size_t, 4> alike;
};

DTypeFacts facts_of(const Term& term) {
  DTypeFacts facts;
  size_t count = term.operands.size();
  const OpInfo& info = op_info(term.op);
  auto literal = [&](size_t slot) -> const Value* {
    const TermAttr& attr = term.attrs[slot];
    return attr.kind == TermAttr::Kind::Literal ? &attr.literal : nullptr;
  };
  for (size_t i = 1; i <= count; ++i) facts.alike.push_back(i);
  switch (info.shape) {
  case ShapeRule::select: facts = {{{1, DType::Bool}}, {0, 2, 3}}; break;
  case ShapeRule::gather: facts = {{{2, DType::I64}}, {0, 1}}; break;
  case ShapeRule::compare: facts.fixed = {{0, DType::Bool}}; break;
  case ShapeRule::argmax: facts.fixed = {{0, DType::I64}}; break;
  case ShapeRule::cast:
    if (const Value* to = literal(0))
      facts.fixed = {{0, parse_dtype(to->text).value_or(DType::None)}};
    break;
  case ShapeRule::fused_map: facts = {}; break; // bodies mix; numbers unless something else says so
  case ShapeRule::extern_op: {
    facts = {};
    std::optional<ExternSignature> signature = ExternSignature::parse(literal(1)->text);
    for (size_t i = 0; signature && i <= count; ++i)
      if (DType dtype = signature->dtype_of(i); dtype != DType::None)
        facts.fixed.push_back({i == count ? 0 : i + 1, dtype});
    break;
  }
  case ShapeRule::leaf: // a constant of a pattern, or of a type that is computed
    if (const Value* type = literal(1)) facts.fixed = {{0, type->as_type().dtype}};
    break;
  case ShapeRule::iota: break;
  default: facts.alike.push_back(0);
  }
  if (info.has(Trait::Logical)) facts.fixed.push_back({0, DType::Bool});
  return facts;
}

} // namespace

/// Facts go from term to term until nothing changes; each round settles a term or is the last.
std::vector<DType> dtypes_of_variables(const Rule& rule) {
  std::vector<DType> terms(rule.terms.size()), variables(rule.class_vars);
  bool changed = true;
  auto settle = [&](TermId id, DType dtype) {
    const Term& term = rule.terms[id];
    DType& known = term.kind == Term::Kind::ClassVar ? variables[term.variable] : terms[id];
    if (known != DType::None || dtype == DType::None) return;
    known = dtype;
    changed = true;
  };
  auto of = [&](TermId id) {
    const Term& term = rule.terms[id];
    return term.kind == Term::Kind::ClassVar ? variables[term.variable] : terms[id];
  };
  while (changed) {
    changed = false;
    for (TermId id = 0; id < rule.terms.size(); ++id) {
      const Term& term = rule.terms[id];
      if (term.kind != Term::Kind::Op || term.op == OpKind::None) continue;
      auto at = [&](size_t place) { return place == 0 ? id : term.operands[place - 1]; };
      DTypeFacts facts = facts_of(term);
      for (auto [place, dtype] : facts.fixed) settle(at(place), dtype);
      DType common = DType::None;
      for (size_t place : facts.alike)
        if (common == DType::None) common = of(at(place));
      for (size_t place : facts.alike) settle(at(place), common);
    }
  }
  for (DType& dtype : variables)
    if (dtype == DType::None) dtype = DType::F32;
  return variables;
}

bool RuleAttempt::make_select(TermId id, const Shape* want) {
  llvm::ArrayRef<TermId> operands = rule_.terms[id].operands;
  Shape whole = want ? *want : any_shape();
  if (!want)
    for (TermId operand : operands)
      if (std::optional<Shape> k = known(operand); k && k->size() >= whole.size()) whole = *k;
  bool full = false; // one operand at least has all axes
  for (TermId operand : operands) {
    if (known(operand)) {
      full |= shape(operand) == whole;
      continue;
    }
    bool last_chance = !full && operand == operands.back();
    Shape s = !is_op(operand) && chance(30) && !last_chance ? narrower(whole) : whole;
    if (!make(operand, s)) return false;
    full |= s == whole;
  }
  return finish(id, {});
}

bool RuleAttempt::make_argmax(TermId id, const Shape* want) {
  const Term& term = rule_.terms[id];
  TermId x = term.operands[0];
  bool keep = attr_or(term, 1, Value::of_bool(chance(50))).number != 0;
  if (want && !known(x)) {
    Shape s = *want;
    int64_t rank = static_cast<int64_t>(s.size()) + (keep ? 0 : 1);
    int64_t axis = rank == 0 ? -1 : int_or(term, 0, between(0, rank - 1));
    if (axis < 0 || axis >= rank) return false;
    if (!keep) s.insert(s.begin() + axis, 1);
    s[static_cast<size_t>(axis)] = size();
    return make(x, s) && finish(id, {Value::of_int(axis), Value::of_bool(keep)});
  }
  if (!make_with_rank(x, nullptr, 1)) return false;
  int64_t axis = int_or(term, 0, between(0, last(shape(x))));
  return finish(id, {Value::of_int(axis), Value::of_bool(keep)});
}

/// x[.., indices, ..]: of a shape that is wanted, some axes are those of the indices.
bool RuleAttempt::make_gather(TermId id, const Shape* want) {
  const Term& term = rule_.terms[id];
  TermId x = term.operands[0], indices = term.operands[1];
  if (want && !known(x)) {
    auto rank = static_cast<int64_t>(want->size());
    int64_t taken = known(indices) ? static_cast<int64_t>(shape(indices).size())
                                   : between(0, std::min<int64_t>(rank, 2));
    if (taken > rank) return false;
    int64_t axis = int_or(term, 0, between(0, rank - taken));
    if (axis < 0 || axis + taken > rank) return false;
    Shape from = *want, picked(from.begin() + axis, from.begin() + axis + taken);
    from.erase(from.begin() + axis, from.begin() + axis + taken);
    from.insert(from.begin() + axis, size());
    return (known(indices) || make(indices, picked)) && make(x, from) &&
           finish(id, {Value::of_int(axis)});
  }
  if (!make_with_rank(x, nullptr, 1)) return false;
  int64_t axis = int_or(term, 0, between(0, last(shape(x))));
  if (!known(indices) && !(is_op(indices) ? make(indices, nullptr) : make(indices, any_indices())))
    return false;
  return finish(id, {Value::of_int(axis)});
}

Shape RuleAttempt::any_indices() {
  Shape s;
  for (int64_t rank = between(0, 2); rank > 0; --rank) s.push_back(size());
  return s;
}

bool RuleAttempt::make_iota(TermId id, const Shape* want) {
  const Term& term = rule_.terms[id];
  constexpr DType kDTypes[] = {DType::I64, DType::F32, DType::I32};
  Shape s = want ? *want : any_shape(1);
  if (s.empty()) return false;
  TensorType drawn{kDTypes[between(0, 2)], s};
  Value type = attr_or(term, 0, Value::of_type(drawn));
  int64_t rank = type.as_type().rank();
  if (rank == 0) return false;
  return finish(id, {type, Value::of_int(int_or(term, 1, between(0, rank - 1)))});
}

bool RuleAttempt::make_clip(TermId id, const Shape* want) {
  const Term& term = rule_.terms[id];
  if (!make(term.operands[0], want)) return false;
  double first = static_cast<double>(between(-3, 3)), room = static_cast<double>(between(0, 6));
  Value low = attr_or(term, 0, Value::of_float(first));
  Value high = attr_or(term, 1, Value::of_float(low.real + room));
  return finish(id, {low, high});
}

bool RuleAttempt::make_cast(TermId id, const Shape* want) {
  const Term& term = rule_.terms[id];
  constexpr DType kDTypes[] = {DType::F32, DType::F16, DType::BF16, DType::I32, DType::I64};
  return make(term.operands[0], want) &&
         finish(id, {attr_or(term, 0, Value::of_enum(dtype_name(kDTypes[between(0, 4)])))});
}

bool RuleAttempt::make_extern(TermId id, const Shape* want) {
  const Term& term = rule_.terms[id];
  const Value &name = term.attrs[0].literal, &type = term.attrs[1].literal;
  std::optional<ExternSignature> signature = ExternSignature::parse(type.text);
  if (!signature) return false;
  llvm::SmallVector<std::optional<Shape>, 4> fixed;
  for (TermId operand : term.operands) fixed.push_back(known(operand));
  llvm::SmallVector<TensorType, 4> types =
      signature->example(fixed, want, [this] { return size(); });
  for (size_t i = 0; i < term.operands.size() && i < types.size(); ++i)
    if (!fixed[i] && !make(term.operands[i], types[i].shape)) return false;
  return finish(id, {name, type});
}

} // namespace tg
