// The common definition of the operators, over the field. Matrix products and convolutions, which
// take most of the time of whole networks, use product.h: a convolution is the product of its
// kernels with the windows of an image, whose elements are read in place.
#include "compiler/verify/field/product.h"
#include "lang/core/semantics/impl.h"

namespace tg {

namespace semantics {

namespace {

/// Stores rows of sums from `base` on, which is row `channel` of a result with rows of n elements.
/// The epilogue indexes channels by rows (convolutions) or by columns.
struct Store {
  const Epilogue<Field>& epilogue;
  Field* result;
  int64_t base, n;
  bool channels_are_rows;
  int64_t channel = 0;

  void operator()(int64_t i, int64_t first, llvm::ArrayRef<Field> sums) const {
    for (size_t j = 0; j < sums.size(); ++j) {
      int64_t column = first + static_cast<int64_t>(j), position = base + i * n + column;
      result[position] = epilogue(sums[j], channels_are_rows ? channel + i : column, position);
    }
  }
};

/// Writes the elements that the results `from` to `to` of a line read under element j of the
/// window; zeros without a line.
void read_line(const Sliding& columns, const Field* line, int64_t j, int64_t from, int64_t to,
               Field* out) {
  int64_t begin = line ? std::clamp(columns.first(j), from, to) : to;
  int64_t end = line ? std::clamp(columns.last(j), begin, to) : to;
  out = std::fill_n(out, begin - from, Field{});
  for (int64_t at = begin; at < end; ++at) *out++ = line[columns.input(at, j)];
  std::fill_n(out, to - end, Field{});
}

/// Windows of one image's channels as a matrix: one row for each channel and each element of the
/// window, one column for each result.
struct Windows {
  const Field* x;
  const Sliding &rows, &columns;
  int64_t taps, taps_in_row;

  void operator()(int64_t row, int64_t first, int64_t count, Field* out) const {
    int64_t i = row % taps / taps_in_row, j = row % taps % taps_in_row;
    const Field* plane = x + row / taps * rows.size * columns.size;
    for (int64_t position = first, end = first + count; position < end;) {
      int64_t y = position / columns.out, from = position % columns.out;
      int64_t to = std::min(columns.out, from + end - position);
      bool inside = y >= rows.first(i) && y < rows.last(i);
      const Field* line = inside ? plane + rows.input(y, i) * columns.size : nullptr;
      read_line(columns, line, j, from, to, out);
      out += to - from;
      position += to - from;
    }
  }
};

/// The same for conv3d.
struct Windows3d {
  const Field* x;
  const std::array<Sliding, 3>& along;
  std::array<int64_t, 3> kernel;

