// The bodies of semantics.h. Loops are ordered so that the innermost one runs along memory and
// carries no dependency: plain, yet quick enough to be run on whole networks. Included by the
// libraries that instantiate evaluate_op over a scalar, by nobody else.
#pragma once

#include "lang/core/semantics.h"
#include "lang/core/shape_rules.h"
#include "lang/core/winograd.h"

#include <llvm/ADT/STLExtras.h>

#include <algorithm>
#include <array>

namespace tg {

// NOLINTNEXTLINE(readability-function-size): a flat switch, one row an operator.
template <class W> W pointwise(OpKind op, const W* args) {
  switch (op) {
  case OpKind::Add: return args[0] + args[1];
  case OpKind::Sub: return args[0] - args[1];
  case OpKind::Mul: return args[0] * args[1];
  case OpKind::Div: return args[0] / args[1];
  case OpKind::Maximum: return Math<W>::maximum(args[0], args[1]);
  case OpKind::Identity: return args[0];
  case OpKind::Neg: return -args[0];
  case OpKind::Abs: return Math<W>::maximum(args[0], -args[0]);
  case OpKind::Relu6:
    return Math<W>::binary(OpKind::Minimum, Math<W>::unary(OpKind::Relu, args[0]),
                           Math<W>::integer(6));
  case OpKind::Rsqrt: return Math<W>::integer(1) / Math<W>::unary(OpKind::Sqrt, args[0]);
  case OpKind::Minimum:
  case OpKind::Pow:
  case OpKind::Mod:
  case OpKind::Less:
  case OpKind::LessEqual:
  case OpKind::Equal: return Math<W>::binary(op, args[0], args[1]);
  case OpKind::Greater: return Math<W>::binary(OpKind::Less, args[1], args[0]);
  case OpKind::GreaterEqual: return Math<W>::binary(OpKind::LessEqual, args[1], args[0]);
  case OpKind::NotEqual:
    return Math<W>::integer(1) - Math<W>::binary(OpKind::Equal, args[0], args[1]);
  case OpKind::LogicalAnd: return args[0] * args[1];
  case OpKind::LogicalOr: return args[0] + args[1] - args[0] * args[1];
  case OpKind::LogicalNot: return Math<W>::integer(1) - args[0];
  case OpKind::Select: return Math<W>::select(args[0], args[1], args[2]);
  default: return Math<W>::unary(op, args[0]); // which asserts that there is no other
  }
}

namespace semantics {

using Dims = llvm::SmallVector<int64_t, 8>; // kMaxRank: never allocates

inline int64_t product(llvm::ArrayRef<int64_t> shape) {
  int64_t count = 1;
  for (int64_t size : shape) count *= size;
  return count;
}

inline Dims row_major(llvm::ArrayRef<int64_t> shape) {
  Dims strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  return strides;
}

/// Steps through the indices of `shape` in row-major order and keeps the offset that `strides`
/// give.
class Walk {
public:
  Walk(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> strides)
      : shape_(shape.begin(), shape.end()), strides_(strides.begin(), strides.end()),
        index_(shape.size(), 0) {}
  int64_t offset() const { return offset_; }
  void next() {
    for (size_t axis = shape_.size(); axis-- > 0;) {
      offset_ += strides_[axis];
      if (++index_[axis] < shape_[axis]) return;
      offset_ -= strides_[axis] * shape_[axis];
      index_[axis] = 0;
    }
  }

private:
  Dims shape_, strides_, index_;
  int64_t offset_ = 0;
};

/// Operands under NumPy broadcasting, as rows along which every operand moves by a fixed step.
/// Neighbouring axes that all operands cross alike are one, so equal shapes are a single row.
class Rows {
public:
  Rows(llvm::ArrayRef<int64_t> result, llvm::ArrayRef<llvm::ArrayRef<int64_t>> operands) {
    llvm::SmallVector<Dims, 8> strides;
    for (llvm::ArrayRef<int64_t> shape : operands) strides.push_back(broadcast(shape, result));
    Dims outer;
    llvm::SmallVector<Dims, 8> merged(operands.size());
    for (size_t axis = 0; axis < result.size(); ++axis) {
      if (result[axis] == 1) continue;
      bool joins = !outer.empty();
      for (size_t i = 0; i < operands.size() && joins; ++i)
        joins = merged[i].back() == strides[i][axis] * result[axis];
      if (joins)
        outer.back() *= result[axis];
      else
        outer.push_back(result[axis]);
      for (size_t i = 0; i < operands.size(); ++i) {
        if (joins) merged[i].pop_back();
        merged[i].push_back(strides[i][axis]);
      }
    }
    length_ = outer.empty() ? 1 : outer.pop_back_val();
    count_ = product(outer);
    for (Dims& axes : merged) {
      steps_.push_back(axes.empty() ? 0 : axes.pop_back_val());
      walks_.emplace_back(outer, axes);
    }
  }

