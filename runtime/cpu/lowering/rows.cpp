// Operators over rows: softmax, layer_norm and the reductions.
// A row is read in place if its elements are contiguous; otherwise the tensor is first copied
// with that axis innermost. Reductions over outer axes (the mean over an image's pixels,
// channels last) add whole rows to a block of accumulators instead.
//
// A long row of layer_norm is divided into parts that threads share, and so are the rows over
// which a few columns are summed. The parts depend only on the shape, so the bits do not depend
// on the threads.
//
// Softmax and layer_norm of bf16 convert a row when it enters and leaves the first-level cache.
//
// Cost: softmax makes two passes over a row in cache, 0.35 ns per element on AVX-512;
// layer_norm makes three passes, 0.11 ns per element and 10 ns per row;
// a sum is one read of its operand.
#include "runtime/cpu/lowering/lowering.h"
#include "runtime/cpu/parallel.h"
#include "runtime/cpu/simd/simd.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace tg::cpu {

namespace {

Place without_axis(const Place& p, size_t axis) {
  Place out = p;
  out.shape.erase(out.shape.begin() + static_cast<ptrdiff_t>(axis));
  out.strides.erase(out.strides.begin() + static_cast<ptrdiff_t>(axis));
  return out;
}

/// Returns the offset of the index-th element of a nest in one of its places.
int64_t offset_in(llvm::ArrayRef<Loop> nest, int64_t index, size_t place) {
  int64_t offset = 0;
  for (size_t i = nest.size(); i-- > 0;) {
    offset += index % nest[i].extent * nest[i].strides[place];
    index /= nest[i].extent;
  }
  return offset;
}

int64_t count_of(llvm::ArrayRef<Loop> nest) {
  int64_t count = 1;
  for (const Loop& loop : nest) count *= loop.extent;
  return count;
}

/// softmax or layer_norm of every row along one axis, which has stride 1 on both sides; both are
/// f32 or bf16.
class RowKernel final : public Kernel {
public:
  RowKernel(const Place& src, const Place& dst, size_t axis, const Threads& threads)
      : src_(src), dst_(dst), length_(src.shape[axis]), threads_(threads) {
    Place outer_dst = without_axis(dst, axis), outer_src = without_axis(src, axis);
    rows_ = loops({&outer_dst, &outer_src});
  }

  Place scale, bias; // of layer_norm, plain, f32
  float eps = 0;
  bool normalise = false; // layer_norm, else softmax

  int64_t scratch_bytes() const {
    return src_.dtype == DType::BF16 ? threads_ * scratch_row() * dtype_size(DType::F32) : 0;
  }

  Result<void> bind(const Addresses& addresses) override {
    from_ = addresses.bytes(src_);
    to_ = addresses.bytes(dst_);
    scratch_ = reinterpret_cast<float*>(addresses.scratch);
    if (normalise) {
      scale_ = addresses.of(scale);
      bias_ = addresses.of(bias);
    }
    return {};
  }

  dnnl_status_t run(dnnl_stream_t) override {
    const Loop& inner = rows_.back();
    parallel_for(threads_, count_of(rows_), [&](int64_t begin, int64_t end, int part) {
      for (int64_t row = begin; row < end;) {
        int64_t to = offset_in(rows_, row, 0), from = offset_in(rows_, row, 1);
        int64_t last = std::min(end, row + inner.extent - row % inner.extent);
        for (; row < last; ++row, to += inner.strides[0], from += inner.strides[1])
          row_at(to, from, part);
      }
    });
    return dnnl_success;
  }

private:
  void row_at(int64_t to, int64_t from, int part) const {
    if (src_.dtype == DType::BF16)
      narrow_row(reinterpret_cast<uint16_t*>(to_) + to,
                 reinterpret_cast<const uint16_t*>(from_) + from, scratch_ + part * scratch_row());
    else
      one_row(reinterpret_cast<float*>(to_) + to, reinterpret_cast<const float*>(from_) + from);
  }
  void one_row(float* to, const float* from) const {
    if (normalise)
      simd().layer_norm(to, from, scale_, bias_, eps, length_);
    else
      simd().softmax(to, from, length_);
  }
  void narrow_row(uint16_t* to, const uint16_t* from, float* row) const {
    simd().from_bf16(row, from, length_);
    one_row(row, row);
    simd().to_bf16(to, row, length_);
  }
  int64_t scratch_row() const { return (length_ + 15) / 16 * 16; }

