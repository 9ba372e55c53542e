// Operators over windows, rows and axes: pooling, softmax, normalization, reductions,
// running sums and argmax. Included through impl.h.
#pragma once

#include "lang/core/semantics/products.h"
#include "lang/core/semantics/walk.h"

namespace tg {

namespace semantics {

/// Calls f(values inside the window) for each result and stores its return value.
template <class T, class F>
void pool(AttrValues attrs, const ConstView<T>& x, View<T> result,
          llvm::MutableArrayRef<WideOf<T>> inside, F f) {
  using W = WideOf<T>;
  llvm::ArrayRef<int64_t> kernel = attrs[0]->ints, stride = attrs[1]->ints;
  Sliding h = sliding(x.shape[2], kernel[0], stride[0], 1, *attrs[2], 0);
  Sliding w = sliding(x.shape[3], kernel[1], stride[1], 1, *attrs[2], 1);
  int64_t planes = x.shape[0] * x.shape[1];
  T* out = result.data;
  for (int64_t p = 0; p < planes; ++p) {
    const T* plane = x.data + p * h.size * w.size;
    for (int64_t oy = 0; oy < h.out; ++oy)
      for (int64_t ox = 0; ox < w.out; ++ox) {
        int64_t y0 = std::max<int64_t>(h.input(oy, 0), 0);
        int64_t y1 = std::min(h.input(oy, kernel[0]), h.size);
        int64_t x0 = std::max<int64_t>(w.input(ox, 0), 0);
        int64_t x1 = std::min(w.input(ox, kernel[1]), w.size);
        size_t count = 0;
        for (int64_t y = y0; y < y1; ++y)
          for (int64_t column = x0; column < x1; ++column)
            inside[count++] = static_cast<W>(plane[y * w.size + column]);
        *out++ = static_cast<T>(f(inside.take_front(count)));
      }
  }
}

template <class W> W sum(llvm::ArrayRef<W> values) {
  W total{};
  for (const W& value : values) total = total + value;
  return total;
}

template <class T>
void max_pool2d(AttrValues attrs, const ConstView<T>& x, View<T> result,
                llvm::MutableArrayRef<WideOf<T>> scratch) {
  using W = WideOf<T>;
  pool(attrs, x, result, scratch, [](llvm::ArrayRef<W> in) { return Math<W>::max_of(in); });
}

template <class T>
void avg_pool2d(AttrValues attrs, const ConstView<T>& x, View<T> result,
                llvm::MutableArrayRef<WideOf<T>> scratch) {
  using W = WideOf<T>;
  bool count_padding = attrs[3]->number != 0;
  int64_t all = attrs[0]->ints[0] * attrs[0]->ints[1];
  pool(attrs, x, result, scratch, [=](llvm::ArrayRef<W> in) {
    return sum(in) / Math<W>::integer(count_padding ? all : static_cast<int64_t>(in.size()));
  });
}

template <class T>
void softmax(AttrValues attrs, const ConstView<T>& x, View<T> result,
             llvm::MutableArrayRef<WideOf<T>> row) {
  using W = WideOf<T>;
  size_t axis = static_cast<size_t>(attrs[0]->number);
  int64_t size = x.shape[axis], inner = product(x.shape.drop_front(axis + 1));
  int64_t outer = product(x.shape.take_front(axis));
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i = 0; i < inner; ++i) {
      int64_t base = o * size * inner + i;
      for (int64_t s = 0; s < size; ++s) row[s] = static_cast<W>(x.data[base + s * inner]);
      Math<W>::softmax(row.take_front(size));
      for (int64_t s = 0; s < size; ++s) result.data[base + s * inner] = static_cast<T>(row[s]);
    }
}

/// A matrix of scores [rows, columns]: given rows and columns of size 1 are repeated.
template <class T> struct OfScores {
  const T* data = nullptr; // null if absent
  int64_t row = 0, column = 0, matrix = 0;

  explicit OfScores(const ConstView<T>& x) : data(x.data) {
    int64_t rows = x.shape.size() < 2 ? 1 : x.shape[x.shape.size() - 2];
    int64_t columns = x.shape.empty() ? 1 : x.shape.back();
    row = rows == 1 ? 0 : columns;
    column = columns == 1 ? 0 : 1;
    matrix = rows * columns;
  }
  OfScores at(int64_t index) const {
    OfScores moved = *this;
    if (data) moved.data += index * matrix;
    return moved;
  }
  WideOf<T> operator()(int64_t i, int64_t j) const {
    return static_cast<WideOf<T>>(data[i * row + j * column]);
  }
};

/// Computes softmax(q @ keys + mask) @ values of one batch, one row of scores at a time.
template <class T> struct AttentionMatrices {
  using W = WideOf<T>;
  const T *q, *keys, *values;
  OfScores<T> mask, seen;
  int64_t width, count, value_width; // of queries; of keys; of values
  W otherwise;

  void score(int64_t row, llvm::MutableArrayRef<W> scores) const {
    for (W& score : scores) score = W{};
    for (int64_t l = 0; l < width; ++l) {
      W x = static_cast<W>(q[row * width + l]);
      for (int64_t j = 0; j < count; ++j) scores[j] += x * static_cast<W>(keys[l * count + j]);
    }
    for (int64_t j = 0; j < count; ++j) {
      if (mask.data) scores[j] = scores[j] + mask(row, j);
      if (seen.data) scores[j] = Math<W>::select(seen(row, j), scores[j], otherwise);
    }
  }
  void run(int64_t row, llvm::MutableArrayRef<W> scores, T* result) const {
    score(row, scores);
    Math<W>::softmax(scores);
    for (int64_t v = 0; v < value_width; ++v) {
      W sum{};
      for (int64_t j = 0; j < count; ++j)
        sum += scores[j] * static_cast<W>(values[j * value_width + v]);
      result[v] = static_cast<T>(sum);
    }
  }
};

template <class T>
void attention(AttrValues attrs, llvm::ArrayRef<ConstView<T>> operands, View<T> result,
               llvm::MutableArrayRef<WideOf<T>> scores) {
  llvm::ArrayRef<int64_t> q = operands[0].shape, keys = operands[1].shape;
  int64_t places = q[q.size() - 2], width = q.back(), count = keys.back();
  int64_t value_width = result.shape.back();
  llvm::SmallVector<llvm::ArrayRef<int64_t>, 5> leading;
  for (const ConstView<T>& x : operands)
    leading.push_back(x.shape.drop_back(std::min<size_t>(2, x.shape.size())));
  OfScores<T> mask(operands[3]), seen(operands[4]);
  Rows rows(result.shape.drop_back(2), leading);
  rows.for_each([&](int64_t first) {
    for (int64_t b = 0; b < rows.length(); ++b) {
      auto index = [&](size_t operand) { return rows.offset(operand) + b * rows.step(operand); };
      AttentionMatrices<T> one{operands[0].data + index(0) * places * width,
                               operands[1].data + index(1) * width * count,
                               operands[2].data + index(2) * count * value_width,
                               mask.at(index(3)),
                               seen.at(index(4)),
                               width,
                               count,
                               value_width,
                               Math<WideOf<T>>::literal(attrs[0]->real)};
      T* to = result.data + (first + b) * places * value_width;
      for (int64_t i = 0; i < places; ++i)
        one.run(i, scores.take_front(static_cast<size_t>(count)), to + i * value_width);
    }
  });
}

template <class T>
void batch_norm(AttrValues attrs, llvm::ArrayRef<ConstView<T>> operands, View<T> result) {
  using W = WideOf<T>;
  llvm::ArrayRef<int64_t> shape = operands[0].shape;
  int64_t inner = product(shape.drop_front(2));
  W eps = Math<W>::literal(attrs[0]->real);
  for (int64_t o = 0; o < shape[0]; ++o)
    for (int64_t c = 0; c < shape[1]; ++c) {
      auto of_channel = [&](size_t operand) { return static_cast<W>(operands[operand].data[c]); };
      W scale = of_channel(1), bias = of_channel(2), mean = of_channel(3);
      W root = Math<W>::unary(OpKind::Sqrt, of_channel(4) + eps);
      int64_t base = (o * shape[1] + c) * inner;
      for (int64_t i = base; i < base + inner; ++i)
        result.data[i] =
            static_cast<T>((static_cast<W>(operands[0].data[i]) - mean) / root * scale + bias);
    }
}

template <class T>
void layer_norm(AttrValues attrs, llvm::ArrayRef<ConstView<T>> operands, View<T> result) {
  using W = WideOf<T>;
  int64_t size = operands[0].shape.back(), outer = operands[0].elements() / size;
  W eps = Math<W>::literal(attrs[0]->real), count = Math<W>::integer(size);
  for (int64_t o = 0; o < outer; ++o) {
    const T* x = operands[0].data + o * size;
    W mean{}, var{};
    for (int64_t i = 0; i < size; ++i) mean = mean + static_cast<W>(x[i]);
    mean = mean / count;
    for (int64_t i = 0; i < size; ++i) {
      W distance = static_cast<W>(x[i]) - mean;
      var = var + distance * distance;
    }
    W root = Math<W>::unary(OpKind::Sqrt, var / count + eps);
    for (int64_t i = 0; i < size; ++i)
      result.data[o * size + i] = static_cast<T>((static_cast<W>(x[i]) - mean) / root *
                                                     static_cast<W>(operands[1].data[i]) +
                                                 static_cast<W>(operands[2].data[i]));
  }
}

// --- reductions, running sums and argmax ---------------------------------------------------------

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

/// Returns the smallest value, by Math's own function or as the mirrored maximum.
template <class W> W least(llvm::ArrayRef<W> values) {
  if constexpr (requires { Math<W>::min_of(values); }) {
    return Math<W>::min_of(values);
  } else {
    llvm::SmallVector<W, 16> mirrored;
    for (const W& value : values) mirrored.push_back(-value);
    return -Math<W>::max_of(mirrored);
  }
}

template <class W> W product_of(llvm::ArrayRef<W> values) {
  W product = values[0];
  for (const W& value : values.drop_front()) product = product * value;
  return product;
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

/// Writes the first k of the row's indices in order, `inner` apart.
template <class T, class W>
void first_of_row(llvm::ArrayRef<W> row, int64_t k, bool largest, T* to, int64_t inner) {
  if constexpr (requires { Math<W>::above(row[0], row[0]); }) {
    llvm::SmallVector<int64_t, 64> order;
    for (int64_t s = 0, size = static_cast<int64_t>(row.size()); s < size; ++s) order.push_back(s);
    auto before = [&](int64_t a, int64_t b) {
      W x = row[static_cast<size_t>(a)], y = row[static_cast<size_t>(b)];
      if (largest ? Math<W>::above(x, y) : Math<W>::above(y, x)) return true;
      return !(largest ? Math<W>::above(y, x) : Math<W>::above(x, y)) && a < b;
    };
    std::partial_sort(order.begin(), order.begin() + k, order.end(), before);
    for (int64_t s = 0; s < k; ++s)
      to[s * inner] = static_cast<T>(Math<W>::integer(order[static_cast<size_t>(s)]));
  } else if constexpr (requires { typename Math<W>::External; }) {
    typename Math<W>::External function("top_k", largest ? "largest" : "smallest");
    for (const W& x : row) function.element(x);
    for (int64_t s = 0; s < k; ++s) to[s * inner] = static_cast<T>(function.at(s));
  } else {
    assert(false && "this scalar type has no order");
  }
}

template <class T>
void top_k(AttrValues attrs, const ConstView<T>& x, View<T> result,
           llvm::MutableArrayRef<WideOf<T>> row) {
  using W = WideOf<T>;
  size_t axis = static_cast<size_t>(attrs[0]->number);
  int64_t size = x.shape[axis], inner = product(x.shape.drop_front(axis + 1));
  int64_t outer = product(x.shape.take_front(axis)), k = attrs[1]->number;
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i = 0; i < inner; ++i) {
      for (int64_t s = 0; s < size; ++s)
        row[s] = static_cast<W>(x.data[(o * size + s) * inner + i]);
      first_of_row<T, W>(row.take_front(size), k, attrs[2]->number != 0,
                         result.data + o * k * inner + i, inner);
    }
}

TG_MEANING(MaxPool2d) { max_pool2d(in.attrs, in.x(), in.result, in.scratch); }
TG_MEANING(AvgPool2d) { avg_pool2d(in.attrs, in.x(), in.result, in.scratch); }
TG_MEANING(Softmax) { softmax(in.attrs, in.x(), in.result, in.scratch); }
TG_MEANING(Attention) { attention(in.attrs, in.operands, in.result, in.scratch); }
TG_MEANING(BatchNorm) { batch_norm(in.attrs, in.operands, in.result); }
TG_MEANING(LayerNorm) { layer_norm(in.attrs, in.operands, in.result); }
TG_MEANING(ReduceSum) {
  reduce(in.attrs, in.x(), in.result, in.scratch,
         [](llvm::ArrayRef<WideOf<T>> v) { return sum(v); });
}
TG_MEANING(ReduceMean) {
  using W = WideOf<T>;
  reduce(in.attrs, in.x(), in.result, in.scratch, [](llvm::ArrayRef<W> v) {
    return sum(v) / Math<W>::integer(static_cast<int64_t>(v.size()));
  });
}
TG_MEANING(ReduceMax) {
  using W = WideOf<T>;
  reduce(in.attrs, in.x(), in.result, in.scratch,
         [](llvm::ArrayRef<W> v) { return Math<W>::max_of(v); });
}
TG_MEANING(ReduceMin) {
  reduce(in.attrs, in.x(), in.result, in.scratch,
         [](llvm::ArrayRef<WideOf<T>> v) { return least(v); });
}
TG_MEANING(ReduceProd) {
  reduce(in.attrs, in.x(), in.result, in.scratch,
         [](llvm::ArrayRef<WideOf<T>> v) { return product_of(v); });
}
TG_MEANING(Cumsum) { cumsum(in.attrs, in.x(), in.result); }
TG_MEANING(Argmax) { argmax(in.attrs, in.x(), in.result, in.scratch); }
TG_MEANING(TopK) { top_k(in.attrs, in.x(), in.result, in.scratch); }

} // namespace semantics

} // namespace tg
