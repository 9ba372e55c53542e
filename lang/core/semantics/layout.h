// Operators that move elements: concat, slice, transpose, pad, gather, scatter and similar ones.
// Included through impl.h.
#pragma once

#include "lang/core/semantics/pointwise.h"

namespace tg {

namespace semantics {

template <class T>
void concat(AttrValues attrs, llvm::ArrayRef<ConstView<T>> operands, View<T> result) {
  size_t axis = static_cast<size_t>(attrs[0]->number);
  int64_t outer = product(result.shape.take_front(axis));
  T* out = result.data;
  for (int64_t o = 0; o < outer; ++o)
    for (const ConstView<T>& x : operands) {
      int64_t piece = product(x.shape.drop_front(axis));
      out = std::copy_n(x.data + o * piece, piece, out);
    }
}

template <class T> void slice(AttrValues attrs, const ConstView<T>& x, View<T> result) {
  size_t axis = static_cast<size_t>(attrs[0]->number);
  int64_t inner = product(x.shape.drop_front(axis + 1)), outer = product(x.shape.take_front(axis));
  int64_t start = attrs[1]->number * inner, piece = result.shape[axis] * inner;
  for (int64_t o = 0; o < outer; ++o)
    std::copy_n(x.data + o * x.shape[axis] * inner + start, piece, result.data + o * piece);
}

template <class T> void transpose(AttrValues attrs, const ConstView<T>& x, View<T> result) {
  Dims own = row_major(x.shape), strides;
  for (int64_t axis : attrs[0]->ints) strides.push_back(own[axis]);
  Walk from(result.shape, strides);
  int64_t count = result.elements();
  for (int64_t i = 0; i < count; ++i, from.next()) result.data[i] = x.data[from.offset()];
}

template <class T>
void gather(AttrValues attrs, const ConstView<T>& x, const ConstView<T>& indices, View<T> result) {
  using W = WideOf<T>;
  size_t axis = static_cast<size_t>(attrs[0]->number);
  int64_t size = x.shape[axis], inner = product(x.shape.drop_front(axis + 1));
  int64_t outer = product(x.shape.take_front(axis)), count = indices.elements();
  T* out = result.data;
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i = 0; i < count; ++i) {
      int64_t index = Math<W>::index(static_cast<W>(indices.data[i]), size);
      if (index < 0)
        out = std::fill_n(out, inner, static_cast<T>(Math<W>::missing()));
      else
        out = std::copy_n(x.data + (o * size + index) * inner, inner, out);
    }
}

/// Returns the combination of an update with the existing element.
template <class W> W joined(ScatterReduce reduce, const W& there, const W& update) {
  std::optional<OpKind> op = reduce_op(reduce);
  if (!op) return update;
  W args[kMaxArity] = {there, update, update};
  return primitive<W>(*op, args);
}

/// Combines in Wide, so that the sum of many updates is rounded once;
/// `wide` has room for all elements.
template <class T>
void scatter(AttrValues attrs, llvm::ArrayRef<ConstView<T>> operands, View<T> result,
             llvm::MutableArrayRef<WideOf<T>> wide) {
  using W = WideOf<T>;
  const ConstView<T>&x = operands[0], indices = operands[1], updates = operands[2];
  size_t axis = static_cast<size_t>(attrs[0]->number);
  ScatterReduce reduce = *parse_scatter_reduce(attrs[1]->text);
  int64_t size = x.shape[axis], inner = product(x.shape.drop_front(axis + 1));
  int64_t outer = product(x.shape.take_front(axis)), count = indices.elements();
  bool moves = reduce == ScatterReduce::None;
  std::copy_n(x.data, result.elements(), result.data);
  for (int64_t i = 0; !moves && i < result.elements(); ++i) wide[i] = static_cast<W>(x.data[i]);
  for (int64_t t = 0; t < count; ++t) {
    int64_t index = Math<W>::index(static_cast<W>(indices.data[t]), size);
    for (int64_t o = 0; index >= 0 && o < outer; ++o) {
      const T* from = updates.data + (o * count + t) * inner;
      int64_t to = (o * size + index) * inner;
      if (moves) std::copy_n(from, inner, result.data + to);
      for (int64_t i = 0; !moves && i < inner; ++i)
        wide[to + i] = joined(reduce, wide[to + i], static_cast<W>(from[i]));
    }
  }
  for (int64_t i = 0; !moves && i < result.elements(); ++i)
    result.data[i] = static_cast<T>(wide[i]);
}

template <class T> void broadcast_to(const ConstView<T>& x, View<T> result) {
  llvm::ArrayRef<int64_t> shape = x.shape;
  Rows rows(result.shape, shape);
  rows.for_each([&](int64_t start) {
    const T* from = x.data + rows.offset(0);
    for (int64_t i = 0; i < rows.length(); ++i) result.data[start + i] = from[i * rows.step(0)];
  });
}

template <class T> void iota(AttrValues attrs, View<T> result) {
  size_t axis = static_cast<size_t>(attrs[1]->number);
  int64_t size = result.shape[axis], inner = product(result.shape.drop_front(axis + 1));
  for (int64_t i = 0, count = result.elements(); i < count; ++i)
    result.data[i] = static_cast<T>(Math<WideOf<T>>::integer(i / inner % size));
}

template <class T>
void pad(llvm::ArrayRef<int64_t> before, T value, const ConstView<T>& x, View<T> result) {
  std::fill_n(result.data, result.elements(), value);
  Dims strides = row_major(result.shape);
  int64_t corner = 0;
  for (size_t axis = 0; axis < before.size(); ++axis) corner += before[axis] * strides[axis];
  Walk to(x.shape, strides);
  int64_t count = x.elements();
  for (int64_t i = 0; i < count; ++i, to.next()) result.data[corner + to.offset()] = x.data[i];
}

template <class T> void merge_gconv(AttrValues attrs, const ConstView<T>& w, View<T> result) {
  int64_t count = attrs[0]->number, per_group = w.shape[0] / attrs[1]->number;
  int64_t row = product(w.shape.drop_front(1));
  std::fill_n(result.data, result.elements(), T{});
  for (int64_t o = 0; o < w.shape[0]; ++o) {
    int64_t place = o / per_group % count;
    std::copy_n(w.data + o * row, row, result.data + (o * count + place) * row);
  }
}

template <class T> void enlarge(const ConstView<T>& w, View<T> result) {
  std::array<int64_t, 4> before = {0, 0, (result.shape[2] - w.shape[2]) / 2,
                                   (result.shape[3] - w.shape[3]) / 2};
  pad(before, T{}, w, result);
}

/// Windows along an axis: each is a copy of the places that it holds.
TG_MEANING(Windows) {
  auto axis = static_cast<size_t>(in.attrs[0]->number);
  int64_t step = in.attrs[2]->number, dilation = in.attrs[3]->number;
  const ConstView<T>& x = in.x();
  int64_t inner = product(x.shape.drop_front(axis + 1));
  int64_t outer = product(x.shape.take_front(axis));
  T* out = in.result.data;
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i = 0; i < in.result.shape[axis]; ++i)
      for (int64_t j = 0; j < in.result.shape[axis + 1]; ++j)
        out =
            std::copy_n(x.data + (o * x.shape[axis] + i * step + j * dilation) * inner, inner, out);
}

TG_MEANING(Concat) { concat(in.attrs, in.operands, in.result); }
TG_MEANING(Slice) { slice(in.attrs, in.x(), in.result); }
TG_MEANING(Reshape) { std::copy_n(in.x().data, in.result.elements(), in.result.data); }
TG_MEANING(Transpose) { transpose(in.attrs, in.x(), in.result); }
TG_MEANING(Pad) {
  pad(in.attrs[0]->ints, static_cast<T>(number<WideOf<T>>(*in.attrs[2])), in.x(), in.result);
}
TG_MEANING(Enlarge) { enlarge(in.x(), in.result); }
TG_MEANING(MergeGconv) { merge_gconv(in.attrs, in.x(), in.result); }
TG_MEANING(Gather) { gather(in.attrs, in.x(), in.operands[1], in.result); }
TG_MEANING(Scatter) { scatter(in.attrs, in.operands, in.result, in.scratch); }
TG_MEANING(Broadcast) { broadcast_to(in.x(), in.result); }
TG_MEANING(Iota) { iota(in.attrs, in.result); }

} // namespace semantics

} // namespace tg