  Place src_, dst_;
  int64_t length_;
  Threads threads_;
  llvm::SmallVector<Loop, 4> rows_;
  const std::byte* from_ = nullptr;
  std::byte* to_ = nullptr;
  const float *scale_ = nullptr, *bias_ = nullptr;
  float* scratch_ = nullptr;
};

/// layer_norm of a few rows so long that each is divided into parts: first their sums,
/// then the sums of their squares, then their results. f32.
class LongRowNorm final : public Kernel {
public:
  static constexpr int64_t kPart = 8192;
  static bool suits(const Place& src, size_t axis) {
    return src.dtype == DType::F32 && src.shape[axis] >= 4 * kPart &&
           src.elements() / src.shape[axis] <= 4;
  }

  LongRowNorm(const Place& src, const Place& dst, size_t axis, const Threads& threads)
      : src_(src), dst_(dst), length_(src.shape[axis]), threads_(threads) {
    Place outer_dst = without_axis(dst, axis), outer_src = without_axis(src, axis);
    rows_ = loops({&outer_dst, &outer_src});
    parts_ = static_cast<int>((length_ + kPart - 1) / kPart);
    sums_.resize(static_cast<size_t>(parts_));
  }

  Place scale, bias; // f32; plain, or one element each
  float eps = 0;

  Result<void> bind(const Addresses& addresses) override {
    from_ = addresses.of(src_);
    to_ = addresses.of(dst_);
    uniform_ = interleaves(scale);
    scale_ = addresses.of(scale);
    bias_ = addresses.of(bias);
    return {};
  }

  dnnl_status_t run(dnnl_stream_t) override {
    for (int64_t row = 0, rows = count_of(rows_); row < rows; ++row)
      run_row(to_ + offset_in(rows_, row, 0), from_ + offset_in(rows_, row, 1));
    return dnnl_success;
  }

private:
  void run_row(float* to, const float* from) {
    auto length = static_cast<double>(length_);
    auto mean = static_cast<float>(
        total([&](int64_t at, int64_t n) { return simd().sum(from + at, n); }) / length);
    double var =
        total([&](int64_t at, int64_t n) { return simd().squares_about(from + at, mean, n); }) /
        length;
    float factor = 1.0f / std::sqrt(static_cast<float>(var) + eps);
    parallel_parts(threads_, parts_, [&](int part) {
      int64_t at = part * kPart, n = std::min(kPart, length_ - at);
      if (uniform_)
        simd().normalise(to + at, from + at, nullptr, bias_, mean, factor * *scale_, n);
      else
        simd().normalise(to + at, from + at, scale_ + at, bias_ + at, mean, factor, n);
    });
  }
  template <class Sum> double total(const Sum& sum) {
    parallel_parts(threads_, parts_, [&](int part) {
      int64_t at = part * kPart;
      sums_[static_cast<size_t>(part)] = sum(at, std::min(kPart, length_ - at));
    });
    double all = 0;
    for (float one : sums_) all += static_cast<double>(one);
    return all;
  }

  Place src_, dst_;
  int64_t length_;
  Threads threads_;
  int parts_ = 1;
  llvm::SmallVector<Loop, 4> rows_;
  std::vector<float> sums_; // of the parts
  bool uniform_ = false;
  const float *from_ = nullptr, *scale_ = nullptr, *bias_ = nullptr;
  float* to_ = nullptr;
};

struct RowPlaces {
  Place src, dst;
};

/// Returns the source with the axis innermost, and the result in the same order,
/// or in its reader's preferred order if the axis is innermost there too. Begins the op.
Result<RowPlaces> row_places(Lowering& l, const PlanStep& step, size_t axis, Op& op, double ns) {
  PlanValueId x = step.operands[0];
  Place src = l.place(x);
  llvm::SmallVector<int64_t> order; // the axis innermost
  for (size_t i = 0; i < src.shape.size(); ++i)
    if (i != axis) order.push_back(static_cast<int64_t>(i));
  order.push_back(static_cast<int64_t>(axis));
  Shape innermost = dense_strides(src.shape, order);
  if (src.strides[axis] != 1 && src.shape[axis] != 1) {
    TG_TRY(src, l.operand_as(x, innermost));
  }
  Shape strides = l.preferred_strides(step.result);
  if (strides[axis] != 1 || (is_dense(src) && !is_plain(src)))
    strides = interleaves(src) ? innermost : dense_like(src);
  std::optional<Place> dst;
  if (src == l.place(x)) dst = l.take_over(step, strides, false);
  if (!dst) dst = l.new_result(step, strides);
  op = l.describe(step);
  op.threads = l.threads_for(ns * static_cast<double>(src.elements()) / 1e3);
  op.buffers = {src.buffer, dst->buffer};
  return RowPlaces{src, *dst};
}

} // namespace

