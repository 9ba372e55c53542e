// Pooling of images that lie channels last: oneDNN's vector kernels where it has one, else a kernel
// of our own over whole rows of channels (oneDNN 2.6 takes plain loops, a hundred times slower, for
// windows as large as the image: 2.6 ms for 13 x 13 x 1000, ours 15 us).
//
// Cost: each element of a window is read once, from cache but for the first reader.
#include "runtime/onednn/geometry.h"
#include "runtime/onednn/lowering.h"
#include "runtime/onednn/simd.h"

#include <algorithm>

namespace tg::cpu {

namespace {

enum class Pooling : uint8_t { Max, MeanInside, MeanWindow };

/// One row of channels a result pixel.
class PoolKernel final : public Kernel {
public:
  PoolKernel(Pooling kind, const Geometry& g, const Place& src, const Place& dst, int threads)
      : kind_(kind), geometry_(g), src_(src), dst_(dst), threads_(threads) {}

  Result<void> bind(const Addresses& addresses) override {
    from_ = addresses.of(src_);
    to_ = addresses.of(dst_);
    return {};
  }

  dnnl_status_t run(dnnl_stream_t) override {
    int64_t height = dst_.shape[2], width = dst_.shape[3];
    parallel_for(threads_, dst_.shape[0] * height * width, [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i)
        pixel(i / (height * width), i / width % height, i % width);
    });
    return dnnl_success;
  }

private:
  struct Range {
    int64_t begin, end;
  };
  /// Source rows (axis 0) or columns (axis 1) under the window of one result.
  Range inside(int64_t at, int axis) const {
    int64_t first = at * geometry_.strides[axis] - geometry_.before[axis];
    int64_t size = src_.shape[static_cast<size_t>(axis) + 2];
    return {std::max<int64_t>(first, 0), std::min(first + geometry_.kernel[axis], size)};
  }

  void pixel(int64_t n, int64_t y, int64_t x) const {
    int64_t channels = src_.shape[1];
    const float* image = from_ + n * src_.strides[0];
    float* to = to_ + n * dst_.strides[0] + y * dst_.strides[2] + x * dst_.strides[3];
    Range ys = inside(y, 0), xs = inside(x, 1);
    bool max = kind_ == Pooling::Max, first = true;
    for (int64_t i = ys.begin; i < ys.end; ++i)
      for (int64_t k = xs.begin; k < xs.end; ++k, first = false) {
        const float* row = image + i * src_.strides[2] + k * src_.strides[3];
        Instr instr = first ? Instr::Copy : max ? Instr::Maximum : Instr::Add;
        simd().apply(instr, to, first ? row : to, row, nullptr, channels);
      }
    if (first) return simd().fill(to, 0, channels); // a window on padding alone
    int64_t count = kind_ == Pooling::MeanWindow ? geometry_.kernel[0] * geometry_.kernel[1]
                                                 : (ys.end - ys.begin) * (xs.end - xs.begin);
    if (!max) simd().scale(to, 1.0f / static_cast<float>(count), channels);
  }

  Pooling kind_;
  Geometry geometry_;
  Place src_, dst_;
  int threads_;
  const float* from_ = nullptr;
  float* to_ = nullptr;
};

dnnl_alg_kind_t algorithm(Pooling kind) {
  switch (kind) {
  case Pooling::Max: return dnnl_pooling_max;
  case Pooling::MeanInside: return dnnl_pooling_avg_exclude_padding;
  case Pooling::MeanWindow: break;
  }
  return dnnl_pooling_avg_include_padding;
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
  Op op = l.describe(step);
  op.threads = l.threads_for(op.flops / 30e3); // about 30 window elements a nanosecond
  ThreadScope scope(op.threads);
  Result<PrimitiveDescHandle> pd = describe_pooling(l, kind, g, src, dst);
  if (pd && !llvm::StringRef(implementation(*pd)).startswith("ref"))
    return l.add_primitive(
        step, *pd, {{DNNL_ARG_SRC, memory_desc(src), src}, {DNNL_ARG_DST, memory_desc(dst), dst}},
        op.threads);
  op.implementation = std::string("pool:") + simd().isa;
  op.buffers = {src.buffer, dst.buffer};
  op.kernel = std::make_unique<PoolKernel>(kind, g, src, dst, op.threads);
  l.add_op(step.phase, std::move(op));
  return {};
}

} // namespace tg::cpu