  int64_t length() const { return length_; }
  int64_t step(size_t operand) const { return steps_[operand]; }
  int64_t offset(size_t operand) const { return walks_[operand].offset(); }
  /// Calls f(offset in the result) for each row; offset() then tells where the operands' rows
  /// start.
  template <class F> void for_each(F f) {
    for (int64_t row = 0; row < count_; ++row) {
      f(row * length_);
      for (Walk& walk : walks_) walk.next();
    }
  }

private:
  static Dims broadcast(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> result) {
    Dims own = row_major(shape), strides(result.size(), 0);
    size_t lead = result.size() - shape.size();
    for (size_t i = 0; i < shape.size(); ++i) strides[lead + i] = shape[i] == 1 ? 0 : own[i];
    return strides;
  }

  int64_t length_ = 1, count_ = 1;
  llvm::SmallVector<int64_t, 8> steps_;
  llvm::SmallVector<Walk, 8> walks_;
};

template <class T>
llvm::SmallVector<llvm::ArrayRef<int64_t>, 8> shapes_of(llvm::ArrayRef<ConstView<T>> operands) {
  llvm::SmallVector<llvm::ArrayRef<int64_t>, 8> shapes;
  for (const ConstView<T>& operand : operands) shapes.push_back(operand.shape);
  return shapes;
}

// --- element by element -------------------------------------------------------------------------

/// Operands of one that has fewer stand in the places of those that it lacks.
inline constexpr size_t kMaxArity = 3;

template <class T>
void elementwise(OpKind op, llvm::ArrayRef<ConstView<T>> operands, View<T> result) {
  using W = WideOf<T>;
  Rows rows(result.shape, shapes_of(operands));
  size_t second = operands.size() > 1 ? 1 : 0, third = operands.size() - 1;
  rows.for_each([&](int64_t start) {
    const T* x = operands[0].data + rows.offset(0);
    const T* y = operands[second].data + rows.offset(second);
    const T* z = operands[third].data + rows.offset(third);
    int64_t step_x = rows.step(0), step_y = rows.step(second), step_z = rows.step(third);
    for (int64_t i = 0; i < rows.length(); ++i) {
      W args[kMaxArity] = {static_cast<W>(x[i * step_x]), static_cast<W>(y[i * step_y]),
                           static_cast<W>(z[i * step_z])};
      result.data[start + i] = static_cast<T>(pointwise<W>(op, args));
    }
  });
}

/// One operand, a function of the scalar: operators with attributes.
template <class T, class F> void map(const ConstView<T>& x, View<T> result, F f) {
  for (int64_t i = 0, count = result.elements(); i < count; ++i)
    result.data[i] = static_cast<T>(f(static_cast<WideOf<T>>(x.data[i])));
}

/// One block of a fused body: the stack holds blocks of kFusedBlock elements.
template <class T>
void fused_block(const FusedBody& body, llvm::ArrayRef<ConstView<T>> operands, const Rows& rows,
                 int64_t first, int64_t count, WideOf<T>* stack, T* out) {
  using W = WideOf<T>;
  W* top = stack; // behind the last block on the stack
  for (const FusedInstr& instr : body.code) {
    if (instr.is_operand) {
      int64_t step = rows.step(instr.operand);
      const T* x = operands[instr.operand].data + rows.offset(instr.operand) + first * step;
      for (int64_t i = 0; i < count; ++i) top[i] = static_cast<W>(x[i * step]);
      top += kFusedBlock;
      continue;
    }
    int64_t arity = static_cast<int64_t>(op_info(instr.op).operand_count);
    top -= arity * kFusedBlock;
    const W* second = arity > 1 ? top + kFusedBlock : top;
    const W* third = top + (arity - 1) * kFusedBlock;
    for (int64_t i = 0; i < count; ++i) {
      W args[kMaxArity] = {top[i], second[i], third[i]};
      top[i] = pointwise<W>(instr.op, args);
    }
    top += kFusedBlock;
  }
  for (int64_t i = 0; i < count; ++i) out[i] = static_cast<T>(stack[i]);
}

// --- products -----------------------------------------------------------------------------------

/// Rows of results that are summed together, so that each element read serves all of them.
inline constexpr int64_t kSumRows = 4;

/// sums[r][i] += scale[r] * x[i * step] for r < rows; row r is at sums + r * pitch.
template <class T, class W>
void accumulate(W* __restrict sums, int64_t pitch, const W* scale, int64_t rows,
                const T* __restrict x, int64_t step, int64_t count) {
  if (rows == kSumRows && step == 1) {
    W *s0 = sums, *s1 = s0 + pitch, *s2 = s1 + pitch, *s3 = s2 + pitch;
    const W a = scale[0], b = scale[1], c = scale[2], d = scale[3];
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) {
      W value = static_cast<W>(x[i]);
      s0[i] += a * value;
      s1[i] += b * value;
      s2[i] += c * value;
      s3[i] += d * value;
    }
    return;
  }
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t i = 0; i < count; ++i)
      sums[r * pitch + i] += scale[r] * static_cast<W>(x[i * step]);
}