Result<void> lower_softmax(Lowering& l, const PlanStep& step) {
  Op op;
  auto axis = static_cast<size_t>(attr(step, "axis").number);
  TG_TRY(RowPlaces places, row_places(l, step, axis, op, 0.35));
  auto kernel = std::make_unique<RowKernel>(places.src, places.dst, axis, op.threads);
  op.implementation = std::string("softmax:") + simd().isa;
  op.scratch_bytes = kernel->scratch_bytes();
  op.kernel = std::move(kernel);
  l.add_op(step.phase, std::move(op));
  return {};
}

Result<void> lower_layer_norm(Lowering& l, const PlanStep& step) {
  Op op;
  const Shape& shape = l.type(step.result).shape;
  size_t axis = shape.size() - 1;
  double ns = 0.11 + 10.0 / static_cast<double>(std::max<int64_t>(shape[axis], 1));
  TG_TRY(RowPlaces places, row_places(l, step, axis, op, ns));
  bool long_rows = LongRowNorm::suits(places.src, axis);
  Place scale = l.place(operand(step, "scale")), bias = l.place(operand(step, "bias"));
  bool one_number = long_rows && llvm::all_of(llvm::ArrayRef<Place>{scale, bias}, [](auto& p) {
                      return p.dtype == DType::F32 && interleaves(p);
                    });
  if (!one_number) {
    TG_TRY(scale, l.operand_plain(operand(step, "scale")));
    TG_TRY(bias, l.operand_plain(operand(step, "bias")));
  }
  auto with = [&](auto kernel) {
    kernel->scale = as_floats(l, step.phase, scale);
    kernel->bias = as_floats(l, step.phase, bias);
    kernel->eps = static_cast<float>(attr(step, "eps").real);
    op.buffers.append({kernel->scale.buffer, kernel->bias.buffer});
    return kernel;
  };
  op.implementation = std::string("layer_norm:") + simd().isa;
  if (long_rows) {
    op.kernel = with(std::make_unique<LongRowNorm>(places.src, places.dst, axis, op.threads));
  } else {
    auto kernel = with(std::make_unique<RowKernel>(places.src, places.dst, axis, op.threads));
    kernel->normalise = true;
    op.scratch_bytes = kernel->scratch_bytes();
    op.kernel = std::move(kernel);
  }
  l.add_op(step.phase, std::move(op));
  return {};
}

namespace {

constexpr int64_t kAccumulators = 1024;

enum class Joining : uint8_t { Sum, Product, Largest, Smallest };

Joining joining_of(OpKind op) {
  switch (op) {
  case OpKind::ReduceProd: return Joining::Product;
  case OpKind::ReduceMax: return Joining::Largest;
  case OpKind::ReduceMin: return Joining::Smallest;
  default: return Joining::Sum;
  }
}

/// Returns the product of `count` numbers, `step` apart, in independent lanes.
double product_of(const float* from, int64_t step, int64_t count) {
  double lanes[4] = {1, 1, 1, 1};
  int64_t i = 0;
  for (; i + 4 <= count; i += 4)
    for (int64_t lane = 0; lane < 4; ++lane) lanes[lane] *= from[(i + lane) * step];
  for (; i < count; ++i) lanes[0] *= from[i * step];
  return lanes[0] * lanes[1] * (lanes[2] * lanes[3]);
}

/// Products are computed in double: in floats, partial products of a few factors may overflow
/// or underflow although the result does not.
class ReduceKernel final : public Kernel {
public:
  /// `kept` has two places, result and source; `reduced` has the source.
  ReduceKernel(OpKind op, const Place& src, const Place& dst, llvm::ArrayRef<Loop> kept,
               llvm::ArrayRef<Loop> reduced, const Threads& threads)
      : joining_(joining_of(op)), src_(src), dst_(dst), kept_(kept.begin(), kept.end()),
        reduced_(reduced.begin(), reduced.end()), threads_(threads) {
    if (op == OpKind::ReduceMean) factor_ = 1.0f / static_cast<float>(count_of(reduced));
    row_ = reduced_.pop_back_val();
    columns_ = kept_.back().strides[1] == 1 && row_.strides[0] != 1;
    if (!columns_) return;
    column_ = kept_.pop_back_val();
    // For few columns of many rows, parts of the rows are summed separately.
    constexpr int64_t kPart = 16384; // elements
    constexpr int64_t kMostParts = 16;
    bool alone = kept_.empty() || count_of(kept_) == 1;
    if (joining_ == Joining::Sum && alone && reduced_.empty() && column_.extent <= kAccumulators)
      row_parts_ = std::clamp<int64_t>(row_.extent * column_.extent / kPart, 1,
                                       std::min(kMostParts, row_.extent));
  }

