// Reductions, running sums and argmax. Included through semantics_impl.h.
#pragma once

#include "lang/core/semantics_walk.h"

namespace tg {

namespace semantics {

/// Calls f(gathered values) for each result. Gathers in row-major order of the reduced axes.
template <class T, class F>
void reduce(AttrValues attrs, const ConstView<T>& x, View<T> result,
            llvm::MutableArrayRef<WideOf<T>> gathered, F f) {
  using W = WideOf<T>;
  Dims strides = row_major(x.shape), kept, kept_strides, gone, gone_strides;
  for (size_t axis = 0; axis < x.shape.size(); ++axis) {
    bool reduced = llvm::is_contained(attrs[0]->ints, static_cast<int64_t>(axis));
    (reduced ? gone : kept).push_back(x.shape[axis]);
    (reduced ? gone_strides : kept_strides).push_back(strides[axis]);
  }
  int64_t results = product(kept), count = product(gone);
  Walk outer(kept, kept_strides);
  for (int64_t i = 0; i < results; ++i, outer.next()) {
    Walk inner(gone, gone_strides);
    for (int64_t j = 0; j < count; ++j, inner.next())
      gathered[j] = static_cast<W>(x.data[outer.offset() + inner.offset()]);
    result.data[i] = static_cast<T>(f(gathered.take_front(count)));
  }
}

template <class T> void cumsum(AttrValues attrs, const ConstView<T>& x, View<T> result) {
  using W = WideOf<T>;
  size_t axis = static_cast<size_t>(attrs[0]->number);
  int64_t size = x.shape[axis], inner = product(x.shape.drop_front(axis + 1));
  int64_t outer = product(x.shape.take_front(axis));
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i = 0; i < inner; ++i) {
      W total{};
      for (int64_t s = 0; s < size; ++s) {
        int64_t at = (o * size + s) * inner + i;
        total = total + static_cast<W>(x.data[at]);
        result.data[at] = static_cast<T>(total);
      }
    }
}

template <class T>
void argmax(AttrValues attrs, const ConstView<T>& x, View<T> result,
            llvm::MutableArrayRef<WideOf<T>> row) {
  using W = WideOf<T>;
  size_t axis = static_cast<size_t>(attrs[0]->number);
  int64_t size = x.shape[axis], inner = product(x.shape.drop_front(axis + 1));
  int64_t outer = product(x.shape.take_front(axis));
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i = 0; i < inner; ++i) {
      for (int64_t s = 0; s < size; ++s)
        row[s] = static_cast<W>(x.data[(o * size + s) * inner + i]);
      result.data[o * inner + i] =
          static_cast<T>(Math<W>::integer(Math<W>::argmax(row.take_front(size))));
    }
}

} // namespace semantics

} // namespace tg