/// act(sum + bias + residual) for one result of matmul and conv2d.
template <class T> struct Epilogue {
  using W = WideOf<T>;
  const T* bias = nullptr;     // by channel
  const T* residual = nullptr; // by result
  std::optional<OpKind> act;

  Epilogue(llvm::ArrayRef<ConstView<T>> operands, const Value& act_value)
      : bias(operands[2].data), residual(operands[3].data),
        act(act_op(parse_act(act_value.text).value_or(Act::None))) {}

  T operator()(W sum, int64_t channel, int64_t position) const {
    if (bias) sum = sum + static_cast<W>(bias[channel]);
    if (residual) sum = sum + static_cast<W>(residual[position]);
    if (act) sum = pointwise<W>(*act, &sum);
    return static_cast<T>(sum);
  }
};

template <class T>
void matmul(AttrValues attrs, llvm::ArrayRef<ConstView<T>> operands, View<T> result,
            llvm::MutableArrayRef<WideOf<T>> sums) {
  using W = WideOf<T>;
  Epilogue<T> epilogue(operands, *attrs[0]);
  llvm::ArrayRef<int64_t> x = operands[0].shape, y = operands[1].shape, out = result.shape;
  int64_t m = out[out.size() - 2], n = out.back(), k = x.back();
  // Two more axes of size 1 make the batch a broadcast of whole matrices.
  Dims batch(out.drop_back(2).begin(), out.drop_back(2).end());
  Rows rows(batch, {x.drop_back(2), y.drop_back(2)});
  rows.for_each([&](int64_t first) {
    for (int64_t b = 0; b < rows.length(); ++b) {
      const T* left = operands[0].data + (rows.offset(0) + b * rows.step(0)) * m * k;
      const T* right = operands[1].data + (rows.offset(1) + b * rows.step(1)) * k * n;
      int64_t base = (first + b) * m * n;
      for (int64_t i = 0; i < m; i += kSumRows) {
        int64_t block = std::min(kSumRows, m - i);
        std::fill_n(sums.begin(), block * n, W{});
        for (int64_t l = 0; l < k; ++l) {
          std::array<W, kSumRows> scale{};
          for (int64_t r = 0; r < block; ++r) scale[r] = static_cast<W>(left[(i + r) * k + l]);
          accumulate(sums.data(), n, scale.data(), block, right + l * n, 1, n);
        }
        for (int64_t r = 0; r < block; ++r)
          for (int64_t j = 0; j < n; ++j) {
            int64_t position = base + (i + r) * n + j;
            result.data[position] = epilogue(sums[r * n + j], j, position);
          }
      }
    }
  });
}

/// Geometry of a window along one axis, and the results whose window element k lies inside.
struct Sliding {
  int64_t size, out, stride, dilation, before;
  int64_t first(int64_t k) const {
    int64_t missing = before - k * dilation;
    return missing <= 0 ? 0 : std::min(out, (missing + stride - 1) / stride);
  }
  int64_t last(int64_t k) const { // excluded
    int64_t room = size - 1 + before - k * dilation;
    return room < 0 ? 0 : std::min(out, room / stride + 1);
  }
  int64_t input(int64_t result, int64_t k) const { return result * stride - before + k * dilation; }
};