  bool by_columns() const { return columns_; }
  int64_t scratch_bytes() const {
    int64_t blocks = std::max<int64_t>(threads_, row_parts_);
    return columns_ ? blocks * kAccumulators * static_cast<int64_t>(sizeof(double)) : 0;
  }

  Result<void> bind(const Addresses& addresses) override {
    from_ = addresses.of(src_);
    to_ = addresses.of(dst_);
    scratch_ = reinterpret_cast<double*>(addresses.scratch);
    return {};
  }

  dnnl_status_t run(dnnl_stream_t) override {
    if (row_parts_ > 1) {
      sum_by_parts();
      return dnnl_success;
    }
    int64_t pieces = columns_ ? (column_.extent + kAccumulators - 1) / kAccumulators : 1;
    parallel_for(threads_, count_of(kept_) * pieces, [&](int64_t begin, int64_t end, int part) {
      for (int64_t i = begin; i < end; ++i) {
        float* to = to_ + offset_in(kept_, i / pieces, 0);
        const float* from = from_ + offset_in(kept_, i / pieces, 1);
        int64_t first = i % pieces * kAccumulators;
        if (columns_ && joining_ == Joining::Product)
          multiply_columns(to, from, first, part);
        else if (columns_)
          reduce_columns(to, from, first, part);
        else if (joining_ == Joining::Product)
          *to = multiply_row(from);
        else
          *to = reduce_row(from) * factor_;
      }
    });
    return dnnl_success;
  }

private:
  /// Returns the neutral element of the reduction.
  float neutral() const {
    if (joining_ == Joining::Sum) return 0.0f;
    return joining_ == Joining::Largest ? -__builtin_inff() : __builtin_inff();
  }

  float join(float a, float b) const {
    if (joining_ == Joining::Sum) return a + b;
    return a != a || (joining_ == Joining::Largest ? a > b : a < b) ? a : b;
  }

  float whole_row(const float* row) const {
    if (joining_ == Joining::Sum) return simd().sum(row, row_.extent);
    return joining_ == Joining::Largest ? simd().max(row, row_.extent)
                                        : simd().min(row, row_.extent);
  }

  float reduce_row(const float* from) const {
    float result = neutral();
    for (int64_t i = 0, rows = count_of(reduced_); i < rows; ++i) {
      const float* row = from + offset_in(reduced_, i, 0);
      if (row_.strides[0] == 1)
        result = join(result, whole_row(row));
      else
        for (int64_t k = 0; k < row_.extent; ++k) result = join(result, row[k * row_.strides[0]]);
    }
    return result;
  }

  float multiply_row(const float* from) const {
    double result = 1;
    for (int64_t i = 0, rows = count_of(reduced_); i < rows; ++i)
      result *= product_of(from + offset_in(reduced_, i, 0), row_.strides[0], row_.extent);
    return static_cast<float>(result);
  }

  void multiply_columns(float* to, const float* from, int64_t first, int part) const {
    int64_t count = std::min(kAccumulators, column_.extent - first);
    double* products = scratch_ + part * kAccumulators;
    std::fill_n(products, count, 1.0);
    for (int64_t i = 0, rows = count_of(reduced_); i < rows; ++i) {
      const float* row = from + first + offset_in(reduced_, i, 0);
      for (int64_t k = 0; k < row_.extent; ++k, row += row_.strides[0])
        for (int64_t c = 0; c < count; ++c) products[c] *= row[c];
    }
    for (int64_t i = 0, step = column_.strides[0]; i < count; ++i)
      to[(first + i) * step] = static_cast<float>(products[i]);
  }