  void operator()(int64_t row, int64_t first, int64_t count, Field* out) const {
    const Sliding &depths = along[0], &rows = along[1], &columns = along[2];
    int64_t taps = kernel[0] * kernel[1] * kernel[2], tap = row % taps, j = tap % kernel[2];
    int64_t i = tap / kernel[2] % kernel[1], k = tap / (kernel[1] * kernel[2]);
    const Field* volume = x + row / taps * depths.size * rows.size * columns.size;
    for (int64_t position = first, end = first + count; position < end;) {
      int64_t z = position / (rows.out * columns.out), y = position / columns.out % rows.out;
      int64_t from = position % columns.out, to = std::min(columns.out, from + end - position);
      bool inside =
          z >= depths.first(k) && z < depths.last(k) && y >= rows.first(i) && y < rows.last(i);
      const Field* line = nullptr;
      if (inside)
        line = volume + (depths.input(z, k) * rows.size + rows.input(y, i)) * columns.size;
      read_line(columns, line, j, from, to, out);
      out += to - from;
      position += to - from;
    }
  }
};

} // namespace

template <>
void matmul<Field>(AttrValues attrs, llvm::ArrayRef<ConstView<Field>> operands, View<Field> result,
                   llvm::MutableArrayRef<Field>) {
  Epilogue<Field> epilogue(operands, *attrs[0]);
  llvm::ArrayRef<int64_t> out = result.shape;
  int64_t m = out[out.size() - 2], n = out.back(), k = operands[0].shape.back();
  each_product(operands, out, [&](const Field* left, const Field* right, int64_t base) {
    auto row = [=](int64_t l, int64_t column, int64_t count, Field* to) {
      std::copy_n(right + l * n + column, count, to);
    };
    Store store{epilogue, result.data, base, n, /*channels_are_rows=*/false};
    multiply({m, n, k, left, k, row, store});
  });
}

template <>
void conv2d<Field>(AttrValues attrs, llvm::ArrayRef<ConstView<Field>> operands, View<Field> result,
                   llvm::MutableArrayRef<Field>) {
  llvm::ArrayRef<int64_t> x = operands[0].shape, w = operands[1].shape, out = result.shape;
  const Value &stride = *attrs[0], &pad = *attrs[1], &dilation = *attrs[2];
  Epilogue<Field> epilogue(operands, *attrs[3]);
  Sliding rows = sliding(x[2], w[2], stride.ints[0], dilation.ints[0], pad, 0);
  Sliding columns = sliding(x[3], w[3], stride.ints[1], dilation.ints[1], pad, 1);
  int64_t inputs = w[1], groups = x[1] / inputs, per_group = out[1] / groups;
  int64_t plane = out[2] * out[3], taps = w[2] * w[3], k = inputs * taps;
  for (int64_t i = 0; i < out[0] * groups; ++i) { // groups of one image after the other
    int64_t channel = i % groups * per_group;
    Windows windows{operands[0].data + i * inputs * x[2] * x[3], rows, columns, taps, w[3]};
    Store store{epilogue, result.data, i * per_group * plane, plane, /*channels_are_rows=*/true,
                channel};
    multiply({per_group, plane, k, operands[1].data + channel * k, k, windows, store});
  }
}

template <>
void conv3d<Field>(AttrValues attrs, llvm::ArrayRef<ConstView<Field>> operands, View<Field> result,
                   llvm::MutableArrayRef<Field>) {
  llvm::ArrayRef<int64_t> x = operands[0].shape, w = operands[1].shape, out = result.shape;
  std::array<Sliding, 3> along = sliding3d(attrs, x, w);
  int64_t inputs = w[1], groups = x[1] / inputs, per_group = out[1] / groups;
  int64_t volume = product(out.drop_front(2)), k = product(w.drop_front(1));
  for (int64_t i = 0; i < out[0] * groups; ++i) { // groups of one image after the other
    int64_t channel = i % groups * per_group;
    Windows3d windows{
        operands[0].data + i * inputs * x[2] * x[3] * x[4], along, {w[2], w[3], w[4]}};
    auto store = [&](int64_t row, int64_t first, llvm::ArrayRef<Field> sums) {
      Field* to = result.data + (i * per_group + row) * volume + first;
      for (const Field& sum : sums)
        *to++ = operands[2].data ? sum + operands[2].data[channel + row] : sum;
    };
    multiply({per_group, volume, k, operands[1].data + channel * k, k, windows, store});
  }
}

namespace {

/// One group of one image of a transposed convolution: computes the products of each element with
/// each element of the kernels, for a block of outputs at a time, and then their sums.
struct Transposed {
  const Spreading &rows, &columns;
  int64_t inputs, outputs, taps_in_row, taps;
  const Field* x;       // [inputs, rows, columns]
  const Field* kernels; // [outputs * taps, inputs]
  Field* result;        // [outputs, rows, columns], zeros

  void run() const {
    constexpr int64_t kElements = 1 << 20; // limit of products at a time
    int64_t each = taps * elements();
    int64_t block = std::clamp<int64_t>(kElements / each, 1, outputs);
    std::vector<Field> products(static_cast<size_t>(block * each));
    for (int64_t o = 0; o < outputs; o += block) {
      int64_t count = std::min(block, outputs - o) * taps;
      auto row = [&](int64_t c, int64_t first, int64_t n, Field* to) {
        std::copy_n(x + c * elements() + first, n, to);
      };
      auto store = [&](int64_t i, int64_t first, llvm::ArrayRef<Field> sums) {
        std::copy(sums.begin(), sums.end(), products.data() + i * elements() + first);
      };
      multiply({count, elements(), inputs, kernels + o * taps * inputs, inputs, row, store});
      for (int64_t i = 0; i < count; ++i)
        spread(products.data() + i * elements(), i % taps,
               result + (o + i / taps) * rows.out * columns.out);
    }
  }

private:
  int64_t elements() const { return rows.size * columns.size; }

