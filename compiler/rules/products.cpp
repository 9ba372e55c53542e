// Operands of matrix products, convolutions and pooling.
#include "compiler/rules/attempt.h"

#include "lang/core/shape_rules.h"

#include <algorithm>

namespace tg {

namespace {

bool pairs(llvm::ArrayRef<Value> values) {
  return llvm::all_of(values, [](const Value& v) { return v.ints.size() == 2; });
}

} // namespace

bool RuleAttempt::make_matmul(TermId id, const Shape* want) {
  const Term& term = rule_.terms[id];
  if (want && want->size() < 2) return false;
  TermId x = term.operands[0], y = term.operands[1];
  std::optional<Shape> kx = known(x), ky = known(y);
  if (!kx && !want && is_op(x) && make(x, nullptr)) kx = known(x);
  if (!ky && !kx && !want && is_op(y) && make(y, nullptr)) ky = known(y);
  if ((kx && kx->size() < 2) || (ky && ky->size() < 2)) return false;
  Shape batch;
  if (want)
    batch.assign(want->begin(), want->end() - 2);
  else if (kx || ky)
    batch.assign((kx ? kx : ky)->begin(), (kx ? kx : ky)->end() - 2);
  else
    for (int64_t n = chance(65) ? 0 : between(1, 2); n > 0; --n) batch.push_back(size());
  int64_t k = kx ? kx->back() : ky ? (*ky)[ky->size() - 2] : size();
  if (!kx) {
    Shape s = batch;
    s.append({want ? (*want)[want->size() - 2] : size(), k});
    if (!make(x, s)) return false;
  }
  if (!ky) {
    Shape s = chance(60) ? Shape() : batch;
    s.append({k, want ? want->back() : size()});
    if (!make(y, s)) return false;
  }
  return epilogue(id, shape(y).back(), {attr_or(term, 0, any_act())});
}

bool RuleAttempt::epilogue(TermId id, int64_t channels, llvm::ArrayRef<Value> attrs) {
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

bool RuleAttempt::make_kernel(TermId w, Shape kernel, int64_t channels, const Shape* want) {
  int64_t groups = chance(50) ? 1 : divisor(channels);
  bool fits = kernel[1] > 0 && channels % kernel[1] == 0 && kernel[0] % (channels / kernel[1]) == 0;
  if (fits && chance(70)) return make(w, kernel); // like one that is there already
  if (!want) kernel[0] = groups * between(1, 4);
  kernel[1] = channels / groups;
  return make(w, kernel);
}

bool RuleAttempt::make_conv2d(TermId id, const Shape* want) {
  const Term& term = rule_.terms[id];
  if (want && want->size() != 4) return false;
  TermId x = term.operands[0], w = term.operands[1];
  std::optional<Shape> kx = known(x), kw = known(w);
  if ((kx && kx->size() != 4) || (kw && kw->size() != 4)) return false;
  Shape kernel = kw ? *kw : any_kernel();
  for (int64_t i : {2, 3})
    if (!kw) kernel[i] = hinted_dim(w, &Hints::dims, i, kernel[i]);
  if (want) kernel[0] = (*want)[1];
  if (kx && !kw && !make_kernel(w, kernel, (*kx)[1], want)) return false;
  // Only now, for conditions tell attributes from kernels.
  Value stride = attr_or(term, 0, any_pair(3)), pad = attr_or(term, 1, any_pad());
  Value dilation = attr_or(term, 2, chance(75) ? Value::of_ints({1, 1}) : any_pair(3));
  if (!pairs({stride, dilation})) return false;
  if (!kx) {
    Shape s = image();
    if (int64_t least = hinted_dim(w, &Hints::least_dims, 1, 1); s[1] < least)
      s[1] = least * between(1, 2);
    if (kw) s[1] = kernel[1] * (chance(60) ? 1 : divisor(kernel[0]));
    if (want) {
      s[0] = (*want)[0];
      for (size_t i : {0, 1})
        s[2 + i] =
            input_size((*want)[2 + i], kernel[2 + i], stride.ints[i], dilation.ints[i], pad, i);
    }
    if (!make(x, s)) return false;
    if (!kw && !known(w) && !make_kernel(w, kernel, shape(x)[1], want)) return false;
  }
  images_.push_back(shape(x));
  kernels_.push_back(shape(w));
  return epilogue(id, shape(w)[0], {stride, pad, dilation, attr_or(term, 3, any_act())});
}

bool RuleAttempt::make_winograd_weight(TermId id, const Shape* want) {
  const Term& term = rule_.terms[id];
  if (want && want->size() != 3) return false;
  int64_t tile = int_or(term, 0, want ? ((*want)[0] == 16 ? 2 : 4) : 2 * between(1, 2));
  Shape s = {want ? (*want)[1] : 2 * size(), want ? (*want)[2] : size(), 3, 3};
  TermId w = term.operands[0];
  return (known(w) || make(w, s)) && finish(id, {Value::of_int(tile)});
}

bool RuleAttempt::make_winograd_conv2d(TermId id, const Shape* want) {
  const Term& term = rule_.terms[id];
  if (want && want->size() != 4) return false;
  TermId x = term.operands[0], u = term.operands[1];
  if (is_op(u) && !known(u) && !make(u, nullptr)) return false;
  std::optional<Shape> kx = known(x), ku = known(u);
  if ((kx && kx->size() != 4) || (ku && ku->size() != 3)) return false;
  Value pad = attr_or(term, 0, any_pad());
  if (!kx) {
    Shape s = image();
    if (ku) s[1] = (*ku)[2] * (chance(60) ? 1 : divisor((*ku)[1]));
    if (want) s[0] = (*want)[0];
    for (size_t i : {0, 1})
      if (want) s[2 + i] = input_size((*want)[2 + i], 3, 1, 1, pad, i);
    if (!make(x, s)) return false;
  }
  if (!ku) {
    int64_t groups = chance(50) ? 1 : divisor(shape(x)[1]);
    int64_t outputs = want ? (*want)[1] : groups * between(1, 3);
    if (!make(u, {chance(50) ? 16 : 36, outputs, shape(x)[1] / groups})) return false;
  }
  return epilogue(id, shape(u)[1], {pad, attr_or(term, 1, any_act())});
}

bool RuleAttempt::make_pool(TermId id, const Shape* want) {
  const Term& term = rule_.terms[id];
  if (want && want->size() != 4) return false;
  Value kernel = attr_or(term, 0, any_pair(3)), stride = attr_or(term, 1, any_pair(3));
  Value pad = attr_or(term, 2, any_pad());
  if (!pairs({kernel, stride})) return false;
  if (!known(term.operands[0])) {
    Shape s = image();
    if (want) {
      s[0] = (*want)[0];
      s[1] = (*want)[1];
      for (size_t i : {0, 1})
        s[2 + i] = input_size((*want)[2 + i], kernel.ints[i], stride.ints[i], 1, pad, i);
    }
    if (!make(term.operands[0], s)) return false;
  }
  llvm::SmallVector<Value, 4> attrs = {kernel, stride, pad};
  if (term.attrs.size() > 3) attrs.push_back(attr_or(term, 3, Value::of_bool(chance(50))));
  return finish(id, attrs);
}

} // namespace tg
