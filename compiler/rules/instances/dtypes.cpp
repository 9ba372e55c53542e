#include "compiler/rules/instances/dtypes.h"

#include "lang/core/extern_signature.h"

#include <llvm/ADT/STLExtras.h>

#include <cmath>

namespace tg {

namespace {

using Kind = ValueExpr::Kind;

/// The usual dtype is the first possible one.
constexpr DType kOrder[] = {DType::F32, DType::I64,  DType::Bool, DType::I32,
                            DType::F16, DType::BF16, DType::F64};

constexpr uint8_t bit(DType dtype) { return static_cast<uint8_t>(1u << static_cast<int>(dtype)); }
constexpr uint8_t kFloats = bit(DType::F32) | bit(DType::F16) | bit(DType::BF16) | bit(DType::F64);
constexpr uint8_t kIntegers = bit(DType::I32) | bit(DType::I64);
constexpr uint8_t kAll = kFloats | kIntegers | bit(DType::Bool);

/// The constraints of an operator on the dtypes of its operands and its result: limits of places,
/// and equal places. Place 0 is the result, place i + 1 operand i.
struct DTypeFacts {
  llvm::SmallVector<std::pair<size_t, uint8_t>, 4> limits;
  llvm::SmallVector<size_t, 4> alike;
};

void add_extern(DTypeFacts& facts, llvm::StringRef type, size_t operands) {
  std::optional<ExternSignature> signature = ExternSignature::parse(type);
  for (size_t i = 0; signature && i <= operands; ++i)
    if (DType dtype = signature->dtype_of(i); dtype != DType::None)
      facts.limits.push_back({i == operands ? 0 : i + 1, bit(dtype)});
}

/// Returns the dtypes of a number of a pattern.
uint8_t number_dtypes(const Term& constant) {
  const TermAttr& values = constant.attrs[0];
  if (values.literal.is(Value::Kind::Ints)) return bit(DType::I64); // beyond 2^53
  bool whole = values.kind != TermAttr::Kind::Literal ||
               llvm::all_of(values.literal.reals, [](double x) { return x == std::floor(x); });
  return whole ? kFloats | kIntegers : kFloats;
}

/// Adds the facts of the operator table about the operands and the result.
void add_operands(DTypeFacts& facts, const OpInfo& info, size_t operands) {
  for (size_t i = 0; i < operands; ++i) {
    OperandKind kind = info.operand_rows[info.variadic() ? 0 : i].kind;
    if (kind == OperandKind::alike) facts.alike.push_back(i + 1);
    if (kind == OperandKind::condition) facts.limits.push_back({i + 1, bit(DType::Bool)});
    if (kind == OperandKind::index) facts.limits.push_back({i + 1, kIntegers});
  }
  switch (info.shape_row().dtype) {
  case ResultDType::alike: facts.alike.push_back(0); break;
  case ResultDType::boolean: facts.limits.push_back({0, bit(DType::Bool)}); break;
  case ResultDType::i64: facts.limits.push_back({0, bit(DType::I64)}); break;
  case ResultDType::own: break;
  }
}

DTypeFacts facts_of(const Term& term) {
  DTypeFacts facts;
  const OpInfo& info = op_info(term.op);
  auto literal = [&](size_t slot) -> const Value* {
    const TermAttr& attr = term.attrs[slot];
    return attr.kind == TermAttr::Kind::Literal ? &attr.literal : nullptr;
  };
  add_operands(facts, info, term.operands.size());
  switch (info.shape) {
  case ShapeRule::cast:
    if (const Value* to = literal(0))
      facts.limits = {{0, bit(parse_dtype(to->text).value_or(DType::None))}};
    break;
  case ShapeRule::fused_map: facts = {}; break; // bodies may mix dtypes
  case ShapeRule::extern_op:
    facts = {};
    if (const Value* type = literal(1)) add_extern(facts, type->text, term.operands.size());
    break;
  case ShapeRule::leaf: // a constant of a pattern, or one of a computed type
    if (const Value* type = literal(1)) facts.limits = {{0, bit(type->as_type().dtype)}};
    if (term.attrs[1].kind == TermAttr::Kind::Variable) facts.limits = {{0, number_dtypes(term)}};
    break;
  default: break;
  }
  for (size_t slot = 0; slot < info.attrs().size(); ++slot)
    if (const Value* number = literal(slot);
        number && info.attrs()[slot].kind == AttrKind::real && number->is(Value::Kind::Int))
      facts.limits.push_back({0, bit(DType::I64)}); // beyond 2^53
  uint8_t taken = 0;
  for (DType dtype : kOrder)
    if (dtype_fits(info, dtype)) taken |= bit(dtype);
  if (!facts.alike.empty()) facts.limits.push_back({facts.alike[0], taken});
  return facts;
}

} // namespace

RuleDTypes::RuleDTypes(const Rule& rule)
    : rule_(rule), parent_(rule.terms.size() + rule.class_vars), possible_(parent_.size(), kAll) {
  for (size_t i = 0; i < parent_.size(); ++i) parent_[i] = i;
  for (TermId id = 0; id < rule.terms.size(); ++id) read_term(id);
  for (size_t i = 0; i < rule.lhs.size() && i < rule.rhs.size(); ++i)
    unite(cell(rule.lhs[i]), cell(rule.rhs[i]));
  for (ExprIndex condition : rule.conditions) read_condition(rule.exprs[condition], true);
  for (uint32_t v = 0; v < rule.class_vars; ++v) {
    uint8_t possible = possible_[find(rule.terms.size() + v)];
    auto first = llvm::find_if(kOrder, [&](DType dtype) { return possible & bit(dtype); });
    usual_.push_back(first == std::end(kOrder) ? DType::F32 : *first);
  }
}

size_t RuleDTypes::cell(TermId id) const {
  const Term& term = rule_.terms[id];
  return term.kind == Term::Kind::ClassVar ? rule_.terms.size() + term.variable : id;
}

size_t RuleDTypes::find(size_t cell) const {
  while (parent_[cell] != cell) cell = parent_[cell] = parent_[parent_[cell]];
  return cell;
}

void RuleDTypes::unite(size_t a, size_t b) {
  a = find(a), b = find(b);
  parent_[b] = a;
  possible_[a] &= possible_[b];
}

void RuleDTypes::read_term(TermId id) {
  const Term& term = rule_.terms[id];
  if (term.kind != Term::Kind::Op || term.op == OpKind::None) return;
  auto at = [&](size_t place) { return cell(place == 0 ? id : term.operands[place - 1]); };
  auto absent = [&](size_t place) {
    const Term& operand = rule_.terms[place == 0 ? id : term.operands[place - 1]];
    return operand.kind == Term::Kind::Op && operand.op == OpKind::None;
  };
  DTypeFacts facts = facts_of(term);
  for (auto [place, dtypes] : facts.limits) possible_[find(at(place))] &= dtypes;
  for (size_t place : facts.alike)
    if (!absent(place)) unite(at(facts.alike[0]), at(place));
  for (const TermAttr& attr : term.attrs) // if the dtype is a variable
    if (attr.kind == TermAttr::Kind::Computed && rule_.exprs[attr.expr].kind == Kind::TypeLike)
      unite(cell(id), rule_.terms.size() + rule_.exprs[attr.expr].variable);
}

void RuleDTypes::read_condition(const ValueExpr& e, bool truth) {
  if (e.kind == Kind::Not) return read_condition(rule_.exprs[e.operands[0]], !truth);
  if (e.kind == Kind::IsFloat)
    possible_[find(rule_.terms.size() + e.variable)] &= truth ? kFloats : kAll & ~kFloats;
  if (std::optional<NumberLike> number = number_like(rule_, e); number && truth)
    read_number(*number);
  if (e.kind == Kind::SameType && truth)
    unite(rule_.terms.size() + e.variable, rule_.terms.size() + e.variable2);
  if (e.kind == Kind::And && truth)
    for (ExprIndex operand : e.operands) read_condition(rule_.exprs[operand], true);
  bool equal = (e.kind == Kind::Eq && truth) || (e.kind == Kind::Ne && !truth);
  bool unequal = (e.kind == Kind::Ne && truth) || (e.kind == Kind::Eq && !truth);
  for (size_t side : {0, 1}) {
    if (!equal && !unequal) return;
    const ValueExpr &a = rule_.exprs[e.operands[side]], &b = rule_.exprs[e.operands[1 - side]];
    if (a.kind != Kind::DTypeOf) continue;
    std::optional<DType> named;
    if (b.kind == Kind::Literal) named = parse_dtype(b.literal.text);
    Set& possible = possible_[find(rule_.terms.size() + a.variable)];
    if (named) possible &= static_cast<Set>(equal ? bit(*named) : kAll & ~bit(*named));
    if (equal && b.kind == Kind::DTypeOf)
      unite(rule_.terms.size() + a.variable, rule_.terms.size() + b.variable);
  }
}

/// A number of a pattern has the dtype of a class.
void RuleDTypes::read_number(const NumberLike& condition) {
  for (TermId id = 0; id < rule_.terms.size(); ++id) {
    const Term& term = rule_.terms[id];
    bool number = term.kind == Term::Kind::Op && term.op == OpKind::Constant &&
                  term.attrs[1].kind == TermAttr::Kind::Variable &&
                  term.attrs[1].variable == condition.type;
    if (number) unite(cell(id), rule_.terms.size() + condition.like);
  }
}

std::vector<DType> RuleDTypes::draw(std::mt19937_64& rng) const {
  constexpr uint64_t kUsualOfTen = 5;
  std::vector<DType> dtypes = usual_;
  if (rng() % 10 < kUsualOfTen) return dtypes;
  std::vector<DType> of_group(parent_.size(), DType::None);
  for (size_t v = 0; v < dtypes.size(); ++v) {
    size_t group = find(rule_.terms.size() + v);
    std::vector<DType> possible;
    for (DType dtype : kOrder)
      if (possible_[group] & bit(dtype)) possible.push_back(dtype);
    if (possible.empty()) continue;
    if (of_group[group] == DType::None) of_group[group] = possible[rng() % possible.size()];
    dtypes[v] = of_group[group];
  }
  return dtypes;
}

bool RuleDTypes::may_be_integer(TermId term) const {
  return possible_[find(cell(term))] & kIntegers;
}

} // namespace tg
