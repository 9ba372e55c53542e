#include "compiler/rules/attempt/operators.h"
#include "lang/core/resample.h"

#include <algorithm>

namespace tg {

bool OperatorGuess::make_none(TermId id, const Shape*) { return terms_.make_none(id); }

bool OperatorGuess::make_leaf(TermId id, const Shape*) { return terms_.make_number(id); }

bool OperatorGuess::make_split(TermId, const Shape*) { return false; }

bool OperatorGuess::make_same(TermId id, const Shape* want) {
  if (op_info(terms_[id].op).attr_count == 1) return make_softmax(id, want); // along an axis, too
  return terms_.make(terms_[id].operands[0], want) && terms_.finish(id, {});
}

bool OperatorGuess::make_compare(TermId id, const Shape* want) { return make_broadcast(id, want); }

bool OperatorGuess::make_batch_norm(TermId id, const Shape* want) { return make_norm(id, want, 2); }

bool OperatorGuess::make_layer_norm(TermId id, const Shape* want) { return make_norm(id, want, 1); }

bool OperatorGuess::make_broadcast(TermId id, const Shape* want) {
  TermId a = terms_[id].operands[0], b = terms_[id].operands[1];
  std::optional<Shape> ka = terms_.known(a), kb = terms_.known(b);
  if (ka && kb) return terms_.finish(id, {});
  if (kb || (!ka && (terms_.is_op(b) ? !terms_.is_op(a) || draws_.chance(50)
                                     : !terms_.is_op(a) && draws_.chance(50)))) {
    std::swap(a, b);
    std::swap(ka, kb);
  } // a comes first
  if (!terms_.make(a, ka ? nullptr : want)) return false;
  if (terms_.known(b)) return terms_.finish(id, {}); // built from bindings of a: keeps its shape
  // Next to a scalar, as constants are, any shape is possible.
  if (!want && terms_.shape(a).empty() && draws_.chance(80))
    return terms_.make(b, nullptr) && terms_.finish(id, {});
  const Shape first = terms_.shape(a);
  Shape second = want ? *want : first;
  if (first == second && terms_.is_op(b) && draws_.chance(25)) second = draws_.narrower(first);
  if (want && first == *want && !terms_.is_op(b) && draws_.chance(50))
    second = draws_.narrower(first);
  if (!want && !terms_.is_op(b) && draws_.chance(40)) second = draws_.narrower(first);
  if (!want && !terms_.is_op(b) && draws_.chance(15)) second.insert(second.begin(), draws_.size());
  return terms_.make(b, second) && terms_.finish(id, {});
}

bool OperatorGuess::make_broadcast_to(TermId id, const Shape* want) {
  const Term& term = terms_[id];
  TermId x = term.operands[0];
  std::optional<Value> decided = terms_.attr(term, 0);
  std::optional<Shape> target;
  if (want) target = *want;
  if (!target && decided) target = Shape(decided->ints.begin(), decided->ints.end());
  if (!terms_.known(x) && (terms_.is_op(x) || !target)) {
    if (!terms_.make(x, nullptr)) return false;
  } else if (!terms_.known(x) && !terms_.make(x, draws_.narrower(*target))) {
    return false;
  }
  if (!target) { // sizes of 1 and new axes grow
    target = terms_.shape(x);
    for (int64_t& dim : *target)
      if (dim == 1 && draws_.chance(70)) dim = draws_.size();
    for (int64_t more = draws_.between(0, 1); more > 0; --more)
      target->insert(target->begin(), draws_.size());
  }
  return terms_.finish(id, {terms_.attr_or(term, 0, Value::of_ints(*target))});
}

bool OperatorGuess::make_resize(TermId id, const Shape* want) {
  const Term& term = terms_[id];
  TermId x = term.operands[0];
  Value sizes = terms_.attr_or(term, ResizeSlot::Sizes, {});
  auto least = static_cast<int64_t>(std::max<size_t>(sizes.ints.size(), 1));
  if (!terms_.known(x) && want) {
    Shape before = *want;
    for (int64_t& dim : before)
      if (draws_.chance(50)) dim = draws_.size();
    if (!terms_.make(x, before)) return false;
  } else if (!terms_.make_with_rank(x, nullptr, least)) {
    return false;
  }
  Shape to = want ? *want : terms_.shape(x);
  if (to.empty() || terms_.shape(x).size() != to.size()) return false;
  size_t kept = 0;
  while (want && kept + 1 < to.size() && to[kept] == terms_.shape(x)[kept]) ++kept;
  for (size_t i = kept = want ? kept : static_cast<size_t>(draws_.between(0, last(to)));
       !want && i < to.size(); ++i)
    to[i] = draws_.size();
  if (!sizes.is(Value::Kind::Ints))
    sizes = Value::of_ints(llvm::ArrayRef<int64_t>(to).drop_front(kept));
  bool floats = is_float(terms_.type(x).dtype);
  auto word = [&](size_t slot, llvm::ArrayRef<llvm::StringRef> words, int64_t most) {
    return terms_.attr_or(term, slot,
                          Value::of_string(words[static_cast<size_t>(draws_.between(0, most))]));
  };
  Value mode = word(ResizeSlot::Mode, resize_modes(), floats ? last(resize_modes()) : 0);
  bool weighs = mode.text != "nearest";
  return terms_.finish(
      id, {sizes, mode, word(ResizeSlot::Coordinates, resize_coordinates(), 4), // no region
           terms_.attr_or(term, ResizeSlot::Scales, Value::of_floats({})),
           word(ResizeSlot::Rounding, resize_roundings(), last(resize_roundings())),
           terms_.attr_or(term, ResizeSlot::CubicA, Value::of_float(-0.5)),
           terms_.attr_or(term, ResizeSlot::Antialias, Value::of_bool(weighs && draws_.chance(50))),
           terms_.attr_or(term, ResizeSlot::ExcludeOutside, Value::of_bool(draws_.chance(50))),
           terms_.attr_or(term, ResizeSlot::Region, Value::of_floats({}))});
}

bool OperatorGuess::make_softmax(TermId id, const Shape* want) {
  const Term& term = terms_[id];
  if (!terms_.make_with_rank(term.operands[0], want, 1)) return false;
  int64_t rank = static_cast<int64_t>(terms_.shape(term.operands[0]).size());
  return terms_.finish(id, {terms_.attr_or(term, 0, Value::of_int(draws_.between(0, rank - 1)))});
}

bool OperatorGuess::make_norm(TermId id, const Shape* want, int64_t least_rank) {
  const Term& term = terms_[id];
  if (!terms_.make_with_rank(term.operands[0], want, least_rank)) return false;
  const Shape& x = terms_.shape(term.operands[0]);
  Shape channels = {least_rank == 2 ? x[1] : x.back()};
  for (TermId operand : llvm::ArrayRef<TermId>(term.operands).drop_front())
    if (!terms_.make(operand, channels)) return false;
  return terms_.finish(
      id, {terms_.attr_or(term, 0, Value::of_float(1e-3 * static_cast<double>(draws_.size())))});
}

bool OperatorGuess::make_reduce(TermId id, const Shape* want) {
  const Term& term = terms_[id];
  TermId x = term.operands[0];
  bool keep = terms_.attr_or(term, 1, Value::of_bool(draws_.chance(50))).number != 0;
  if (want && !terms_.known(x)) {
    Value axes =
        terms_.attr_or(term, 0,
                       Value::of_ints(draws_.some_axes(static_cast<int64_t>(want->size()) +
                                                       (keep ? 0 : draws_.between(1, 2)))));
    Shape s = *want;
    for (int64_t axis : axes.ints) {
      if (axis < 0 || axis > static_cast<int64_t>(s.size())) return false;
      if (!keep) s.insert(s.begin() + axis, 1);
      if (axis >= static_cast<int64_t>(s.size())) return false;
      s[static_cast<size_t>(axis)] = draws_.size();
    }
    return terms_.make(x, s) && terms_.finish(id, {axes, Value::of_bool(keep)});
  }
  if (!terms_.make_with_rank(x, nullptr, 1)) return false;
  Value axes = terms_.attr_or(
      term, 0, Value::of_ints(draws_.some_axes(static_cast<int64_t>(terms_.shape(x).size()))));
  return terms_.finish(id, {axes, Value::of_bool(keep)});
}

bool OperatorGuess::make_fused_map(TermId id, const Shape* want) {
  const Term& term = terms_[id];
  std::optional<Value> body = terms_.attr(term, 0);
  if (!body) return false;
  Shape s = want ? *want : draws_.any_shape();
  for (TermId operand : term.operands)
    if (!terms_.make(operand, s)) return false;
  return terms_.finish(id, {*body});
}

bool OperatorGuess::make_concat(TermId id, const Shape* want) {
  const Term& term = terms_[id];
  Shape like;
  bool some_known = false;
  for (TermId operand : term.operands)
    if (std::optional<Shape> k = terms_.known(operand); k && !some_known) {
      like = *k;
      some_known = true;
    }
  if (want) like = *want;
  if (!want && !some_known) {
    TermId first = term.operands[0];
    for (TermId operand : term.operands)
      if (terms_.is_op(operand) && !terms_.is_op(first)) first = operand;
    if (!terms_.make_with_rank(first, nullptr, 1)) return false;
    like = terms_.shape(first);
  }
  if (like.empty()) return false;
  int64_t axis = terms_.int_or(term, 0, draws_.between(0, static_cast<int64_t>(like.size()) - 1));
  if (axis < 0 || axis >= static_cast<int64_t>(like.size())) return false;
  int64_t left = want ? like[static_cast<size_t>(axis)] : 0;
  for (size_t i = 0; i < term.operands.size(); ++i) {
    int64_t after = static_cast<int64_t>(term.operands.size() - i) - 1;
    Shape s = like;
    int64_t& dim = s[static_cast<size_t>(axis)];
    if (!want) dim = draws_.chance(40) ? dim : draws_.size();
    if (want && left - after < 1) return false;
    if (want) dim = after == 0 ? left : draws_.between(1, left - after);
    if (!terms_.known(term.operands[i]) && !terms_.make(term.operands[i], s)) return false;
    const Shape& made = terms_.shape(term.operands[i]);
    if (want && made.size() == s.size()) left -= made[static_cast<size_t>(axis)];
  }
  return terms_.finish(id, {Value::of_int(axis)});
}

bool OperatorGuess::make_slice(TermId id, const Shape* want) {
  const Term& term = terms_[id];
  TermId x = term.operands[0];
  std::optional<Shape> kx = terms_.known(x);
  if (!kx && !want && (terms_.is_op(x) || terms_.waits_for_type(term))) {
    if (!terms_.make_with_rank(x, nullptr, 1)) return false;
    kx = terms_.known(x);
  }
  Shape s = kx ? *kx : want ? *want : draws_.any_shape(1);
  if (s.empty()) return false;
  int64_t axis = terms_.int_or(term, 0, draws_.between(0, static_cast<int64_t>(s.size()) - 1));
  if (axis < 0 || axis >= static_cast<int64_t>(s.size())) return false;
  int64_t& dim = s[static_cast<size_t>(axis)];
  int64_t length = want && axis < static_cast<int64_t>(want->size())
                       ? (*want)[static_cast<size_t>(axis)]
                       : draws_.between(1, kx ? dim : 4);
  int64_t start = terms_.int_or(
      term, 1, kx ? draws_.between(0, std::max<int64_t>(dim - length, 0)) : draws_.between(0, 2));
  int64_t stop = terms_.int_or(term, 2, draws_.chance(30) && kx && !want ? dim : start + length);
  if (!kx) {
    dim = stop + (draws_.chance(50) ? 0 : draws_.between(0, 3));
    if (dim < 1 || !terms_.make(x, s)) return false;
    stop = terms_.int_or(term, 2, stop);
  }
  return terms_.finish(id, {Value::of_int(axis), Value::of_int(start), Value::of_int(stop)});
}

/// The axis of windows has as many elements as they span, or some more.
bool OperatorGuess::make_windows(TermId id, const Shape* want) {
  const Term& term = terms_[id];
  TermId x = term.operands[0];
  if (want && want->size() < 2) return false;
  if (!want && !terms_.make_with_rank(x, nullptr, 1)) return false;
  std::optional<Shape> known = terms_.known(x);
  int64_t rank =
      known ? static_cast<int64_t>(known->size()) : static_cast<int64_t>(want->size()) - 1;
  int64_t axis = terms_.int_or(term, 0, draws_.between(0, rank - 1));
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank) return false;
  auto at = static_cast<size_t>(axis);
  int64_t most = known ? std::min<int64_t>((*known)[at], 4) : 4;
  int64_t drawn = want && at + 1 < want->size() ? (*want)[at + 1] : draws_.between(1, most);
  int64_t size = terms_.int_or(term, 1, drawn);
  int64_t step = terms_.int_or(term, 2, draws_.between(1, 3));
  int64_t widest = known && size > 1 ? ((*known)[at] - 1) / (size - 1) : 3;
  int64_t dilation = terms_.int_or(term, 3, draws_.between(1, std::clamp<int64_t>(widest, 1, 3)));
  if (!known) {
    Shape s = *want;
    s.erase(s.begin() + axis + 1);
    s[at] = (s[at] - 1) * step + (size - 1) * dilation + 1 + draws_.between(0, step - 1);
    if (!terms_.make(x, s)) return false;
  }
  return terms_.finish(
      id, {Value::of_int(axis), Value::of_int(size), Value::of_int(step), Value::of_int(dilation)});
}