inline Sliding sliding(int64_t size, int64_t kernel, int64_t stride, int64_t dilation,
                       const Value& pad, int axis) {
  std::optional<Window> w = window(size, kernel, stride, dilation, pad, axis);
  assert(w && "infer admits no window that does not fit");
  return {size, w->out, stride, dilation, w->before};
}

/// Adds one input plane, under element (i, j) of the window, to the sums of a block of channels.
template <class T, class W>
void accumulate_plane(W* sums, int64_t pitch, const W* scale, int64_t rows, const T* plane,
                      const Sliding& h, const Sliding& w, int64_t i, int64_t j) {
  int64_t y0 = h.first(i), y1 = h.last(i), x0 = w.first(j), x1 = w.last(j);
  if (y0 >= y1 || x0 >= x1) return;
  bool whole_rows = w.stride == 1 && h.stride == 1 && x0 == 0 && x1 == w.out && w.size == w.out &&
                    w.input(0, j) == 0;
  if (whole_rows) {
    accumulate(sums + y0 * w.out, pitch, scale, rows, plane + h.input(y0, i) * w.size, 1,
               (y1 - y0) * w.out);
    return;
  }
  for (int64_t y = y0; y < y1; ++y)
    accumulate(sums + y * w.out + x0, pitch, scale, rows,
               plane + h.input(y, i) * w.size + w.input(x0, j), w.stride, x1 - x0);
}

template <class T>
void conv2d(AttrValues attrs, llvm::ArrayRef<ConstView<T>> operands, View<T> result,
            llvm::MutableArrayRef<WideOf<T>> sums) {
  using W = WideOf<T>;
  llvm::ArrayRef<int64_t> x = operands[0].shape, w = operands[1].shape, out = result.shape;
  const Value &stride = *attrs[0], &pad = *attrs[1], &dilation = *attrs[2];
  Epilogue<T> epilogue(operands, *attrs[3]);
  Sliding rows = sliding(x[2], w[2], stride.ints[0], dilation.ints[0], pad, 0);
  Sliding columns = sliding(x[3], w[3], stride.ints[1], dilation.ints[1], pad, 1);
  int64_t inputs = w[1], per_group = out[1] / (x[1] / inputs), plane = out[2] * out[3];
  int64_t taps = w[2] * w[3];
  for (int64_t image = 0; image < out[0]; ++image)
    for (int64_t o = 0; o < out[1];) {
      int64_t group = o / per_group;
      int64_t block = std::min(kSumRows, (group + 1) * per_group - o);
      std::fill_n(sums.begin(), block * plane, W{});
      for (int64_t c = 0; c < inputs; ++c)
        for (int64_t tap = 0; tap < taps; ++tap) {
          std::array<W, kSumRows> scale{};
          for (int64_t r = 0; r < block; ++r)
            scale[r] = static_cast<W>(operands[1].data[((o + r) * inputs + c) * taps + tap]);
          const T* from = operands[0].data + (image * x[1] + group * inputs + c) * x[2] * x[3];
          accumulate_plane(sums.data(), plane, scale.data(), block, from, rows, columns, tap / w[3],
                           tap % w[3]);
        }
      for (int64_t r = 0; r < block; ++r)
        for (int64_t p = 0; p < plane; ++p) {
          int64_t position = (image * out[1] + o + r) * plane + p;
          result.data[position] = epilogue(sums[r * plane + p], o + r, position);
        }
      o += block;
    }
}

// --- minimal filtering
// ----------------------------------------------------------------------------

/// Tiles that are transformed together, so that sums run along them.
inline constexpr int64_t kTileBlock = 32;

/// Transformed inputs of a block, and products of kSumRows outputs.
inline int64_t winograd_scratch(llvm::ArrayRef<int64_t> u) {
  return u[0] * (u[2] + kSumRows) * kTileBlock;
}

/// The integer as a scalar; Math::integer is asked for none below 0.
template <class W> W signed_integer(int value) {
  W size = Math<W>::integer(value < 0 ? -value : value);
  return value < 0 ? -size : size;
}

