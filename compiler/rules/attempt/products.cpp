#include "compiler/rules/attempt/operators.h"

#include <llvm/ADT/STLExtras.h>

#include <algorithm>

namespace tg {

namespace {

bool pairs(llvm::ArrayRef<Value> values) {
  return llvm::all_of(values, [](const Value& v) { return v.ints.size() == 2; });
}

} // namespace

bool OperatorGuess::make_matmul(TermId id, const Shape* want) {
  const Term& term = terms_[id];
  if (want && want->size() < 2) return false;
  TermId x = term.operands[0], y = term.operands[1];
  std::optional<Shape> kx = terms_.known(x), ky = terms_.known(y);
  if (!kx && !want && terms_.is_op(x) && terms_.make(x, nullptr)) kx = terms_.known(x);
  if (!ky && !kx && !want && terms_.is_op(y) && terms_.make(y, nullptr)) ky = terms_.known(y);
  if ((kx && kx->size() < 2) || (ky && ky->size() < 2)) return false;
  Shape batch;
  if (want)
    batch.assign(want->begin(), want->end() - 2);
  else if (kx || ky)
    batch.assign((kx ? kx : ky)->begin(), (kx ? kx : ky)->end() - 2);
  else
    for (int64_t n = draws_.chance(65) ? 0 : draws_.between(1, 2); n > 0; --n)
      batch.push_back(draws_.size());
  int64_t k = kx ? kx->back() : ky ? (*ky)[ky->size() - 2] : draws_.size();
  if (!kx) {
    Shape s = batch;
    s.append({want ? (*want)[want->size() - 2] : draws_.size(), k});
    if (!terms_.make(x, s)) return false;
  }
  if (!ky) {
    Shape s = draws_.chance(60) ? Shape() : batch;
    s.append({k, want ? want->back() : draws_.size()});
    if (!terms_.make(y, s)) return false;
  }
  return terms_.finish_with_epilogue(id, terms_.shape(y).back(),
                                     {terms_.attr_or(term, 0, draws_.any_act())});
}

bool OperatorGuess::make_attention(TermId id, const Shape* want) {
  const Term& term = terms_[id];
  if (want && want->size() < 2) return false;
  TermId q = term.operands[0], keys = term.operands[1], values = term.operands[2];
  for (TermId operand : {q, keys, values})
    if (terms_.is_op(operand) && !terms_.known(operand) && !terms_.make(operand, nullptr))
      return false;
  std::optional<Shape> kq = terms_.known(q), kk = terms_.known(keys), kv = terms_.known(values);
  for (const std::optional<Shape>* known : {&kq, &kk, &kv})
    if (*known && (*known)->size() < 2) return false;
  Shape batch;
  if (want)
    batch.assign(want->begin(), want->end() - 2);
  else if (kq || kk || kv)
    batch.assign((kq ? kq : kk ? kk : kv)->begin(), (kq ? kq : kk ? kk : kv)->end() - 2);
  else
    for (int64_t n = draws_.between(0, 2); n > 0; --n) batch.push_back(draws_.size());
  auto of = [&](int64_t rows, int64_t columns, bool whole) {
    Shape s = whole || draws_.chance(70) ? batch : Shape();
    s.append({rows, columns});
    return s;
  };
  int64_t width = kq ? kq->back() : kk ? kk->end()[-2] : draws_.size();
  int64_t places = kk ? kk->back() : kv ? kv->end()[-2] : draws_.size();
  int64_t rows = want ? want->end()[-2] : draws_.size();
  if (!kq && !terms_.make(q, of(rows, width, true))) return false;
  rows = terms_.shape(q).end()[-2];
  if (!kk && !terms_.make(keys, of(width, places, false))) return false;
  if (!kv && !terms_.make(values, of(places, want ? want->back() : draws_.size(), false)))
    return false;
  for (size_t mask : {3, 4}) {
    Shape s = of(draws_.chance(70) ? rows : 1, places, draws_.chance(30));
    for (size_t axis = 0; axis + 2 < s.size(); ++axis) // one for all heads, or sequences
      if (draws_.chance(40)) s[axis] = 1;
    if (draws_.chance(10)) s = {places};
    if (!terms_.make_optional(term.operands[mask], s)) return false;
  }
  return terms_.finish(id, {terms_.attr_or(term, 0, Value::of_float(-1e9))});
}

bool OperatorGuess::make_kernel(TermId w, Shape kernel, int64_t channels, const Shape* want) {
  int64_t groups = draws_.chance(50) ? 1 : draws_.divisor(channels);
  bool fits = kernel[1] > 0 && channels % kernel[1] == 0 && kernel[0] % (channels / kernel[1]) == 0;
  if (fits && draws_.chance(70)) return terms_.make(w, kernel); // like an earlier one
  if (!want) kernel[0] = groups * draws_.between(1, 4);
  kernel[1] = channels / groups;
  return terms_.make(w, kernel);
}

bool OperatorGuess::make_conv2d(TermId id, const Shape* want) {
  const Term& term = terms_[id];
  if (want && want->size() != 4) return false;
  TermId x = term.operands[0], w = term.operands[1];
  std::optional<Shape> kx = terms_.known(x), kw = terms_.known(w);
  if ((kx && kx->size() != 4) || (kw && kw->size() != 4)) return false;
  Shape kernel = kw ? *kw : draws_.any_kernel();
  for (int64_t i : {2, 3})
    if (!kw) kernel[i] = hints_.dim(terms_[w], i, kernel[i]);
  if (want) kernel[0] = (*want)[1];
  if (kx && !kw && !make_kernel(w, kernel, (*kx)[1], want)) return false;
  // After the kernel, since conditions may derive attributes from it.
  Value stride = terms_.attr_or(term, 0, draws_.any_pair(3)),
        pad = terms_.attr_or(term, 1, draws_.any_pad());
  Value dilation =
      terms_.attr_or(term, 2, draws_.chance(75) ? Value::of_ints({1, 1}) : draws_.any_pair(3));
  if (!pairs({stride, dilation})) return false;
  if (!kx) {
    Shape s = draws_.image();
    if (int64_t least = hints_.least_dim(terms_[w], 1, 1); s[1] < least)
      s[1] = least * draws_.between(1, 2);
    if (kw) s[1] = kernel[1] * (draws_.chance(60) ? 1 : draws_.divisor(kernel[0]));
    if (want) {
      s[0] = (*want)[0];
      for (size_t i : {0, 1})
        s[2 + i] = draws_.input_size((*want)[2 + i], kernel[2 + i], stride.ints[i],
                                     dilation.ints[i], pad, i);
    }
    if (!terms_.make(x, s)) return false;
    if (!kw && !terms_.known(w) && !make_kernel(w, kernel, terms_.shape(x)[1], want)) return false;
  }
  draws_.note_convolution(terms_.shape(x), terms_.shape(w));
  return terms_.finish_with_epilogue(
      id, terms_.shape(w)[0], {stride, pad, dilation, terms_.attr_or(term, 3, draws_.any_act())});
}

bool OperatorGuess::make_winograd_weight(TermId id, const Shape* want) {
  const Term& term = terms_[id];
  if (want && want->size() != 3) return false;
  int64_t tile =
      terms_.int_or(term, 0, want ? ((*want)[0] == 16 ? 2 : 4) : 2 * draws_.between(1, 2));
  Shape s = {want ? (*want)[1] : 2 * draws_.size(), want ? (*want)[2] : draws_.size(), 3, 3};
  TermId w = term.operands[0];
  return (terms_.known(w) || terms_.make(w, s)) && terms_.finish(id, {Value::of_int(tile)});
}

bool OperatorGuess::make_winograd_conv2d(TermId id, const Shape* want) {
  const Term& term = terms_[id];
  if (want && want->size() != 4) return false;
  TermId x = term.operands[0], u = term.operands[1];
  if (terms_.is_op(u) && !terms_.known(u) && !terms_.make(u, nullptr)) return false;
  std::optional<Shape> kx = terms_.known(x), ku = terms_.known(u);
  if ((kx && kx->size() != 4) || (ku && ku->size() != 3)) return false;
  Value pad = terms_.attr_or(term, 0, draws_.any_pad());
  if (!kx) {
    Shape s = draws_.image();
    if (ku) s[1] = (*ku)[2] * (draws_.chance(60) ? 1 : draws_.divisor((*ku)[1]));
    if (want) s[0] = (*want)[0];
    for (size_t i : {0, 1})
      if (want) s[2 + i] = draws_.input_size((*want)[2 + i], 3, 1, 1, pad, i);
    if (!terms_.make(x, s)) return false;
  }
  if (!ku) {
    int64_t groups = draws_.chance(50) ? 1 : draws_.divisor(terms_.shape(x)[1]);
    int64_t outputs = want ? (*want)[1] : groups * draws_.between(1, 3);
    if (!terms_.make(u, {draws_.chance(50) ? 16 : 36, outputs, terms_.shape(x)[1] / groups}))
      return false;
  }
  return terms_.finish_with_epilogue(id, terms_.shape(u)[1],
                                     {pad, terms_.attr_or(term, 1, draws_.any_act())});
}

/// If a shape is required, uses stride 1 without padding, which can result in it.
bool OperatorGuess::make_conv_transpose2d(TermId id, const Shape* want) {
  const Term& term = terms_[id];
  if (want && want->size() != 4) return false;
  TermId x = term.operands[0], w = term.operands[1];
  std::optional<Shape> kx = terms_.known(x), kw = terms_.known(w);
  Shape image = kx ? *kx : draws_.image();
  Shape kernel = kw ? *kw : Shape{image[1], 1, draws_.between(1, 3), draws_.between(1, 3)};
  if (image.size() != 4 || kernel.size() != 4) return false;
  if (kw) image[1] = kernel[0];
  int64_t groups = terms_.int_or(term, 4, draws_.chance(50) ? 1 : draws_.divisor(image[1]));
  if (!kw) kernel[1] = want ? (*want)[1] / std::max<int64_t>(groups, 1) : draws_.between(1, 3);
  if (want && !kx)
    image = {(*want)[0], image[1], (*want)[2] - kernel[2] + 1, (*want)[3] - kernel[3] + 1};
  auto positive = [](int64_t n) { return n > 0; };
  if (!llvm::all_of(image, positive) || !llvm::all_of(kernel, positive)) return false;
  if ((!kx && !terms_.make(x, image)) || (!kw && !terms_.make(w, kernel))) return false;
  if (!terms_.make_optional(term.operands[2], {terms_.shape(w)[1] * groups})) return false;
  bool plain = want != nullptr;
  Value ones = Value::of_ints({1, 1});
  Value extra = Value::of_ints({draws_.between(0, 1), draws_.between(0, 1)});
  return terms_.finish(
      id, {terms_.attr_or(term, 0, plain ? ones : draws_.any_pair(3)),
           terms_.attr_or(term, 1, plain ? Value::of_enum("valid") : draws_.any_pad()),
           terms_.attr_or(term, 2, plain ? Value::of_ints({0, 0}) : extra),
           terms_.attr_or(term, 3, plain || draws_.chance(75) ? ones : draws_.any_pair(2)),
           terms_.attr_or(term, 4, Value::of_int(groups))});
}

bool OperatorGuess::make_conv3d(TermId id, const Shape* want) {
  const Term& term = terms_[id];
  if (want && want->size() != 5) return false;
  TermId x = term.operands[0], w = term.operands[1];
  std::optional<Shape> kx = terms_.known(x), kw = terms_.known(w);
  auto side = [&] { return draws_.between(1, 4); };
  Shape volume =
      kx ? *kx : Shape{draws_.between(1, 2), 2 * draws_.between(1, 2), side(), side(), side()};
  Shape kernel = kw ? *kw : Shape{1, 1, draws_.between(1, 3), draws_.between(1, 2), side()};
  if (volume.size() != 5 || kernel.size() != 5) return false;
  if (kw) volume[1] = kernel[1];
  int64_t groups = kw || draws_.chance(50) ? 1 : draws_.divisor(volume[1]);
  if (!kw) kernel[1] = volume[1] / groups;
  if (!kw) kernel[0] = want ? (*want)[1] : groups * draws_.between(1, 3);
  if (want && !kx) {
    volume[0] = (*want)[0];
    for (size_t i = 2; i < 5; ++i) volume[i] = (*want)[i] + kernel[i] - 1;
  }
  if ((!kx && !terms_.make(x, volume)) || (!kw && !terms_.make(w, kernel))) return false;
  if (!terms_.make_optional(term.operands[2], {terms_.shape(w)[0]})) return false;
  auto three = [&](int64_t low, int64_t high) {
    llvm::SmallVector<int64_t, 6> ns;
    for (int i = 0; i < (low == 0 ? 6 : 3); ++i)
      ns.push_back(want || draws_.chance(50) ? low : draws_.between(low, high));
    return Value::of_ints(ns);
  };
  return terms_.finish(id,
                       {terms_.attr_or(term, 0, three(1, 3)), terms_.attr_or(term, 1, three(0, 2)),
                        terms_.attr_or(term, 2, three(1, 2))});
}

bool OperatorGuess::make_pool2d(TermId id, const Shape* want) {
  const Term& term = terms_[id];
  if (want && want->size() != 4) return false;
  Value kernel = terms_.attr_or(term, 0, draws_.any_pair(3)),
        stride = terms_.attr_or(term, 1, draws_.any_pair(3));
  Value pad = terms_.attr_or(term, 2, draws_.any_pad());
  if (!pairs({kernel, stride})) return false;
  if (!terms_.known(term.operands[0])) {
    Shape s = draws_.image();
    if (want) {
      s[0] = (*want)[0];
      s[1] = (*want)[1];
      for (size_t i : {0, 1})
        s[2 + i] = draws_.input_size((*want)[2 + i], kernel.ints[i], stride.ints[i], 1, pad, i);
    }
    if (!terms_.make(term.operands[0], s)) return false;
  }
  llvm::SmallVector<Value, 4> attrs = {kernel, stride, pad};
  if (term.attrs.size() > 3)
    attrs.push_back(terms_.attr_or(term, 3, Value::of_bool(draws_.chance(50))));
  return terms_.finish(id, attrs);
}

} // namespace tg