  float* sums_of(int64_t part) const {
    return reinterpret_cast<float*>(scratch_ + part * kAccumulators);
  }

  void sum_by_parts() const {
    int64_t count = column_.extent;
    parallel_for(threads_, row_parts_, [&](int64_t begin, int64_t end, int) {
      for (int64_t part = begin; part < end; ++part) {
        int64_t first = row_.extent * part / row_parts_;
        int64_t rows = row_.extent * (part + 1) / row_parts_ - first;
        simd().fill(sums_of(part), 0, count);
        simd().add_rows(sums_of(part), from_ + first * row_.strides[0], row_.strides[0], rows,
                        count);
      }
    });
    for (int64_t part = 1; part < row_parts_; ++part)
      simd().add_rows(sums_of(0), sums_of(part), 0, 1, count);
    write_columns(to_, 0, count, sums_of(0));
  }

  void write_columns(float* to, int64_t first, int64_t count, float* sums) const {
    simd().scale(sums, factor_, count);
    for (int64_t i = 0, step = column_.strides[0]; i < count; ++i) to[(first + i) * step] = sums[i];
  }

  void reduce_columns(float* to, const float* from, int64_t first, int part) const {
    int64_t count = std::min(kAccumulators, column_.extent - first);
    float* sums = sums_of(part);
    simd().fill(sums, neutral(), count);
    Instr instr = joining_ == Joining::Largest ? Instr::Maximum : Instr::Minimum;
    for (int64_t i = 0, rows = count_of(reduced_); i < rows; ++i) {
      const float* row = from + first + offset_in(reduced_, i, 0);
      if (joining_ == Joining::Sum) {
        simd().add_rows(sums, row, row_.strides[0], row_.extent, count);
        continue;
      }
      for (int64_t k = 0; k < row_.extent; ++k, row += row_.strides[0])
        simd().apply(instr, sums, sums, row, nullptr, count);
    }
    write_columns(to, first, count, sums);
  }

  Joining joining_;
  bool columns_ = false;
  Place src_, dst_;
  llvm::SmallVector<Loop, 4> kept_, reduced_; // without column_ and row_
  Loop row_, column_;
  int64_t row_parts_ = 1; // parts of each result whose sums are then added
  Threads threads_;
  float factor_ = 1;
  const float* from_ = nullptr;
  float* to_ = nullptr;
  double* scratch_ = nullptr;
};

} // namespace

Result<void> lower_reduce(Lowering& l, const PlanStep& step) {
  const Place src = l.place(step.operands[0]);
  const Shape& shape = l.type(step.result).shape;
  bool image = is_nhwc(src) && !is_plain(src) && shape.size() == 4;
  Place dst = l.new_result(step, image ? nhwc_strides(shape) : contiguous_strides(shape), true);
  Place kept_src{src.buffer, src.offset, {}, {}}, reduced_src = kept_src, kept_dst = kept_src;
  bool keepdims = attr(step, "keepdims").number != 0;
  size_t at = 0; // axis of the result
  for (size_t i = 0; i < src.shape.size(); ++i) {
    bool reduced = llvm::is_contained(attr(step, "axes").ints, static_cast<int64_t>(i));
    Place& into = reduced ? reduced_src : kept_src;
    into.shape.push_back(src.shape[i]);
    into.strides.push_back(src.strides[i]);
    if (!reduced) {
      kept_dst.shape.push_back(src.shape[i]);
      kept_dst.strides.push_back(dst.strides[at]);
    }
    if (!reduced || keepdims) ++at;
  }
  Op op = l.describe(step);
  op.threads = l.threads_for(0.1 * static_cast<double>(src.elements()) / 1e3);
  auto kernel = std::make_unique<ReduceKernel>(step.op, src, dst, loops({&kept_dst, &kept_src}),
                                               loops({&reduced_src}), op.threads);
  op.implementation =
      std::string(kernel->by_columns() ? "reduce columns:" : "reduce rows:") + simd().isa;
  op.scratch_bytes = kernel->scratch_bytes();
  op.buffers = {src.buffer, dst.buffer};
  op.kernel = std::move(kernel);
  l.add_op(step.phase, std::move(op));
  return {};
}

} // namespace tg::cpu