/// A `rows` x `columns` matrix of integers, as scalars.
template <class W> struct Transform {
  int64_t rows, columns;
  W at[Winograd::kMaxTile][Winograd::kMaxTile];

  template <int columns_stored>
  Transform(const int (*matrix)[columns_stored], int64_t rows, int64_t columns)
      : rows(rows), columns(columns) {
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j) at[i][j] = signed_integer<W>(matrix[i][j]);
  }

  /// M x M' of a row-major `columns` x `columns` x, to a row-major `rows` x `rows` y.
  void apply(const W* x, W* y) const {
    W half[Winograd::kMaxTile][Winograd::kMaxTile]; // M x
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j) {
        half[i][j] = at[i][0] * x[j];
        for (int64_t k = 1; k < columns; ++k) half[i][j] += at[i][k] * x[k * columns + j];
      }
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < rows; ++j) {
        W sum = half[i][0] * at[j][0];
        for (int64_t k = 1; k < columns; ++k) sum += half[i][k] * at[j][k];
        y[i * rows + j] = sum;
      }
  }
};

template <class T> void winograd_weight(AttrValues attrs, const ConstView<T>& w, View<T> result) {
  using W = WideOf<T>;
  const Winograd& f = winograd_of_results(attrs[0]->number);
  Transform<W> g(f.weights, f.tile, Winograd::kKernel);
  W denominator = Math<W>::integer(int64_t{f.denominator} * f.denominator);
  int64_t kernels = w.shape[0] * w.shape[1], taps = Winograd::kKernel * Winograd::kKernel;
  for (int64_t k = 0; k < kernels; ++k) {
    W kernel[Winograd::kKernel * Winograd::kKernel], out[Winograd::kMaxTile * Winograd::kMaxTile];
    for (int64_t tap = 0; tap < taps; ++tap) kernel[tap] = static_cast<W>(w.data[k * taps + tap]);
    g.apply(kernel, out);
    for (int64_t p = 0; p < f.products(); ++p)
      result.data[p * kernels + k] = static_cast<T>(out[p] / denominator);
  }
}

/// winograd_conv2d of one image and group. Tiles are counted row by row over the result.
template <class T> class WinogradImage {
public:
  using W = WideOf<T>;

  WinogradImage(const Winograd& f, const Sliding& rows, const Sliding& columns, int64_t inputs,
                llvm::MutableArrayRef<W> scratch)
      : f_(f), rows_(rows), columns_(columns), inputs_(inputs),
        across_((columns.out + f.results - 1) / f.results), to_inputs_(f.inputs, f.tile, f.tile),
        to_results_(f.outputs, f.results, f.tile), inputs_at_(scratch.data()),
        sums_(inputs_at_ + f.products() * inputs * kTileBlock) {}

  int64_t tiles() const { return (rows_.out + f_.results - 1) / f_.results * across_; }

  /// Transforms tiles first to first + count (at most kTileBlock) of all input channels.
  void read(const T* x, int64_t first, int64_t count) {
    for (int64_t c = 0; c < inputs_; ++c)
      for (int64_t t = 0; t < count; ++t) {
        W in[Winograd::kMaxTile * Winograd::kMaxTile], out[Winograd::kMaxTile * Winograd::kMaxTile];
        gather(x + c * rows_.size * columns_.size, first + t, in);
        to_inputs_.apply(in, out);
        for (int64_t p = 0; p < f_.products(); ++p)
          inputs_at_[(p * inputs_ + c) * kTileBlock + t] = out[p];
      }
  }

  /// Products of these tiles with `rows` (at most kSumRows) outputs; u is at the first of them, and
  /// its products lie `pitch` apart.
  void multiply(const T* u, int64_t pitch, int64_t rows, int64_t count) {
    std::fill_n(sums_, f_.products() * kSumRows * kTileBlock, W{});
    for (int64_t p = 0; p < f_.products(); ++p)
      for (int64_t c = 0; c < inputs_; ++c) {
        std::array<W, kSumRows> scale{};
        for (int64_t r = 0; r < rows; ++r)
          scale[r] = static_cast<W>(u[p * pitch + r * inputs_ + c]);
        accumulate(sums_ + p * kSumRows * kTileBlock, kTileBlock, scale.data(), rows,
                   inputs_at_ + (p * inputs_ + c) * kTileBlock, 1, count);
      }
  }

  /// Calls f(sum, offset in the plane) for each result of output row r that these tiles hold.
  template <class F> void write(int64_t r, int64_t first, int64_t count, F f) {
    for (int64_t t = 0; t < count; ++t) {
      W in[Winograd::kMaxTile * Winograd::kMaxTile], out[Winograd::kMaxTile * Winograd::kMaxTile];
      for (int64_t p = 0; p < f_.products(); ++p)
        in[p] = sums_[(p * kSumRows + r) * kTileBlock + t];
      to_results_.apply(in, out);
      int64_t y0 = top(first + t), x0 = left(first + t);
      for (int64_t y = y0; y < std::min(y0 + f_.results, rows_.out); ++y)
        for (int64_t x = x0; x < std::min(x0 + f_.results, columns_.out); ++x)
          f(out[(y - y0) * f_.results + x - x0], y * columns_.out + x);
    }
  }

private:
  int64_t top(int64_t tile) const { return tile / across_ * f_.results; }
  int64_t left(int64_t tile) const { return tile % across_ * f_.results; }

  /// The inputs of a tile, zeros where it lies outside.
  void gather(const T* plane, int64_t tile, W* in) const {
    for (int64_t i = 0; i < f_.tile; ++i)
      for (int64_t j = 0; j < f_.tile; ++j) {
        int64_t y = rows_.input(top(tile), i), x = columns_.input(left(tile), j);
        bool inside = y >= 0 && y < rows_.size && x >= 0 && x < columns_.size;
        in[i * f_.tile + j] = inside ? static_cast<W>(plane[y * columns_.size + x]) : W{};
      }
  }

  const Winograd& f_;
  Sliding rows_, columns_;
  int64_t inputs_, across_;
  Transform<W> to_inputs_, to_results_;
  W *inputs_at_, *sums_;
};

