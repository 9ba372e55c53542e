// Lowers pooling of channels-last images. Averages use oneDNN's vector kernels if there is one.
// Other averages, and maxima, use our own kernel over whole rows of channels (for windows
// as large as the image, oneDNN 2.6 uses plain loops, a hundred times slower:
// 2.6 ms for 13 x 13 x 1000, ours 15 us).
//
// Cost: each element of a window is read once, from cache except for the first read.
#include "runtime/cpu/lowering/geometry.h"
#include "runtime/cpu/lowering/lowering.h"
#include "runtime/cpu/lowering/nan_guard.h"
#include "runtime/cpu/lowering/slices.h"
#include "runtime/cpu/parallel.h"
#include "runtime/cpu/simd/simd.h"

#include <algorithm>

namespace tg::cpu {

namespace {

enum class Pooling : uint8_t { Max, MeanInside, MeanWindow };

/// Processes one row of channels per result pixel, for adjacent windows in one call.
class PoolKernel final : public Kernel {
public:
  PoolKernel(Pooling kind, const Geometry& g, const Place& src, const Place& dst,
             const Threads& threads)
      : kind_(kind), geometry_(g), src_(src), dst_(dst), threads_(threads) {}

  Result<void> bind(const Addresses& addresses) override {
    from_ = addresses.of(src_);
    to_ = addresses.of(dst_);
    return {};
  }

  // Each thread checks its own flag (nan_guard.h): maxima are recomputed if one encountered a NaN.
  // A flag that an earlier step raised stays raised.
  dnnl_status_t run(dnnl_stream_t) override {
    parallel_for(threads_, dst_.shape[0] * dst_.shape[2] * dst_.shape[3],
                 [&](int64_t begin, int64_t end, int) {
                   if (kind_ != Pooling::Max) return pixels(begin, end, nullptr);
                   bool earlier = take_invalid_flag();
                   pixels(begin, end, simd().max_rows_of_numbers);
                   if (take_invalid_flag()) pixels(begin, end, simd().max_rows);
                   if (earlier) raise_invalid_flag();
                 });
    return dnnl_success;
  }

private:
  struct Range {
    int64_t begin, end;
  };
  /// Returns the source rows (axis 0) or columns (axis 1) under the window of one result.
  Range inside(int64_t at, int axis) const {
    int64_t first = at * geometry_.strides[axis] - geometry_.before[axis];
    int64_t size = src_.shape[static_cast<size_t>(axis) + 2];
    return {std::max<int64_t>(first, 0), std::min(first + geometry_.kernel[axis], size)};
  }

  /// Offsets of a window's rows of channels from its first one.
  using Offsets = llvm::SmallVector<int64_t, 64>;
  using Maxima = decltype(SimdTable::max_rows);

  void set_offsets(Offsets& offsets, int64_t rows, int64_t columns) const {
    offsets.clear();
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t k = 0; k < columns; ++k)
        offsets.push_back(i * src_.strides[2] + k * src_.strides[3]);
  }

  void pixels(int64_t begin, int64_t end, Maxima maxima) const {
    int64_t height = dst_.shape[2], width = dst_.shape[3];
    Offsets whole, cut;
    set_offsets(whole, geometry_.kernel[0], geometry_.kernel[1]);
    for (int64_t i = begin, x = i % width; i < end; x = 0) {
      int64_t n = i / (height * width), y = i / width % height;
      Range ys = inside(y, 0);
      const float* line = from_ + n * src_.strides[0] + ys.begin * src_.strides[2];
      float* to = to_ + n * dst_.strides[0] + y * dst_.strides[2];
      int64_t last = std::min(width, x + end - i);
      for (int64_t next; x < last; i += next - x, x = next) {
        Range xs = inside(x, 1);
        int64_t rows = ys.end - ys.begin, columns = xs.end - xs.begin;
        next = x + 1;
        bool is_whole = static_cast<size_t>(rows * columns) == whole.size();
        if (!is_whole) set_offsets(cut, rows, columns);
        while (is_whole && next < last && is_inside(next)) ++next;
        windows(to + x * dst_.strides[3], line + xs.begin * src_.strides[3], is_whole ? whole : cut,
                next - x, maxima);
      }
    }
  }

  bool is_inside(int64_t x) const {
    Range xs = inside(x, 1);
    return xs.end - xs.begin == geometry_.kernel[1];
  }

  /// Computes adjacent windows whose parts inside the image are alike.
  void windows(float* to, const float* from, llvm::ArrayRef<int64_t> offsets, int64_t windows,
               Maxima maxima) const {
    int64_t channels = src_.shape[1], count = static_cast<int64_t>(offsets.size());
    int64_t step = dst_.strides[3], from_step = src_.strides[3] * geometry_.strides[1];
    if (kind_ == Pooling::Max && count > 0)
      return maxima({to, from, offsets.data(), count, channels, windows, step, from_step});
    for (int64_t i = 0; i < windows; ++i) mean(to + i * step, from + i * from_step, offsets);
  }