  void spread(const Field* from, int64_t tap, Field* to) const {
    int64_t i = tap / taps_in_row, j = tap % taps_in_row;
    for (int64_t y = rows.first(i); y < rows.last(i); ++y)
      for (int64_t column = columns.first(j); column < columns.last(j); ++column)
        to[rows.result(y, i) * columns.out + columns.result(column, j)] +=
            from[y * columns.size + column];
  }
};

} // namespace

template <>
void conv_transpose2d<Field>(AttrValues attrs, llvm::ArrayRef<ConstView<Field>> operands,
                             View<Field> result, llvm::MutableArrayRef<Field>) {
  llvm::ArrayRef<int64_t> x = operands[0].shape, w = operands[1].shape, out = result.shape;
  Spreading rows = spreading(attrs, x[2], w[2], 0), columns = spreading(attrs, x[3], w[3], 1);
  int64_t groups = attrs[4]->number, inputs = x[1] / groups, taps = w[2] * w[3];
  std::vector<Field> kernels(static_cast<size_t>(w[0] * w[1] * taps));
  for (int64_t c = 0; c < w[0]; ++c) // by group, its outputs' elements, by inputs
    for (int64_t i = 0; i < w[1] * taps; ++i)
      kernels[static_cast<size_t>((c / inputs * w[1] * taps + i) * inputs + c % inputs)] =
          operands[1].data[c * w[1] * taps + i];
  std::fill_n(result.data, result.elements(), Field{});
  for (int64_t i = 0; i < out[0] * groups; ++i)
    Transposed{rows,
               columns,
               inputs,
               w[1],
               w[3],
               taps,
               operands[0].data + i * inputs * x[2] * x[3],
               kernels.data() + i % groups * w[1] * taps * inputs,
               result.data + i * w[1] * out[2] * out[3]}
        .run();
  for (int64_t i = 0; operands[2].data && i < result.elements(); ++i)
    result.data[i] += operands[2].data[i / (out[2] * out[3]) % out[1]];
}

template <>
void winograd_conv2d<Field>(AttrValues attrs, llvm::ArrayRef<ConstView<Field>> operands,
                            View<Field> result, llvm::MutableArrayRef<Field>) {
  llvm::ArrayRef<int64_t> x = operands[0].shape, u = operands[1].shape;
  TileBlock block{kFieldColumns, u[1] / (x[1] / u[2])};
  std::vector<Field> scratch(static_cast<size_t>(winograd_scratch(u, block)));
  auto sum = [](const Field* kernels, int64_t outputs, int64_t inputs, const Field* tiles,
                int64_t count, int64_t pitch, Field* sums) {
    auto row = [=](int64_t l, int64_t first, int64_t columns, Field* to) {
      std::copy_n(tiles + l * pitch + first, columns, to);
    };
    auto store = [=](int64_t i, int64_t first, llvm::ArrayRef<Field> values) {
      std::copy(values.begin(), values.end(), sums + i * pitch + first);
    };
    multiply({outputs, count, inputs, kernels, inputs, row, store});
  };
  winograd_conv2d_in<Field>(block, sum, attrs, operands, result, scratch);
}

/// A function of all elements of a row, not a random position in it: the chance that two random
/// positions are equal has no bound.
template <>
void argmax<Field>(AttrValues attrs, const ConstView<Field>& x, View<Field> result,
                   llvm::MutableArrayRef<Field>) {
  size_t axis = static_cast<size_t>(attrs[0]->number);
  int64_t size = x.shape[axis], inner = product(x.shape.drop_front(axis + 1));
  int64_t outer = product(x.shape.take_front(axis));
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i = 0; i < inner; ++i) {
      FieldHash row(key_of_text("argmax"));
      for (int64_t s = 0; s < size; ++s) row.add(x.data[(o * size + s) * inner + i]);
      result.data[o * inner + i] = row.element();
    }
}

namespace {

constexpr int64_t kGatherElements = 1 << 20; // limit of the matrix below, at a time

/// Gathers by unknown indices. The slice at such an index is the sum of all slices, each times a
/// random function of the index and the slice's position. An equality that holds for all such
/// functions also holds for the one that is 1 at the index and 0 elsewhere, which is the meaning
/// of `gather`.
struct Gather {
  const ConstView<Field>&x, indices;
  Field* result;
  int64_t outer, size, inner;

  void run(llvm::ArrayRef<int64_t> places) const {
    int64_t at_a_time = std::max<int64_t>(1, kGatherElements / size);
    for (; !places.empty(); places = places.drop_front(
                                std::min<size_t>(places.size(), static_cast<size_t>(at_a_time))))
      some(places.take_front(static_cast<size_t>(at_a_time)));
  }

private:
  void some(llvm::ArrayRef<int64_t> places) const {
    int64_t count = static_cast<int64_t>(places.size());
    std::vector<Field> shares(static_cast<size_t>(count * size));
    for (int64_t t = 0; t < count; ++t) {
      FieldHash hash = FieldHash(key_of_text("gather")).add(indices.data[places[t]]);
      for (int64_t s = 0; s < size; ++s)
        shares[t * size + s] = FieldHash(hash).add(static_cast<uint64_t>(s)).element();
    }
    for (int64_t o = 0; inner > 1 && o < outer; ++o) by_slices(places, o, shares.data());
    if (inner == 1) by_rows(places, shares.data());
  }

