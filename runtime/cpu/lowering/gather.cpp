// Lowers gather and scatter. gather copies whole rows if they are contiguous,
// so an embedding runs at memory bandwidth; an index outside the table gives a row
// of NaN (of zeros for integers and bools).
// scatter writes or combines rows in order; threads divide the work where the order does not
// matter.
#include "runtime/cpu/lowering/lowering.h"
#include "runtime/cpu/parallel.h"
#include "runtime/cpu/simd/simd.h"

#include "runtime/convert.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <type_traits>

namespace tg::cpu {

namespace {

int64_t index_at(DType dtype, const std::byte* indices, int64_t i) {
  if (dtype == DType::I64) return reinterpret_cast<const int64_t*>(indices)[i];
  return reinterpret_cast<const int32_t*>(indices)[i];
}

/// Table [outer, size, inner], indices [count], result [outer, count, inner]; all row-major.
class GatherKernel final : public Kernel {
public:
  GatherKernel(const Place& table, const Place& indices, const Place& result, size_t axis,
               const Threads& threads)
      : table_(table), indices_(indices), result_(result), size_(table.shape[axis]),
        count_(indices.elements()), threads_(threads) {
    for (size_t i = 0; i < axis; ++i) outer_ *= table.shape[i];
    row_bytes_ = table.elements() / (outer_ * size_) * dtype_size(table.dtype);
    std::vector<double> nothing(static_cast<size_t>(row_bytes_ / dtype_size(table.dtype)),
                                is_float(table.dtype) ? std::nan("") : 0);
    missing_.resize(static_cast<size_t>(row_bytes_));
    narrow(table.dtype, nothing.data(), missing_.data(), static_cast<int64_t>(nothing.size()));
  }

  Result<void> bind(const Addresses& addresses) override {
    from_ = addresses.bytes(table_);
    index_ = addresses.bytes(indices_);
    to_ = addresses.bytes(result_);
    return {};
  }

  dnnl_status_t run(dnnl_stream_t) override {
    parallel_for(threads_, outer_ * count_, [&](int64_t begin, int64_t end, int) {
      int64_t outer = begin / count_, index = begin % count_;
      for (int64_t rows = 0; begin < end; begin += rows, ++outer, index = 0) {
        rows = std::min(count_ - index, end - begin);
        const std::byte* table = from_ + outer * size_ * row_bytes_;
        std::byte* to = to_ + begin * row_bytes_;
        if (indices_.dtype == DType::I64)
          copy_rows(table, reinterpret_cast<const int64_t*>(index_) + index, to, rows);
        else
          copy_rows(table, reinterpret_cast<const int32_t*>(index_) + index, to, rows);
      }
    });
    return dnnl_success;
  }

private:
  /// Copies rows of one table. Rows of single numbers are copied without calls.
  template <class I>
  void copy_rows(const std::byte* table, const I* at, std::byte* to, int64_t rows) const {
    switch (row_bytes_) {
    case 1: return copy_numbers<uint8_t>(table, at, to, rows);
    case 2: return copy_numbers<uint16_t>(table, at, to, rows);
    case 4: return copy_numbers<uint32_t>(table, at, to, rows);
    case 8: return copy_numbers<uint64_t>(table, at, to, rows);
    default: break;
    }
    for (int64_t i = 0; i < rows; ++i, to += row_bytes_) {
      bool there = at[i] >= 0 && at[i] < size_;
      const std::byte* from = there ? table + at[i] * row_bytes_ : missing_.data();
      std::memcpy(to, from, static_cast<size_t>(row_bytes_));
    }
  }

  template <class T, class I>
  void copy_numbers(const std::byte* table, const I* at, std::byte* to, int64_t rows) const {
    const T* from = reinterpret_cast<const T*>(table);
    T missing;
    std::memcpy(&missing, missing_.data(), sizeof(T));
    for (int64_t i = 0; i < rows; ++i)
      reinterpret_cast<T*>(to)[i] = at[i] >= 0 && at[i] < size_ ? from[at[i]] : missing;
  }

  Place table_, indices_, result_;
  int64_t size_, count_, outer_ = 1, row_bytes_ = 0;
  Threads threads_;
  std::vector<std::byte> missing_; // a row for an index outside the table
  const std::byte *from_ = nullptr, *index_ = nullptr;
  std::byte* to_ = nullptr;
};

/// Returns the combination of an update with the existing element; integers wrap around.
template <class T> T joined(ScatterReduce reduce, T there, T update) {
  auto wrapped = [](auto x, auto y, auto f) {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(f(static_cast<uint64_t>(x), static_cast<uint64_t>(y)));
    else
      return f(x, y);
  };
  switch (reduce) {
  case ScatterReduce::None: break;
  case ScatterReduce::Add: return wrapped(there, update, std::plus<>());
  case ScatterReduce::Mul: return wrapped(there, update, std::multiplies<>());
  case ScatterReduce::Max: return there != there || there > update ? there : update;
  case ScatterReduce::Min: return there != there || there < update ? there : update;
  }
  return update;
}

/// x and the result [outer, size, inner], updates [outer, count, inner]; all row-major.
/// The result may be in the place of x.
class ScatterKernel final : public Kernel {
public:
  ScatterKernel(const Place& x, const Place& indices, const Place& updates, const Place& result,
                size_t axis, ScatterReduce reduce, const Threads& threads)
      : x_(x), indices_(indices), updates_(updates), result_(result), reduce_(reduce),
        size_(x.shape[axis]), count_(indices.elements()), threads_(threads) {
    for (size_t i = 0; i < axis; ++i) outer_ *= x.shape[i];
    inner_ = x.elements() / (outer_ * size_);
    piece_ = outer_ >= threads ? inner_ : (inner_ + threads - 1) / threads;
    pieces_ = (inner_ + piece_ - 1) / piece_;
  }

