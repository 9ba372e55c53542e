#include "compiler/rules/attempt/operators.h"

#include "lang/core/extern_signature.h"

#include <algorithm>

namespace tg {

bool OperatorGuess::make_select(TermId id, const Shape* want) {
  llvm::ArrayRef<TermId> operands = terms_[id].operands;
  Shape whole = want ? *want : draws_.any_shape();
  if (!want)
    for (TermId operand : operands)
      if (std::optional<Shape> k = terms_.known(operand); k && k->size() >= whole.size())
        whole = *k;
  bool full = false; // at least one operand has all axes
  for (TermId operand : operands) {
    if (terms_.known(operand)) {
      full |= terms_.shape(operand) == whole;
      continue;
    }
    bool last_chance = !full && operand == operands.back();
    Shape s = !terms_.is_op(operand) && draws_.chance(30) && !last_chance ? draws_.narrower(whole)
                                                                          : whole;
    if (!terms_.make(operand, s)) return false;
    full |= s == whole;
  }
  return terms_.finish(id, {});
}

bool OperatorGuess::make_argmax(TermId id, const Shape* want) {
  const Term& term = terms_[id];
  TermId x = term.operands[0];
  bool keep = terms_.attr_or(term, 1, Value::of_bool(draws_.chance(50))).number != 0;
  if (want && !terms_.known(x)) {
    Shape s = *want;
    int64_t rank = static_cast<int64_t>(s.size()) + (keep ? 0 : 1);
    int64_t axis = rank == 0 ? -1 : terms_.int_or(term, 0, draws_.between(0, rank - 1));
    if (axis < 0 || axis >= rank) return false;
    if (!keep) s.insert(s.begin() + axis, 1);
    s[static_cast<size_t>(axis)] = draws_.size();
    return terms_.make(x, s) && terms_.finish(id, {Value::of_int(axis), Value::of_bool(keep)});
  }
  if (!terms_.make_with_rank(x, nullptr, 1)) return false;
  int64_t axis = terms_.int_or(term, 0, draws_.between(0, last(terms_.shape(x))));
  return terms_.finish(id, {Value::of_int(axis), Value::of_bool(keep)});
}

/// x[.., indices, ..]: of a shape that is wanted, some axes are those of the indices.
bool OperatorGuess::make_gather(TermId id, const Shape* want) {
  const Term& term = terms_[id];
  TermId x = term.operands[0], indices = term.operands[1];
  if (want && !terms_.known(x)) {
    auto rank = static_cast<int64_t>(want->size());
    int64_t taken = terms_.known(indices) ? static_cast<int64_t>(terms_.shape(indices).size())
                                          : draws_.between(0, std::min<int64_t>(rank, 2));
    if (taken > rank) return false;
    int64_t axis = terms_.int_or(term, 0, draws_.between(0, rank - taken));
    if (axis < 0 || axis + taken > rank) return false;
    Shape from = *want, picked(from.begin() + axis, from.begin() + axis + taken);
    from.erase(from.begin() + axis, from.begin() + axis + taken);
    from.insert(from.begin() + axis, draws_.size());
    return (terms_.known(indices) || terms_.make(indices, picked)) && terms_.make(x, from) &&
           terms_.finish(id, {Value::of_int(axis)});
  }
  if (!terms_.make_with_rank(x, nullptr, 1)) return false;
  int64_t axis = terms_.int_or(term, 0, draws_.between(0, last(terms_.shape(x))));
  if (!terms_.known(indices) && !(terms_.is_op(indices) ? terms_.make(indices, nullptr)
                                                        : terms_.make(indices, any_indices())))
    return false;
  return terms_.finish(id, {Value::of_int(axis)});
}

Shape OperatorGuess::any_indices() {
  Shape s;
  for (int64_t rank = draws_.between(0, 2); rank > 0; --rank) s.push_back(draws_.size());
  return s;
}

bool OperatorGuess::make_iota(TermId id, const Shape* want) {
  const Term& term = terms_[id];
  constexpr DType kDTypes[] = {DType::I64, DType::F32, DType::I32};
  Shape s = want ? *want : draws_.any_shape(1);
  if (s.empty()) return false;
  TensorType drawn{kDTypes[draws_.between(0, 2)], s};
  Value type = terms_.attr_or(term, 0, Value::of_type(drawn));
  int64_t rank = type.as_type().rank();
  if (rank == 0) return false;
  return terms_.finish(id,
                       {type, Value::of_int(terms_.int_or(term, 1, draws_.between(0, rank - 1)))});
}

bool OperatorGuess::make_top_k(TermId id, const Shape* want) {
  const Term& term = terms_[id];
  TermId x = term.operands[0];
  Value largest = terms_.attr_or(term, 2, Value::of_bool(draws_.chance(50)));
  if (want && !terms_.known(x)) {
    Shape s = *want;
    int64_t axis = s.empty() ? -1 : terms_.int_or(term, 0, draws_.between(0, last(s)));
    if (axis < 0 || axis > last(s)) return false;
    Value k = Value::of_int(s[static_cast<size_t>(axis)]);
    s[static_cast<size_t>(axis)] += draws_.between(0, 3);
    return terms_.make(x, s) && terms_.finish(id, {Value::of_int(axis), k, largest});
  }
  if (!terms_.make_with_rank(x, nullptr, 1)) return false;
  const Shape& s = terms_.shape(x);
  int64_t axis = terms_.int_or(term, 0, draws_.between(0, last(s)));
  if (axis < 0 || axis > last(s)) return false;
  int64_t k = terms_.int_or(term, 1, draws_.between(1, s[static_cast<size_t>(axis)]));
  return terms_.finish(id, {Value::of_int(axis), Value::of_int(k), largest});
}

bool OperatorGuess::make_scatter(TermId id, const Shape* want) {
  constexpr const char* kReduces[] = {"none", "add", "mul", "max", "min"};
  const Term& term = terms_[id];
  TermId x = term.operands[0], indices = term.operands[1], updates = term.operands[2];
  if (!terms_.make_with_rank(x, want, 1)) return false;
  Shape s = terms_.shape(x);
  int64_t axis = terms_.int_or(term, 0, draws_.between(0, last(s)));
  if (axis < 0 || axis > last(s)) return false;
  int64_t& count = s[static_cast<size_t>(axis)];
  count = draws_.size();
  if (std::optional<Shape> k = terms_.known(updates); k && k->size() == s.size())
    count = (*k)[static_cast<size_t>(axis)];
  if (!terms_.known(indices) && !terms_.make(indices, Shape{count})) return false;
  if (terms_.shape(indices).size() != 1) return false;
  count = terms_.shape(indices)[0];
  if (!terms_.known(updates) && !terms_.make(updates, s)) return false;
  Value reduce = terms_.attr_or(term, 1, Value::of_string(kReduces[draws_.between(0, 4)]));
  return terms_.finish(id, {Value::of_int(axis), reduce});
}

bool OperatorGuess::make_non_max_suppression(TermId id, const Shape* want) {
  const Term& term = terms_[id];
  TermId boxes = term.operands[0], scores = term.operands[1];
  int64_t images = want ? 1 : draws_.between(1, 2), count = draws_.size();
  int64_t classes = want && !want->empty() ? (*want)[0] : draws_.between(1, 2);
  if (std::optional<Shape> k = terms_.known(scores); k && k->size() == 3)
    images = (*k)[0], count = (*k)[2];
  if (!terms_.known(boxes) && !terms_.make(boxes, Shape{images, count, 4})) return false;
  if (terms_.shape(boxes).size() != 3) return false;
  images = terms_.shape(boxes)[0], count = terms_.shape(boxes)[1];
  if (!terms_.known(scores) && !terms_.make(scores, Shape{images, classes, count})) return false;
  int64_t most = terms_.int_or(term, 0, want ? 1 : draws_.between(1, 3));
  Value half = Value::of_float(0.25 * static_cast<double>(draws_.between(0, 3)));
  return terms_.finish(id, {Value::of_int(most), terms_.attr_or(term, 1, half),
                            terms_.attr_or(term, 2, half),
                            terms_.attr_or(term, 3, Value::of_bool(draws_.chance(50)))});
}

bool OperatorGuess::make_clip(TermId id, const Shape* want) {
  const Term& term = terms_[id];
  if (!terms_.make(term.operands[0], want)) return false;
  DType dtype = terms_.type(term.operands[0]).dtype;
  double first = draws_.any_number(dtype), second = draws_.any_number(dtype);
  Value low = terms_.attr_or(term, 0, Value::of_float(std::min(first, second)));
  Value high = terms_.attr_or(term, 1, Value::of_float(std::max({first, second, low.real})));
  return terms_.finish(id, {low, high});
}

bool OperatorGuess::make_cast(TermId id, const Shape* want) {
  const Term& term = terms_[id];
  constexpr DType kDTypes[] = {DType::F32, DType::F16, DType::BF16,
                               DType::I32, DType::I64, DType::F64};
  return terms_.make(term.operands[0], want) &&
         terms_.finish(
             id,
             {terms_.attr_or(term, 0, Value::of_enum(dtype_name(kDTypes[draws_.between(0, 5)])))});
}

bool OperatorGuess::make_extern_op(TermId id, const Shape* want) {
  const Term& term = terms_[id];
  const Value &name = term.attrs[0].literal, &type = term.attrs[1].literal;
  std::optional<ExternSignature> signature = ExternSignature::parse(type.text);
  if (!signature) return false;
  llvm::SmallVector<std::optional<Shape>, 4> fixed;
  for (TermId operand : term.operands) fixed.push_back(terms_.known(operand));
  llvm::SmallVector<TensorType, 4> types =
      signature->example(fixed, want, [this] { return draws_.size(); });
  for (size_t i = 0; i < term.operands.size() && i < types.size(); ++i)
    if (!fixed[i] && !terms_.make(term.operands[i], types[i].shape)) return false;
  return terms_.finish(id, {name, type});
}

} // namespace tg
