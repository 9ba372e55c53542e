// Rules of operators along axes: sums and similar ones, norms, positions of the largest elements.
#pragma once

#include "lang/core/shapes/inference.h"

#include <algorithm>
#include <cmath>

namespace tg::shapes {

template <class In> bool softmax(In& in) {
  in.result = in.type(0);
  return true;
}

template <class In> bool batch_norm(In& in) {
  const auto& x = in.type(0);
  if (x.rank() < 2) return in.fail("batch_norm requires x[N, C, ..], got {0}", x);
  for (size_t i = 1; i < 5; ++i)
    if (in.type(i).rank() != 1 || in.type(i)[0] != x[1])
      return in.fail("`{0}` must be {1}, got {2}", in.info.operands()[i].name,
                     typename In::Type{x.dtype, {x[1]}}, in.type(i));
  in.result = x;
  return true;
}

template <class In> bool layer_norm(In& in) {
  const auto& x = in.type(0);
  if (x.rank() < 1) return in.fail("layer_norm requires at least one axis, got {0}", x);
  for (size_t i = 1; i < 3; ++i)
    if (in.type(i).rank() != 1 || in.type(i)[0] != x.shape.back())
      return in.fail("`{0}` must be {1}, got {2}", in.info.operands()[i].name,
                     typename In::Type{x.dtype, {x.shape.back()}}, in.type(i));
  in.result = x;
  return true;
}

template <class In> bool reduce(In& in) {
  const auto& x = in.type(0);
  Value axes = closed(in.attr(0));
  llvm::sort(axes.ints);
  if (axes.ints.empty()) return in.fail("there is no axis to reduce");
  if (std::adjacent_find(axes.ints.begin(), axes.ints.end()) != axes.ints.end())
    return in.fail("an axis occurs twice in {0}", axes);
  in.set(0, axes);
  bool keep = fixed(in.attr(1).number) != 0;
  in.result.dtype = x.dtype;
  for (int64_t axis = 0; axis < x.rank(); ++axis) {
    bool reduced = llvm::is_contained(axes.ints, axis);
    if (!reduced) in.result.shape.push_back(x[axis]);
    if (reduced && keep) in.result.shape.push_back(1);
  }
  return true;
}

template <class In> bool argmax(In& in) {
  in.result = in.type(0);
  in.result.dtype = DType::I64;
  auto axis = in.result.shape.begin() + fixed(in.attr(0).number);
  if (fixed(in.attr(1).number) != 0)
    *axis = 1;
  else
    in.result.shape.erase(axis);
  return true;
}

template <class In> bool top_k(In& in) {
  in.result = in.type(0);
  in.result.dtype = DType::I64;
  typename In::Int k = in.attr(1).number;
  auto& size = in.result.shape[static_cast<size_t>(fixed(in.attr(0).number))];
  if (k < 1 || k > size)
    return in.fail("`k` = {0} must be from 1 to {1}, the size of axis {2} of {3}", k, size,
                   in.attr(0).number, in.type(0));
  size = k;
  return true;
}

template <class In> bool non_max_suppression(In& in) {
  const auto &boxes = in.type(0), &scores = in.type(1);
  bool fits = boxes.rank() == 3 && scores.rank() == 3 && boxes[2] == 4 && boxes[0] == scores[0] &&
              boxes[1] == scores[2];
  if (!fits)
    return in.fail(
        "non_max_suppression requires boxes[B, N, 4] and scores[B, C, N], got {0} and {1}", boxes,
        scores);
  typename In::Int most = in.attr(0).number;
  if (most < 1) return in.fail("`max_output` must be at least 1, got {0}", most);
  for (size_t slot : {1, 2})
    if (std::isnan(in.attr(slot).real))
      return in.fail("`{0}` must be a number, got {1}", in.info.attrs()[slot].name, in.attr(slot));
  typename In::Int rows = scores[0] * scores[1] * std::min(most, scores[2]);
  in.result = {DType::I64, {rows, 3}};
  return true;
}

} // namespace tg::shapes