  void mean(float* to, const float* from, llvm::ArrayRef<int64_t> offsets) const {
    int64_t channels = src_.shape[1], count = static_cast<int64_t>(offsets.size());
    if (count == 0) return simd().fill(to, 0, channels); // a window entirely in the padding
    simd().apply(Instr::Copy, to, from, nullptr, nullptr, channels);
    for (int64_t offset : offsets.drop_front())
      simd().apply(Instr::Add, to, to, from + offset, nullptr, channels);
    if (kind_ == Pooling::MeanWindow) count = geometry_.kernel[0] * geometry_.kernel[1];
    simd().scale(to, 1.0f / static_cast<float>(count), channels);
  }

  Pooling kind_;
  Geometry geometry_;
  Place src_, dst_;
  Threads threads_;
  const float* from_ = nullptr;
  float* to_ = nullptr;
};

dnnl_alg_kind_t algorithm(Pooling kind) {
  switch (kind) {
  case Pooling::Max: break;
  case Pooling::MeanInside: return dnnl_pooling_avg_exclude_padding;
  case Pooling::MeanWindow: return dnnl_pooling_avg_include_padding;
  }
  return dnnl_pooling_max;
}

Result<PrimitiveDescHandle> describe_pooling(Lowering& l, Pooling kind, const Geometry& g,
                                             const Place& src, const Place& dst) {
  dnnl_memory_desc_t src_md = memory_desc(src), dst_md = memory_desc(dst);
  dnnl_pooling_desc_t desc;
  if (dnnl_status_t s =
          dnnl_pooling_forward_desc_init(&desc, dnnl_forward_inference, algorithm(kind), &src_md,
                                         &dst_md, g.strides, g.kernel, g.before, g.after);
      s != dnnl_success)
    return device_error(s, "describing a pooling");
  TG_TRY(AttrHandle attrs, make_attr({}));
  return make_primitive_desc(&desc, attrs, l.engine, "pooling");
}

Result<void> add_mean(Lowering& l, const PlanStep& step, Pooling kind, const WindowSlice& one) {
  TG_TRY(PrimitiveDescHandle pd, describe_pooling(l, kind, one.geometry, one.src, one.dst));
  return l.add_primitive(step, pd,
                         {{DNNL_ARG_SRC, memory_desc(one.src), one.src},
                          {DNNL_ARG_DST, memory_desc(one.dst), one.dst}});
}

/// Returns true for a window of one column over images of one channel (such
/// as the mean over neighbouring channels in local response normalization).
/// Columns can then replace channels, and there are many.
bool has_columns_for_channels(const Geometry& g, const Place& src, const Place& dst) {
  bool one_column =
      g.kernel[1] == 1 && g.strides[1] == 1 && src.shape[3] == dst.shape[3] && g.before[1] == 0;
  return one_column && src.shape[1] == 1 && src.shape[3] > 1 && src.strides[3] == 1 &&
         dst.strides[3] == 1;
}

Place columns_for_channels(Place place) {
  std::swap(place.shape[1], place.shape[3]);
  place.strides[1] = 1;
  place.strides[3] = place.strides[2];
  return place;
}

} // namespace

Result<void> lower_pool2d(Lowering& l, const PlanStep& step) {
  PlanValueId x = operand(step, "x");
  Geometry g = geometry(l.type(x).shape, attr(step, "kernel").ints, attr(step, "stride"),
                        attr(step, "pad"), {1, 1});
  Pooling kind = Pooling::Max;
  if (step.op == OpKind::AvgPool2d)
    kind = attr(step, "count_padding").number != 0 ? Pooling::MeanWindow : Pooling::MeanInside;
  TG_TRY(Place src, l.operand_nhwc(x));
  Place dst = l.new_result(step, nhwc_strides(l.type(step.result).shape));
  if (has_columns_for_channels(g, src, dst)) {
    src = columns_for_channels(std::move(src));
    dst = columns_for_channels(std::move(dst));
  }
  Op op = l.describe(step);
  op.threads = l.threads_for(op.flops / 30e3); // about 30 window elements per nanosecond
  if (kind != Pooling::Max) { // oneDNN's starts at the lowest finite number and skips NaN
    Result<PrimitiveDescHandle> pd = describe_pooling(l, kind, g, src, dst);
    if (pd && !is_reference(*pd)) {
      std::vector<WindowSlice> slices = cut_windows(g, src, dst, op.threads, 1);
      return add_sliced(l, step, op.threads, static_cast<int>(slices.size()), [&](int i) {
        return add_mean(l, step, kind, slices[static_cast<size_t>(i)]);
      });
    }
  }
  op.implementation = std::string("pool:") + simd().isa;
  op.buffers = {src.buffer, dst.buffer};
  op.kernel = std::make_unique<PoolKernel>(kind, g, src, dst, op.threads);
  l.add_op(step.phase, std::move(op));
  return {};
}

} // namespace tg::cpu
