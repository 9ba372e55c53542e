// The one definition of the operators, over the field. Where the time of whole networks goes,
// in matrix products and convolutions, the sums are those of product.h: a convolution is the
// product of its kernels with the windows of an image, whose elements are read where they lie.
#include "compiler/equiv/field/product.h"
#include "lang/core/semantics/impl.h"

namespace tg {

namespace semantics {

namespace {

/// Stores rows of sums from `base` on, which is row `channel` of a result with rows of n elements.
/// The epilogue knows channels by rows (convolutions) or by columns.
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

/// Windows of one image's channels as the rows of a matrix: one for each channel and each element
/// of the window, one column for each result.
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
      one_line(inside ? plane + rows.input(y, i) * columns.size : nullptr, j, from, to, out);
      out += to - from;
      position += to - from;
    }
  }

private:
  /// Results from to `to` of a line of the image; without one, zeros.
  void one_line(const Field* line, int64_t j, int64_t from, int64_t to, Field* out) const {
    int64_t begin = line ? std::clamp(columns.first(j), from, to) : to;
    int64_t end = line ? std::clamp(columns.last(j), begin, to) : to;
    out = std::fill_n(out, begin - from, Field{});
    for (int64_t at = begin; at < end; ++at) *out++ = line[columns.input(at, j)];
    std::fill_n(out, to - end, Field{});
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
  for (int64_t i = 0; i < out[0] * groups; ++i) { // of an image, one behind the other
    int64_t channel = i % groups * per_group;
    Windows windows{operands[0].data + i * inputs * x[2] * x[3], rows, columns, taps, w[3]};
    Store store{epilogue, result.data, i * per_group * plane, plane, /*channels_are_rows=*/true,
                channel};
    multiply({per_group, plane, k, operands[1].data + channel * k, k, windows, store});
  }
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

/// A function of all elements of a row, without a place among them: nothing bounds how likely two
/// random places are one.
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

constexpr int64_t kGatherElements = 1 << 20; // of the matrix below, at a time

/// Gathers by indices that nothing is known of. The slice at such an index is the sum of all
/// slices, each times a random function of the index and its place: what holds of all such
/// functions holds of the one that is 1 at the index and 0 elsewhere, which is what `gather` means.
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

/// An index that is a known integer names its slice.
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

} // namespace semantics

template void evaluate_op<Field>(OpKind, AttrValues, llvm::ArrayRef<ConstView<Field>>, View<Field>,
                                 llvm::MutableArrayRef<Field>);

} // namespace tg