template <class T>
void winograd_conv2d(AttrValues attrs, llvm::ArrayRef<ConstView<T>> operands, View<T> result,
                     llvm::MutableArrayRef<WideOf<T>> scratch) {
  using W = WideOf<T>;
  llvm::ArrayRef<int64_t> x = operands[0].shape, u = operands[1].shape, out = result.shape;
  Epilogue<T> epilogue(operands, *attrs[1]);
  int64_t inputs = u[2], groups = x[1] / inputs, per_group = out[1] / groups;
  int64_t plane = out[2] * out[3];
  WinogradImage<T> image(winograd_of_products(u[0]), sliding(x[2], 3, 1, 1, *attrs[0], 0),
                         sliding(x[3], 3, 1, 1, *attrs[0], 1), inputs, scratch);
  for (int64_t i = 0; i < out[0] * groups; ++i) // of an image, one behind the other
    for (int64_t first = 0; first < image.tiles(); first += kTileBlock) {
      int64_t count = std::min(kTileBlock, image.tiles() - first), group = i % groups;
      image.read(operands[0].data + i * inputs * x[2] * x[3], first, count);
      for (int64_t o = group * per_group; o < (group + 1) * per_group; o += kSumRows) {
        int64_t rows = std::min(kSumRows, (group + 1) * per_group - o);
        image.multiply(operands[1].data + o * inputs, u[1] * inputs, rows, count);
        for (int64_t r = 0; r < rows; ++r) {
          int64_t base = (i / groups * out[1] + o + r) * plane;
          image.write(r, first, count, [&](W sum, int64_t at) {
            result.data[base + at] = epilogue(sum, o + r, base + at);
          });
        }
      }
    }
}

// --- windows and rows ---------------------------------------------------------------------------

/// Calls f(values inside the window) for each result; what it returns is the result.
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

// --- reductions ---------------------------------------------------------------------------------

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

// --- layout and pieces --------------------------------------------------------------------------

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

} // namespace semantics

template <class T>
void evaluate_fused(const FusedBody& body, llvm::ArrayRef<ConstView<T>> operands, View<T> result,
                    llvm::MutableArrayRef<WideOf<T>> scratch) {
  semantics::Rows rows(result.shape, semantics::shapes_of(operands));
  rows.for_each([&](int64_t start) {
    for (int64_t i = 0; i < rows.length(); i += kFusedBlock)
      semantics::fused_block(body, operands, rows, i, std::min(kFusedBlock, rows.length() - i),
                             scratch.data(), result.data + start + i);
  });
}

