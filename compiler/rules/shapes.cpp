// Operands of operators element by element, of rows, reductions, moves and fused bodies.
#include "compiler/rules/attempt.h"

#include <algorithm>

namespace tg {

bool RuleAttempt::make_broadcast(TermId id, const Shape* want) {
  TermId a = rule_.terms[id].operands[0], b = rule_.terms[id].operands[1];
  std::optional<Shape> ka = known(a), kb = known(b);
  if (ka && kb) return finish(id, {});
  if (kb || (!ka && (is_op(b) ? !is_op(a) || chance(50) : !is_op(a) && chance(50)))) {
    std::swap(a, b);
    std::swap(ka, kb);
  } // a goes first
  if (!make(a, ka ? nullptr : want)) return false;
  if (known(b)) return finish(id, {}); // made of what a has bound: of the shape that it has
  // Beside one number, as constants are, anything may stand.
  if (!want && shape(a).empty() && chance(80)) return make(b, nullptr) && finish(id, {});
  const Shape first = shape(a);
  Shape second = want ? *want : first;
  if (first == second && is_op(b) && chance(25)) second = narrower(first);
  if (want && first == *want && !is_op(b) && chance(50)) second = narrower(first);
  if (!want && !is_op(b) && chance(40)) second = narrower(first);
  if (!want && !is_op(b) && chance(15)) second.insert(second.begin(), size());
  return make(b, second) && finish(id, {});
}

bool RuleAttempt::make_softmax(TermId id, const Shape* want) {
  const Term& term = rule_.terms[id];
  if (!make_with_rank(term.operands[0], want, 1)) return false;
  int64_t rank = static_cast<int64_t>(shape(term.operands[0]).size());
  return finish(id, {attr_or(term, 0, Value::of_int(between(0, rank - 1)))});
}

bool RuleAttempt::make_norm(TermId id, const Shape* want, int64_t least_rank) {
  const Term& term = rule_.terms[id];
  if (!make_with_rank(term.operands[0], want, least_rank)) return false;
  const Shape& x = shape(term.operands[0]);
  Shape channels = {least_rank == 2 ? x[1] : x.back()};
  for (TermId operand : llvm::ArrayRef<TermId>(term.operands).drop_front())
    if (!make(operand, channels)) return false;
  return finish(id, {attr_or(term, 0, Value::of_float(1e-3 * static_cast<double>(size())))});
}

bool RuleAttempt::make_reduce(TermId id, const Shape* want) {
  const Term& term = rule_.terms[id];
  TermId x = term.operands[0];
  bool keep = attr_or(term, 1, Value::of_bool(chance(50))).number != 0;
  if (want && !known(x)) {
    Value axes = attr_or(
        term, 0,
        Value::of_ints(some_axes(static_cast<int64_t>(want->size()) + (keep ? 0 : between(1, 2)))));
    Shape s = *want;
    for (int64_t axis : axes.ints) {
      if (axis < 0 || axis > static_cast<int64_t>(s.size())) return false;
      if (!keep) s.insert(s.begin() + axis, 1);
      if (axis >= static_cast<int64_t>(s.size())) return false;
      s[static_cast<size_t>(axis)] = size();
    }
    return make(x, s) && finish(id, {axes, Value::of_bool(keep)});
  }
  if (!make_with_rank(x, nullptr, 1)) return false;
  Value axes = attr_or(term, 0, Value::of_ints(some_axes(static_cast<int64_t>(shape(x).size()))));
  return finish(id, {axes, Value::of_bool(keep)});
}

bool RuleAttempt::make_fused(TermId id, const Shape* want) {
  const Term& term = rule_.terms[id];
  std::optional<Value> body = attr(term, 0);
  if (!body) return false;
  Shape s = want ? *want : any_shape();
  for (TermId operand : term.operands)
    if (!make(operand, s)) return false;
  return finish(id, {*body});
}

bool RuleAttempt::make_concat(TermId id, const Shape* want) {
  const Term& term = rule_.terms[id];
  Shape like;
  bool some_known = false;
  for (TermId operand : term.operands)
    if (std::optional<Shape> k = known(operand); k && !some_known) {
      like = *k;
      some_known = true;
    }
  if (want) like = *want;
  if (!want && !some_known) {
    TermId first = term.operands[0];
    for (TermId operand : term.operands)
      if (is_op(operand) && !is_op(first)) first = operand;
    if (!make_with_rank(first, nullptr, 1)) return false;
    like = shape(first);
  }
  if (like.empty()) return false;
  int64_t axis = int_or(term, 0, between(0, static_cast<int64_t>(like.size()) - 1));
  if (axis < 0 || axis >= static_cast<int64_t>(like.size())) return false;
  int64_t left = want ? like[static_cast<size_t>(axis)] : 0;
  for (size_t i = 0; i < term.operands.size(); ++i) {
    int64_t after = static_cast<int64_t>(term.operands.size() - i) - 1;
    Shape s = like;
    int64_t& dim = s[static_cast<size_t>(axis)];
    if (!want) dim = chance(40) ? dim : size();
    if (want && left - after < 1) return false;
    if (want) dim = after == 0 ? left : between(1, left - after);
    if (!known(term.operands[i]) && !make(term.operands[i], s)) return false;
    const Shape& made = shape(term.operands[i]);
    if (want && made.size() == s.size()) left -= made[static_cast<size_t>(axis)];
  }
  return finish(id, {Value::of_int(axis)});
}

bool RuleAttempt::make_slice(TermId id, const Shape* want) {
  const Term& term = rule_.terms[id];
  TermId x = term.operands[0];
  std::optional<Shape> kx = known(x);
  if (!kx && !want && (is_op(x) || waits_for_type(term))) {
    if (!make_with_rank(x, nullptr, 1)) return false;
    kx = known(x);
  }
  Shape s = kx ? *kx : want ? *want : any_shape(1);
  if (s.empty()) return false;
  int64_t axis = int_or(term, 0, between(0, static_cast<int64_t>(s.size()) - 1));
  if (axis < 0 || axis >= static_cast<int64_t>(s.size())) return false;
  int64_t& dim = s[static_cast<size_t>(axis)];
  int64_t length = want && axis < static_cast<int64_t>(want->size())
                       ? (*want)[static_cast<size_t>(axis)]
                       : between(1, kx ? dim : 4);
  int64_t start =
      int_or(term, 1, kx ? between(0, std::max<int64_t>(dim - length, 0)) : between(0, 2));
  int64_t stop = int_or(term, 2, chance(30) && kx && !want ? dim : start + length);
  if (!kx) {
    dim = stop + (chance(50) ? 0 : between(0, 3));
    if (dim < 1 || !make(x, s)) return false;
    stop = int_or(term, 2, stop);
  }
  return finish(id, {Value::of_int(axis), Value::of_int(start), Value::of_int(stop)});
}

bool RuleAttempt::make_reshape(TermId id, const Shape* want) {
  const Term& term = rule_.terms[id];
  TermId x = term.operands[0];
  std::optional<Value> decided_shape = attr(term, 0);
  Shape target = want ? *want : Shape();
  if (decided_shape && decided_shape->is(Value::Kind::Ints))
    target.assign(decided_shape->ints.begin(), decided_shape->ints.end());
  bool have_target = want || decided_shape;
  if (!known(x) && have_target) {
    if (!make(x, regrouped(target))) return false;
  } else if (!make(x, nullptr)) {
    return false;
  }
  if (std::optional<Value> v = attr(term, 0)) return finish(id, {*v}); // may need x
  return finish(id, {Value::of_ints(have_target ? target : regrouped(shape(x)))});
}

bool RuleAttempt::make_transpose(TermId id, const Shape* want) {
  const Term& term = rule_.terms[id];
  TermId x = term.operands[0];
  if (want && !known(x)) {
    Value perm = attr_or(term, 0, any_permutation(want->size()));
    if (perm.ints.size() != want->size()) return false;
    Shape s(want->size(), 1);
    for (size_t i = 0; i < s.size(); ++i) {
      if (perm.ints[i] < 0 || perm.ints[i] >= static_cast<int64_t>(s.size())) return false;
      s[static_cast<size_t>(perm.ints[i])] = (*want)[i];
    }
    return make(x, s) && finish(id, {perm});
  }
  if (waits_for_type(term) && !make_with_rank(x, nullptr, 2)) return false;
  std::optional<Value> perm = attr(term, 0);
  if (perm && !known(x) && !is_op(x)) {
    Shape s;
    for (size_t i = 0; i < perm->ints.size(); ++i) s.push_back(size());
    if (!make(x, s)) return false;
  }
  if (!make(x, nullptr)) return false;
  return finish(id, {attr_or(term, 0, any_permutation(shape(x).size()))});
}

bool RuleAttempt::make_pad(TermId id, const Shape* want) {
  const Term& term = rule_.terms[id];
  TermId x = term.operands[0];
  if (!want && !make_with_rank(x, nullptr, 1)) return false;
  Shape s = want ? *want : shape(x);
  llvm::SmallVector<int64_t, 4> before, after;
  for (size_t i = 0; i < s.size(); ++i) {
    before.push_back(chance(50) ? 0 : between(0, 2));
    after.push_back(chance(50) ? 0 : between(0, 2));
  }
  if (s.size() == 4 && chance(70)) // as a convolution would
    before[0] = before[1] = after[0] = after[1] = 0;
  Value b = attr_or(term, 0, Value::of_ints(before));
  if (term.attrs[0].kind == TermAttr::Kind::Variable) // what comes after may depend on it
    in_.values[term.attrs[0].variable] = symbols_.value(b);
  Value a = attr_or(term, 1, Value::of_ints(after));
  if (want) {
    if (b.ints.size() != s.size() || a.ints.size() != s.size()) return false;
    for (size_t i = 0; i < s.size(); ++i)
      if ((s[i] -= b.ints[i] + a.ints[i]) < 1) return false;
    if (!make(x, s)) return false;
  }
  DType dtype = symbols_.type(types_[x]).dtype;
  double value = chance(30) ? 0 : dtype == DType::Bool ? 1 : any_number(dtype);
  return finish(id, {b, a, attr_or(term, 2, Value::of_float(value))});
}

bool RuleAttempt::make_enlarge(TermId id, const Shape* want) {
  const Term& term = rule_.terms[id];
  TermId w = term.operands[0];
  if (want && want->size() != 4) return false;
  Shape s = want ? *want : Shape{size(), size(), between(1, 3), between(1, 3)};
  if (want) // shrink the window to get the operand
    for (size_t i : {2, 3}) s[i] -= 2 * between(0, (s[i] - 1) / 2);
  if (!known(w) && !make(w, s)) return false;
  const Shape& from = shape(w);
  if (from.size() != 4) return false;
  Value kernel = Value::of_ints({from[2] + 2 * between(0, 1), from[3] + 2 * between(0, 1)});
  if (want) kernel = Value::of_ints({(*want)[2], (*want)[3]});
  return finish(id, {attr_or(term, 0, kernel)});
}

bool RuleAttempt::make_merge(TermId id, const Shape* want) {
  const Term& term = rule_.terms[id];
  TermId w = term.operands[0];
  int64_t count = int_or(term, 0, between(1, 3));
  int64_t groups = int_or(term, 1, count * between(1, 2));
  if (want && (want->size() != 4 || count < 1 || (*want)[1] % count != 0)) return false;
  Shape s = want ? *want : Shape{groups * between(1, 2), size(), between(1, 3), between(1, 3)};
  if (want) s[1] /= count;
  return (known(w) || make(w, s)) && finish(id, {Value::of_int(count), Value::of_int(groups)});
}

} // namespace tg