  Result<void> bind(const Addresses& addresses) override {
    from_ = addresses.bytes(x_);
    index_ = addresses.bytes(indices_);
    update_ = addresses.bytes(updates_);
    to_ = addresses.bytes(result_);
    return {};
  }

  dnnl_status_t run(dnnl_stream_t) override {
    if (from_ != to_)
      parallel_for(threads_, x_.elements(), [&](int64_t begin, int64_t end, int) {
        std::memcpy(to_ + begin * each(), from_ + begin * each(),
                    static_cast<size_t>((end - begin) * each()));
      });
    parallel_for(threads_, outer_ * pieces_, [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) {
        int64_t first = i % pieces_ * piece_;
        write(i / pieces_, first, std::min(piece_, inner_ - first));
      }
    });
    return dnnl_success;
  }

private:
  int64_t each() const { return dtype_size(x_.dtype); }

  /// Writes `elements` elements of every row that an index selects.
  void write(int64_t outer, int64_t first, int64_t elements) const {
    for (int64_t t = 0; t < count_; ++t) {
      int64_t at = index_at(indices_.dtype, index_, t);
      if (at < 0 || at >= size_) continue;
      std::byte* to = to_ + ((outer * size_ + at) * inner_ + first) * each();
      const std::byte* from = update_ + ((outer * count_ + t) * inner_ + first) * each();
      if (reduce_ == ScatterReduce::None)
        std::memcpy(to, from, static_cast<size_t>(elements * each()));
      else if (x_.dtype == DType::F32 && reduce_ == ScatterReduce::Add)
        add(to, from, elements);
      else if (x_.dtype == DType::F32)
        join<float>(to, from, elements);
      else if (x_.dtype == DType::I32)
        join<int32_t>(to, from, elements);
      else
        join<int64_t>(to, from, elements);
    }
  }

  static void add(std::byte* to, const std::byte* from, int64_t elements) {
    float* there = reinterpret_cast<float*>(to);
    const float* updates = reinterpret_cast<const float*>(from);
    if (elements == 1) // without a call
      *there += *updates;
    else
      simd().apply(Instr::Add, there, there, updates, nullptr, elements);
  }

  template <class T> void join(std::byte* to, const std::byte* from, int64_t elements) const {
    T* there = reinterpret_cast<T*>(to);
    const T* updates = reinterpret_cast<const T*>(from);
    for (int64_t i = 0; i < elements; ++i) there[i] = joined(reduce_, there[i], updates[i]);
  }

  Place x_, indices_, updates_, result_;
  ScatterReduce reduce_;
  int64_t size_, count_, outer_ = 1, inner_ = 1, piece_ = 1, pieces_ = 1;
  Threads threads_;
  const std::byte *from_ = nullptr, *index_ = nullptr, *update_ = nullptr;
  std::byte* to_ = nullptr;
};

} // namespace

/// Halves are combined by the definition, which rounds them once.
Result<void> lower_scatter(Lowering& l, const PlanStep& step) {
  ScatterReduce reduce = *parse_scatter_reduce(attr(step, "reduce").text);
  DType dtype = l.type(step.result).dtype;
  if (reduce != ScatterReduce::None && is_float(dtype) && dtype != DType::F32)
    return lower_reference(l, step);
  TG_TRY(Place x, l.operand_plain(step.operands[0]));
  TG_TRY(Place indices, l.operand_plain(step.operands[1]));
  TG_TRY(Place updates, l.operand_plain(step.operands[2]));
  Shape strides = contiguous_strides(l.type(step.result).shape);
  std::optional<Place> result;
  if (x == l.place(step.operands[0])) result = l.take_over(step, strides, false);
  if (!result) result = l.new_result(step, strides);
  Op op = l.describe(step);
  op.implementation = "scatter";
  op.threads = l.threads_for(op.bytes / 20e3);
  op.buffers = {x.buffer, indices.buffer, updates.buffer, result->buffer};
  op.kernel = std::make_unique<ScatterKernel>(x, indices, updates, *result,
                                              static_cast<size_t>(attr(step, "axis").number),
                                              reduce, op.threads);
  l.add_op(step.phase, std::move(op));
  return {};
}

Result<void> lower_gather(Lowering& l, const PlanStep& step) {
  TG_TRY(Place table, l.operand_plain(step.operands[0]));
  TG_TRY(Place indices, l.operand_plain(step.operands[1]));
  Place result = l.new_result(step, contiguous_strides(l.type(step.result).shape));
  Op op = l.describe(step);
  op.implementation = "gather";
  op.threads = l.threads_for(op.bytes / 20e3);
  op.buffers = {table.buffer, indices.buffer, result.buffer};
  op.kernel = std::make_unique<GatherKernel>(
      table, indices, result, static_cast<size_t>(attr(step, "axis").number), op.threads);
  l.add_op(step.phase, std::move(op));
  return {};
}

} // namespace tg::cpu