// No default: the compiler names the operator that has a row in ops.def and no meaning here.
// NOLINTNEXTLINE(readability-function-size): a flat switch, one row an operator.
template <class T>
void evaluate_op(OpKind op, AttrValues attrs, llvm::ArrayRef<ConstView<T>> operands, View<T> result,
                 llvm::MutableArrayRef<WideOf<T>> scratch) {
  using W = WideOf<T>;
  using namespace semantics;
  switch (op) {
  case OpKind::None:
  case OpKind::Input:
  case OpKind::Weight:
  case OpKind::Constant:
  case OpKind::Split: assert(false && "leaves and sugar are not evaluated"); return;
  case OpKind::Add:
  case OpKind::Sub:
  case OpKind::Mul:
  case OpKind::Div:
  case OpKind::Maximum:
  case OpKind::Identity:
  case OpKind::Neg:
  case OpKind::Relu:
  case OpKind::Sigmoid:
  case OpKind::Tanh:
  case OpKind::Gelu:
  case OpKind::Exp:
  case OpKind::Sqrt:
  case OpKind::Erf:
  case OpKind::Minimum:
  case OpKind::Pow:
  case OpKind::Mod:
  case OpKind::Less:
  case OpKind::LessEqual:
  case OpKind::Greater:
  case OpKind::GreaterEqual:
  case OpKind::Equal:
  case OpKind::NotEqual:
  case OpKind::LogicalAnd:
  case OpKind::LogicalOr:
  case OpKind::LogicalNot:
  case OpKind::Select:
  case OpKind::Relu6:
  case OpKind::Abs:
  case OpKind::Sign:
  case OpKind::Floor:
  case OpKind::Log:
  case OpKind::Sin:
  case OpKind::Cos:
  case OpKind::Rsqrt: return elementwise(op, operands, result);
  case OpKind::Clip: {
    W low = Math<W>::literal(attrs[0]->real), high = Math<W>::literal(attrs[1]->real);
    return map(operands[0], result, [&](const W& x) {
      return Math<W>::binary(OpKind::Minimum, Math<W>::maximum(x, low), high);
    });
  }
  case OpKind::Cast: {
    DType to = *parse_dtype(attrs[0]->text);
    return map(operands[0], result, [&](const W& x) { return Math<W>::cast(to, x); });
  }
  case OpKind::Matmul: return matmul(attrs, operands, result, scratch);
  case OpKind::Conv2d: return conv2d(attrs, operands, result, scratch);
  case OpKind::WinogradWeight: return winograd_weight(attrs, operands[0], result);
  case OpKind::WinogradConv2d: return winograd_conv2d(attrs, operands, result, scratch);
  case OpKind::MaxPool2d: return max_pool2d(attrs, operands[0], result, scratch);
  case OpKind::AvgPool2d: return avg_pool2d(attrs, operands[0], result, scratch);
  case OpKind::Softmax: return softmax(attrs, operands[0], result, scratch);
  case OpKind::BatchNorm: return batch_norm(attrs, operands, result);
  case OpKind::LayerNorm: return layer_norm(attrs, operands, result);
  case OpKind::ReduceSum:
    return reduce(attrs, operands[0], result, scratch, [](llvm::ArrayRef<W> v) { return sum(v); });
  case OpKind::ReduceMean:
    return reduce(attrs, operands[0], result, scratch, [](llvm::ArrayRef<W> v) {
      return sum(v) / Math<W>::integer(static_cast<int64_t>(v.size()));
    });
  case OpKind::ReduceMax:
    return reduce(attrs, operands[0], result, scratch,
                  [](llvm::ArrayRef<W> v) { return Math<W>::max_of(v); });
  case OpKind::Cumsum: return cumsum(attrs, operands[0], result);
  case OpKind::Argmax: return argmax(attrs, operands[0], result, scratch);
  case OpKind::Gather: return gather(attrs, operands[0], operands[1], result);
  case OpKind::Iota: return iota(attrs, result);
  case OpKind::Concat: return concat(attrs, operands, result);
  case OpKind::Slice: return slice(attrs, operands[0], result);
  case OpKind::Reshape: std::copy_n(operands[0].data, result.elements(), result.data); return;
  case OpKind::Transpose: return transpose(attrs, operands[0], result);
  case OpKind::Pad:
    return pad(attrs[0]->ints, static_cast<T>(Math<W>::literal(attrs[2]->real)), operands[0],
               result);
  case OpKind::Enlarge: return enlarge(operands[0], result);
  case OpKind::MergeGconv: return merge_gconv(attrs, operands[0], result);
  case OpKind::FusedMap: {
    std::optional<FusedBody> body = parse_fused_body(attrs[0]->text);
    assert(body && "infer admits no other body");
    return evaluate_fused(*body, operands, result, scratch);
  }
  }
}

} // namespace tg
