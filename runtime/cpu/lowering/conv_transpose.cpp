// Lowers conv_transpose2d to oneDNN's deconvolution, with images channels last,
// or in the layouts that oneDNN prefers. oneDNN implements it as the gradient of a convolution,
// for which it has fewer kernels. Unsupported cases run by the definition.
#include "runtime/cpu/lowering/geometry.h"
#include "runtime/cpu/lowering/lowering.h"
#include "runtime/cpu/lowering/tile_convolution.h"

namespace tg::cpu {

namespace {

/// A transposed convolution in oneDNN's terms. Its kernels [O, C, kh, kw], or [G, O / G, C / G, kh,
/// kw], have the memory layout of w[C, O / G, kh, kw].
struct Deconvolution {
  dnnl_dims_t strides, dilates, before, after;
  dnnl_memory_desc_t src, dst, kernels, bias;
  dnnl_memory_desc_t given_kernels; // as stored
  bool has_bias = false;
};

Deconvolution deconvolution(const Lowering& l, const PlanStep& step) {
  const Shape &x = l.type(operand(step, "x")).shape, &w = l.type(operand(step, "w")).shape;
  const Shape& y = l.type(step.result).shape;
  Deconvolution d{};
  for (int i = 0; i < 2; ++i) {
    int64_t stride = attr(step, "stride").ints[i], dilation = attr(step, "dilation").ints[i];
    int64_t extra = attr(step, "output_padding").ints[i];
    std::optional<Window> along =
        transposed_window(x[2 + i], w[2 + i], stride, dilation, attr(step, "pad"), extra, i);
    assert(along && "type inference checks that windows fit");
    d.strides[i] = stride;
    d.dilates[i] = dilation - 1;
    d.before[i] = along->before;
    d.after[i] = along->after - extra;
  }
  int64_t groups = attr(step, "groups").number, taps = w[2] * w[3];
  Shape shape = {w[1], w[0] / groups, w[2], w[3]}, strides = {taps, w[1] * taps, w[3], 1};
  if (groups > 1) {
    shape.insert(shape.begin(), groups);
    strides.insert(strides.begin(), w[0] / groups * w[1] * taps);
  }
  d.src = memory_desc(x, nhwc_strides(x));
  d.dst = memory_desc(y, nhwc_strides(y));
  d.kernels = memory_desc(shape, dnnl_format_tag_any);
  d.given_kernels = memory_desc(shape, strides);
  d.bias = memory_desc({y[1]}, dnnl_a);
  d.has_bias = operand(step, "bias") != kNoValue;
  return d;
}

/// Returns nullopt if oneDNN has only plain loops.
std::optional<PrimitiveDescHandle> described(Lowering& l, const Deconvolution& d) {
  dnnl_deconvolution_desc_t desc;
  if (dnnl_dilated_deconvolution_forward_desc_init(
          &desc, dnnl_forward_inference, dnnl_deconvolution_direct, &d.src, &d.kernels,
          d.has_bias ? &d.bias : nullptr, &d.dst, d.strides, d.dilates, d.before,
          d.after) != dnnl_success)
    return std::nullopt;
  Result<AttrHandle> attr = make_attr({});
  if (!attr) return std::nullopt;
  Result<PrimitiveDescHandle> pd = make_primitive_desc(&desc, *attr, l.engine, "conv_transpose2d");
  if (!pd || llvm::StringRef(implementation(*pd)).contains("ref")) return std::nullopt;
  return std::move(*pd);
}

} // namespace

Result<void> lower_conv_transpose2d(Lowering& l, const PlanStep& step) {
  TG_TRY(bool done, lower_tile_conv_transpose2d(l, step));
  if (done) return {};
  PlanValueId x = operand(step, "x"), w = operand(step, "w"), bias = operand(step, "bias");
  Deconvolution d = deconvolution(l, step);
  std::optional<PrimitiveDescHandle> pd = described(l, d);
  if (!pd) {
    d.src = memory_desc(l.type(x).shape, dnnl_format_tag_any);
    d.dst = memory_desc(l.type(step.result).shape, dnnl_format_tag_any);
    pd = described(l, d);
  }
  if (!pd) return lower_reference(l, step);
  TG_TRY(Place image, l.operand_nhwc(x));
  TG_TRY(Place kernels, l.operand_plain(w));
  Place result = l.new_result(step, nhwc_strides(l.type(step.result).shape));
  dnnl_memory_desc_t src_md = wanted(*pd, dnnl_query_src_md),
                     dst_md = wanted(*pd, dnnl_query_dst_md),
                     packed_md = wanted(*pd, dnnl_query_weights_md),
                     result_md = memory_desc(result);
  TG_TRY(Place src, l.packed(image, memory_desc(image), src_md, step.phase, "reorder"));
  TG_TRY(Place packed, l.packed(kernels, d.given_kernels, packed_md,
                                l.at_load(w) ? Phase::Load : step.phase, "pack kernel"));
  Place dst = result;
  bool reordered = !dnnl_memory_desc_equal(&dst_md, &result_md);
  if (reordered)
    dst = l.new_temporary(static_cast<int64_t>(dnnl_memory_desc_get_size(&dst_md)), step.phase);
  llvm::SmallVector<PrimitiveArg, 4> args = {{DNNL_ARG_SRC, src_md, src},
                                             {DNNL_ARG_WEIGHTS, packed_md, packed},
                                             {DNNL_ARG_DST, dst_md, dst}};
  if (d.has_bias) {
    TG_TRY(Place plain, l.operand_plain(bias));
    args.push_back({DNNL_ARG_BIAS, d.bias, plain});
  }
  TG_CHECK(l.add_primitive(step, *pd, args));
  if (!reordered) return {};
  return l.unpack(dst, dst_md, result, result_md, step.phase, "reorder");
}

} // namespace tg::cpu
