// gather: whole rows are copied where they lie together, so an embedding runs at the speed of
// memory; an index outside of the table gives a row of NaN (of integers and bools: zeros).
#include "runtime/onednn/lowering/lowering.h"
#include "runtime/onednn/parallel.h"

#include "runtime/convert.h"

#include <cmath>
#include <cstring>

namespace tg::cpu {

namespace {

/// Table [outer, size, inner], indices [count], result [outer, count, inner]; all row-major.
class GatherKernel final : public Kernel {
public:
  GatherKernel(const Place& table, const Place& indices, const Place& result, size_t axis,
               int threads)
      : table_(table), indices_(indices), result_(result), size_(table.shape[axis]),
        count_(indices.elements()), threads_(threads) {
    for (size_t i = 0; i < axis; ++i) outer_ *= table.shape[i];
    row_bytes_ = table.elements() / (outer_ * size_) * dtype_size(table.dtype);
    double nothing = is_float(table.dtype) ? std::nan("") : 0;
    narrow(table.dtype, &nothing, missing_, 1);
  }

  Result<void> bind(const Addresses& addresses) override {
    from_ = addresses.bytes(table_);
    index_ = addresses.bytes(indices_);
    to_ = addresses.bytes(result_);
    return {};
  }

  dnnl_status_t run(dnnl_stream_t) override {
    parallel_for(threads_, outer_ * count_, [&](int64_t begin, int64_t end, int) {
      for (int64_t row = begin; row < end; ++row) copy_row(row);
    });
    return dnnl_success;
  }

private:
  int64_t index(int64_t i) const {
    if (indices_.dtype == DType::I64) return reinterpret_cast<const int64_t*>(index_)[i];
    return reinterpret_cast<const int32_t*>(index_)[i];
  }

  void copy_row(int64_t row) const {
    int64_t at = index(row % count_), outer = row / count_;
    std::byte* to = to_ + row * row_bytes_;
    if (at >= 0 && at < size_) {
      std::memcpy(to, from_ + (outer * size_ + at) * row_bytes_, static_cast<size_t>(row_bytes_));
      return;
    }
    int64_t step = dtype_size(table_.dtype);
    for (int64_t i = 0; i < row_bytes_; i += step)
      std::memcpy(to + i, missing_, static_cast<size_t>(step));
  }

  Place table_, indices_, result_;
  int64_t size_, count_, outer_ = 1, row_bytes_ = 0;
  int threads_;
  alignas(8) std::byte missing_[8] = {};
  const std::byte *from_ = nullptr, *index_ = nullptr;
  std::byte* to_ = nullptr;
};

} // namespace

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
