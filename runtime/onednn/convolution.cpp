// conv2d and pooling on oneDNN, images channels last. With nhwc sources oneDNN takes its brgemm
// convolution on AVX-512 and the direct one on AVX2; with nchw it would fall to im2col and gemm at
// half the speed, and for nhwc with gaps between channels to plain loops a thousand times slower,
// which is why a concat along channels is a copy. Kernels are packed once at load into the layout
// that the implementation asks for. A residual is a sum post-op on its own buffer.
#include "runtime/onednn/lowering.h"

#include "lang/core/shape_rules.h"

namespace tg::cpu {

namespace {

/// Microseconds on one thread, to choose the number of threads by: at 150 GFLOP/s.
double conv_us(double flops) { return flops / 150e3; }

struct Geometry {
  dnnl_dims_t kernel, strides, dilates, before, after;
};

Geometry geometry(const Shape& image, llvm::ArrayRef<int64_t> kernel, const Value& stride,
                  const Value& pad, llvm::ArrayRef<int64_t> dilation) {
  Geometry g{};
  for (int i = 0; i < 2; ++i) {
    auto axis = static_cast<size_t>(i);
    g.kernel[i] = kernel[axis];
    g.strides[i] = stride.ints[axis];
    g.dilates[i] = dilation[axis] - 1; // oneDNN counts the holes
    std::optional<Window> w =
        window(image[axis + 2], kernel[axis], stride.ints[axis], dilation[axis], pad, i);
    assert(w && "infer admits only windows that fit");
    g.before[i] = w->before;
    g.after[i] = w->after;
  }
  return g;
}

/// The kernel as oneDNN sees it: [O, I, kh, kw], or [G, O / G, I, kh, kw] if grouped.
Shape kernel_shape(const Shape& w, int64_t groups) {
  if (groups == 1) return w;
  return {groups, w[0] / groups, w[1], w[2], w[3]};
}

} // namespace

Result<void> lower_conv2d(Lowering& l, const PlanStep& step) {
  PlanValueId x = operand(step, "x"), w = operand(step, "w"), bias = operand(step, "bias");
  const Shape image = l.type(x).shape, result = l.type(step.result).shape;
  const Shape filter = l.type(w).shape;
  Geometry g = geometry(image, llvm::ArrayRef<int64_t>(filter).drop_front(2), attr(step, "stride"),
                        attr(step, "pad"), attr(step, "dilation").ints);
  TG_TRY(Place src, l.operand_nhwc(x));
  TG_TRY(Place weights, l.operand_plain(w));
  TG_TRY(Place dst, l.product_result(step, nhwc_strides(result)));

  Shape kernel = kernel_shape(filter, image[1] / filter[1]);
  dnnl_memory_desc_t src_md = memory_desc(src), dst_md = memory_desc(dst);
  dnnl_memory_desc_t any = memory_desc(kernel, dnnl_format_tag_any);
  dnnl_memory_desc_t bias_md = memory_desc({result[1]}, dnnl_a);
  dnnl_convolution_desc_t desc;
  if (dnnl_status_t s = dnnl_dilated_convolution_forward_desc_init(
          &desc, dnnl_forward_inference, dnnl_convolution_direct, &src_md, &any,
          bias == kNoValue ? nullptr : &bias_md, &dst_md, g.strides, g.dilates, g.before, g.after);
      s != dnnl_success)
    return device_error(s, "describing a convolution");

  int threads = l.threads_for(conv_us(l.describe(step).flops));
  ThreadScope scope(threads);
  bool sum = operand(step, "residual") != kNoValue;
  TG_TRY(AttrHandle attrs, make_attr({sum, *parse_act(attr(step, "act").text)}));
  TG_TRY(PrimitiveDescHandle pd, make_primitive_desc(&desc, attrs, l.engine, "conv2d"));
  dnnl_memory_desc_t packed_md = wanted(pd, dnnl_query_weights_md);
  TG_TRY(Place packed, l.packed(weights, memory_desc(kernel, contiguous_strides(kernel)), packed_md,
                                l.at_load(w) ? Phase::Load : step.phase, "pack kernel"));
  llvm::SmallVector<PrimitiveArg, 4> args = {{DNNL_ARG_SRC, src_md, src},
                                             {DNNL_ARG_WEIGHTS, packed_md, packed},
                                             {DNNL_ARG_DST, dst_md, dst}};
  if (bias != kNoValue) {
    TG_TRY(Place b, l.operand_plain(bias));
    args.push_back({DNNL_ARG_BIAS, bias_md, b});
  }
  return l.add_primitive(step, pd, args, threads);
}

Result<void> lower_pool2d(Lowering& l, const PlanStep& step) {
  PlanValueId x = operand(step, "x");
  const Shape image = l.type(x).shape, result = l.type(step.result).shape;
  Geometry g =
      geometry(image, attr(step, "kernel").ints, attr(step, "stride"), attr(step, "pad"), {1, 1});
  dnnl_alg_kind_t algorithm = dnnl_pooling_max;
  if (step.op == OpKind::AvgPool2d)
    algorithm = attr(step, "count_padding").number != 0 ? dnnl_pooling_avg_include_padding
                                                        : dnnl_pooling_avg_exclude_padding;
  TG_TRY(Place src, l.operand_nhwc(x));
  Place dst = l.new_result(step, nhwc_strides(result));
  dnnl_memory_desc_t src_md = memory_desc(src), dst_md = memory_desc(dst);
  dnnl_pooling_desc_t desc;
  if (dnnl_status_t s =
          dnnl_pooling_forward_desc_init(&desc, dnnl_forward_inference, algorithm, &src_md, &dst_md,
                                         g.strides, g.kernel, g.before, g.after);
      s != dnnl_success)
    return device_error(s, "describing a pooling");
  // One vector load for each position of the window: about 30 elements a nanosecond.
  int threads = l.threads_for(l.describe(step).flops / 30e3);
  ThreadScope scope(threads);
  TG_TRY(AttrHandle attrs, make_attr({}));
  TG_TRY(PrimitiveDescHandle pd, make_primitive_desc(&desc, attrs, l.engine, "pooling"));
  return l.add_primitive(step, pd, {{DNNL_ARG_SRC, src_md, src}, {DNNL_ARG_DST, dst_md, dst}},
                         threads);
}

} // namespace tg::cpu