  Field* slice(int64_t o, int64_t place) const {
    return result + (o * indices.elements() + place) * inner;
  }

  /// Each index is a row of the product.
  void by_slices(llvm::ArrayRef<int64_t> places, int64_t o, const Field* shares) const {
    const Field* from = x.data + o * size * inner;
    auto row = [&](int64_t l, int64_t first, int64_t count, Field* to) {
      std::copy_n(from + l * inner + first, count, to);
    };
    auto store = [&](int64_t t, int64_t first, llvm::ArrayRef<Field> sums) {
      std::copy(sums.begin(), sums.end(), slice(o, places[static_cast<size_t>(t)]) + first);
    };
    multiply({static_cast<int64_t>(places.size()), inner, size, shares, size, row, store});
  }

  /// Each index is a column.
  void by_rows(llvm::ArrayRef<int64_t> places, const Field* shares) const {
    auto row = [&](int64_t l, int64_t first, int64_t count, Field* to) {
      for (int64_t t = first; t < first + count; ++t) *to++ = shares[t * size + l];
    };
    auto store = [&](int64_t o, int64_t first, llvm::ArrayRef<Field> sums) {
      for (size_t t = 0; t < sums.size(); ++t)
        *slice(o, places[static_cast<size_t>(first) + t]) = sums[t];
    };
    multiply({outer, static_cast<int64_t>(places.size()), size, x.data, size, row, store});
  }
};

} // namespace

/// An index that is a known integer selects its slice.
template <>
void gather<Field>(AttrValues attrs, const ConstView<Field>& x, const ConstView<Field>& indices,
                   View<Field> result) {
  size_t axis = static_cast<size_t>(attrs[0]->number);
  int64_t size = x.shape[axis], inner = product(x.shape.drop_front(axis + 1));
  int64_t outer = product(x.shape.take_front(axis)), count = indices.elements();
  std::vector<int64_t> unknown;
  for (int64_t i = 0; i < count; ++i) {
    std::optional<int64_t> index = indices.data[i].small_integer();
    if (!index) unknown.push_back(i);
    for (int64_t o = 0; index && o < outer; ++o) {
      Field* to = result.data + (o * count + i) * inner;
      if (*index >= 0 && *index < size)
        std::copy_n(x.data + (o * size + *index) * inner, inner, to);
      else
        std::fill_n(to, inner, Math<Field>::missing());
    }
  }
  Gather{x, indices, result.data, outer, size, inner}.run(unknown);
}

/// As in `gather`, an unknown index affects every position by a share: the value becomes share
/// times the updated value plus 1 - share times itself. The minimum is some symmetric function. It
/// is not a mirrored maximum, which would be wrong for integers that wrap.
template <>
void scatter<Field>(AttrValues attrs, llvm::ArrayRef<ConstView<Field>> operands, View<Field> result,
                    llvm::MutableArrayRef<Field>) {
  const ConstView<Field>&x = operands[0], indices = operands[1], updates = operands[2];
  size_t axis = static_cast<size_t>(attrs[0]->number);
  ScatterReduce reduce = *parse_scatter_reduce(attrs[1]->text);
  int64_t size = x.shape[axis], inner = product(x.shape.drop_front(axis + 1));
  int64_t outer = product(x.shape.take_front(axis)), count = indices.elements();
  uint64_t least = key_of_text("scatter min");
  std::copy_n(x.data, x.elements(), result.data);
  auto made = [&](const Field& there, const Field& update) {
    if (reduce != ScatterReduce::Min || there == update) return joined(reduce, there, update);
    return random_function(least, random_function(least, there) + random_function(least, update));
  };
  for (int64_t t = 0; t < count; ++t) {
    std::optional<int64_t> index = indices.data[t].small_integer();
    for (int64_t s = index.value_or(0); s < (index ? *index + 1 : size); ++s) {
      if (s < 0 || s >= size) continue;
      Field share = FieldHash(key_of_text("gather"))
                        .add(indices.data[t])
                        .add(static_cast<uint64_t>(s))
                        .element();
      for (int64_t i = 0; i < outer * inner; ++i) {
        Field& there = result.data[((i / inner) * size + s) * inner + i % inner];
        Field next = made(there, updates.data[((i / inner) * count + t) * inner + i % inner]);
        there = index ? next : there + share * (next - there);
      }
    }
  }
}

} // namespace semantics

template void evaluate_op<Field>(OpKind, AttrValues, llvm::ArrayRef<ConstView<Field>>, View<Field>,
                                 llvm::MutableArrayRef<Field>);

} // namespace tg
