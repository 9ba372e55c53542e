// Operands of operators whose operands are not all numbers of one dtype (conditions, indices), of
// positions and limits, and of operators that the program declares.
#include "compiler/rules/attempt.h"

#include "lang/core/extern_signature.h"
#include "lang/core/shape_rules.h"

#include <algorithm>

namespace tg {

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
  DType dtype = symbols_.type(types_[term.operands[0]]).dtype;
  double first = any_number(dtype), second = any_number(dtype);
  Value low = attr_or(term, 0, Value::of_float(std::min(first, second)));
  Value high = attr_or(term, 1, Value::of_float(std::max({first, second, low.real})));
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