bool OperatorGuess::make_reshape(TermId id, const Shape* want) {
  const Term& term = terms_[id];
  TermId x = term.operands[0];
  std::optional<Value> decided_shape = terms_.attr(term, 0);
  Shape target = want ? *want : Shape();
  if (decided_shape && decided_shape->is(Value::Kind::Ints))
    target.assign(decided_shape->ints.begin(), decided_shape->ints.end());
  bool have_target = want || decided_shape;
  if (!terms_.known(x) && have_target) {
    if (!terms_.make(x, draws_.regrouped(target))) return false;
  } else if (!terms_.make(x, nullptr)) {
    return false;
  }
  if (std::optional<Value> v = terms_.attr(term, 0)) return terms_.finish(id, {*v}); // may need x
  return terms_.finish(id,
                       {Value::of_ints(have_target ? target : draws_.regrouped(terms_.shape(x)))});
}

bool OperatorGuess::make_transpose(TermId id, const Shape* want) {
  const Term& term = terms_[id];
  TermId x = term.operands[0];
  if (want && !terms_.known(x)) {
    Value perm = terms_.attr_or(term, 0, draws_.any_permutation(want->size()));
    if (perm.ints.size() != want->size()) return false;
    Shape s(want->size(), 1);
    for (size_t i = 0; i < s.size(); ++i) {
      if (perm.ints[i] < 0 || perm.ints[i] >= static_cast<int64_t>(s.size())) return false;
      s[static_cast<size_t>(perm.ints[i])] = (*want)[i];
    }
    return terms_.make(x, s) && terms_.finish(id, {perm});
  }
  if (terms_.waits_for_type(term) && !terms_.make_with_rank(x, nullptr, 2)) return false;
  std::optional<Value> perm = terms_.attr(term, 0);
  if (perm && !terms_.known(x) && !terms_.is_op(x)) {
    Shape s;
    for (size_t i = 0; i < perm->ints.size(); ++i) s.push_back(draws_.size());
    if (!terms_.make(x, s)) return false;
  }
  if (!terms_.make(x, nullptr)) return false;
  return terms_.finish(id,
                       {terms_.attr_or(term, 0, draws_.any_permutation(terms_.shape(x).size()))});
}

bool OperatorGuess::make_pad(TermId id, const Shape* want) {
  const Term& term = terms_[id];
  TermId x = term.operands[0];
  if (!want && !terms_.make_with_rank(x, nullptr, 1)) return false;
  Shape s = want ? *want : terms_.shape(x);
  llvm::SmallVector<int64_t, 4> before, after;
  for (size_t i = 0; i < s.size(); ++i) {
    before.push_back(draws_.chance(50) ? 0 : draws_.between(0, 2));
    after.push_back(draws_.chance(50) ? 0 : draws_.between(0, 2));
  }
  if (s.size() == 4 && draws_.chance(70)) // as a convolution would
    before[0] = before[1] = after[0] = after[1] = 0;
  Value b = terms_.attr_or(term, 0, Value::of_ints(before));
  terms_.fix_slot(term, 0, b); // later parts may depend on it
  Value a = terms_.attr_or(term, 1, Value::of_ints(after));
  if (want) {
    if (b.ints.size() != s.size() || a.ints.size() != s.size()) return false;
    for (size_t i = 0; i < s.size(); ++i)
      if ((s[i] -= b.ints[i] + a.ints[i]) < 1) return false;
    if (!terms_.make(x, s)) return false;
  }
  DType dtype = terms_.type(x).dtype;
  double value = draws_.chance(30) ? 0 : dtype == DType::Bool ? 1 : draws_.any_number(dtype);
  return terms_.finish(id, {b, a, terms_.attr_or(term, 2, Value::of_float(value))});
}

bool OperatorGuess::make_enlarge(TermId id, const Shape* want) {
  const Term& term = terms_[id];
  TermId w = term.operands[0];
  if (want && want->size() != 4) return false;
  Shape s = want ? *want
                 : Shape{draws_.size(), draws_.size(), draws_.between(1, 3), draws_.between(1, 3)};
  if (want) // shrink the window to get the operand
    for (size_t i : {2, 3}) s[i] -= 2 * draws_.between(0, (s[i] - 1) / 2);
  if (!terms_.known(w) && !terms_.make(w, s)) return false;
  const Shape& from = terms_.shape(w);
  if (from.size() != 4) return false;
  Value kernel =
      Value::of_ints({from[2] + 2 * draws_.between(0, 1), from[3] + 2 * draws_.between(0, 1)});
  if (want) kernel = Value::of_ints({(*want)[2], (*want)[3]});
  return terms_.finish(id, {terms_.attr_or(term, 0, kernel)});
}

bool OperatorGuess::make_merge_gconv(TermId id, const Shape* want) {
  const Term& term = terms_[id];
  TermId w = term.operands[0];
  int64_t count = terms_.int_or(term, 0, draws_.between(1, 3));
  int64_t groups = terms_.int_or(term, 1, count * draws_.between(1, 2));
  if (want && (want->size() != 4 || count < 1 || (*want)[1] % count != 0)) return false;
  Shape s = want ? *want
                 : Shape{groups * draws_.between(1, 2), draws_.size(), draws_.between(1, 3),
                         draws_.between(1, 3)};
  if (want) s[1] /= count;
  return (terms_.known(w) || terms_.make(w, s)) &&
         terms_.finish(id, {Value::of_int(count), Value::of_int(groups)});
}

} // namespace tg
