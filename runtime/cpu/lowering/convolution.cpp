// Lowers conv2d and conv3d to oneDNN, with images channels last.
// With nhwc sources, oneDNN uses its brgemm convolution on AVX-512 and the direct one on AVX2.
// With nchw it would use im2col and gemm at half the speed, and for nhwc with gaps between channels
// it has only plain loops, a thousand times slower; this is why a concat along channels is a copy.
// Kernels are packed once, at load, into the layout that the implementation requests.
// A residual is a sum post-op on its own buffer.
#include "runtime/cpu/lowering/geometry.h"
#include "runtime/cpu/lowering/lowering.h"
#include "runtime/cpu/lowering/padding.h"
#include "runtime/cpu/lowering/slices.h"
#include "runtime/cpu/lowering/tile_convolution.h"

namespace tg::cpu {

namespace {

/// Returns the estimated microseconds on one thread at 150 GFLOP/s, to choose the number
/// of threads.
double conv_us(double flops) { return flops / 150e3; }

/// Returns the kernel's shape in oneDNN: [O, I, kh, kw], or [G, O / G, I, kh, kw] if grouped.
Shape kernel_shape(Shape w, int64_t groups) {
  if (groups == 1) return w;
  w[0] /= groups;
  w.insert(w.begin(), groups);
  return w;
}

/// A convolution: its operands' shapes and places, and the operators fused into it.
struct Convolution {
  Geometry geometry;
  Shape kernel; // in oneDNN
  Shape result;
  Place src, weights, dst;
  std::optional<Place> bias;
  Attr attr;
  Phase weights_phase = Phase::Load;
  Threads threads = {};
  std::string implementation = {}; // of a slice: that of the whole
};

/// Returns true if some result's window is entirely in the padding (a dilated kernel
/// can straddle an image).
bool has_empty_window(const Convolution& c) {
  const Geometry& g = c.geometry;
  for (size_t axis = 0; axis < g.axes; ++axis)
    for (int64_t out = 0; out < c.result[2 + axis]; ++out) {
      bool inside = false;
      for (int64_t tap = 0; tap < g.kernel[axis]; ++tap)
        inside |= reads_image(g, axis, c.src.shape[2 + axis], out, tap);
      if (!inside) return true;
    }
  return false;
}

/// Returns true if pixels of the result, channels last, are not 16-byte aligned.
bool is_unaligned(const Convolution& c) {
  return c.dst.offset % 4 != 0 ||
         llvm::any_of(c.dst.strides, [](int64_t stride) { return stride != 1 && stride % 4 != 0; });
}

Result<PrimitiveDescHandle> describe_convolution(Lowering& l, const Convolution& c,
                                                 dnnl_alg_kind_t algorithm,
                                                 const dnnl_memory_desc_t& src,
                                                 const dnnl_memory_desc_t& dst) {
  dnnl_memory_desc_t any = memory_desc(c.kernel, dnnl_format_tag_any, c.src.dtype);
  dnnl_memory_desc_t bias = memory_desc({c.result[1]}, dnnl_a, c.src.dtype);
  const Geometry& g = c.geometry;
  dnnl_convolution_desc_t desc;
  if (dnnl_status_t s = dnnl_dilated_convolution_forward_desc_init(
          &desc, dnnl_forward_inference, algorithm, &src, &any, c.bias ? &bias : nullptr, &dst,
          g.strides, g.dilates, g.before, g.after);
      s != dnnl_success)
    return device_error(s, "describing a convolution");
  TG_TRY(AttrHandle attrs, make_attr(c.attr));
  // oneDNN 2.6.3: if a result depends on no input, brgconv omits its sum or bias,
  // or jumps to an invalid address.
  llvm::SmallVector<llvm::StringRef, 2> wrong;
  if ((c.attr.sum || c.bias || c.attr.act != Act::None) && has_empty_window(c))
    wrong.push_back(kBrgemm);
  // Also in 2.6.3, SSE4.1 code for depthwise convolutions uses memory operands
  // that must be 16-byte aligned.
  if (is_unaligned(c)) wrong.push_back(kDepthwiseSse41);
  return make_primitive_desc(&desc, attrs, l.engine, "a convolution", wrong, c.implementation);
}

/// Runs `pd` between these places, whose layouts are those that it requests.
Result<void> add_convolution(Lowering& l, const PlanStep& step, const Convolution& c,
                             const PrimitiveDescHandle& pd, const Place& src, const Place& dst) {
  dnnl_memory_desc_t packed_md = wanted(pd, dnnl_query_weights_md);
  TG_TRY(Place packed,
         l.packed(c.weights, memory_desc(c.kernel, contiguous_strides(c.kernel), c.src.dtype),
                  packed_md, c.weights_phase, "pack kernel"));
  llvm::SmallVector<PrimitiveArg, 4> args = {{DNNL_ARG_SRC, wanted(pd, dnnl_query_src_md), src},
                                             {DNNL_ARG_WEIGHTS, packed_md, packed},
                                             {DNNL_ARG_DST, wanted(pd, dnnl_query_dst_md), dst}};
  if (c.bias)
    args.push_back({DNNL_ARG_BIAS, memory_desc({c.result[1]}, dnnl_a, c.src.dtype), *c.bias});
  return l.add_primitive(step, pd, args, c.attr);
}

/// Returns true if Winograd's minimal filtering (Lavin and Gray 2016) is faster.
/// Measured inside networks on AVX-512, including the reorders to and from its blocked layout,
/// it takes 0.6 to 0.8 of the time of the direct kernel from 14 x 14 pixels on.
/// For smaller images it is not faster: there the reads of its kernels, which are 16 / 9 as large,
/// cost as much time as the multiplications save.
/// Its error stays below 3e-6 of the largest result (direct: 3e-7).
/// This is a rule and not a timing, so that one plan always gives one result.
/// Each of several threads reads all kernels, which are four times as large,
/// for its part of the rows: on two threads, halves of 14 x 14 pixels took 1.19 ms,
/// as long as one thread, and the direct kernel half of that.
bool winograd_pays(const Convolution& c) {
  constexpr int64_t kLeastPixels = 14 * 14, kLeastInputsOfSlices = 64;
  int64_t pixels = c.result[2] * c.result[3];
  const Shape& k = c.kernel;
  bool fits = c.src.dtype == DType::F32 && k.size() == 4 && k[2] == 3 && k[3] == 3 &&
              c.geometry.strides[0] == 1 && c.geometry.strides[1] == 1 &&
              c.geometry.dilates[0] == 0 && c.geometry.dilates[1] == 0 && k[0] % 16 == 0 &&
              k[1] % 16 == 0;
  bool slices_fit = c.threads == 1 || (c.result[0] * pixels >= c.threads * kLeastPixels &&
                                       c.kernel[1] >= kLeastInputsOfSlices);
  return fits && pixels >= kLeastPixels && slices_fit && c.weights_phase == Phase::Load;
}

/// Returns the primitive with the layouts that the implementation prefers;
/// nullopt if oneDNN has only plain loops.
std::optional<PrimitiveDescHandle> in_any_layout(Lowering& l, const Convolution& c,
                                                 dnnl_alg_kind_t algorithm) {
  Result<PrimitiveDescHandle> found = describe_convolution(
      l, c, algorithm, memory_desc(c.src.shape, dnnl_format_tag_any, c.src.dtype),
      memory_desc(c.result, dnnl_format_tag_any, c.src.dtype));
  if (!found || is_reference(*found)) return std::nullopt;
  return std::move(*found);
}

/// Returns Winograd's primitive; nullopt if oneDNN has none or it is not faster.
std::optional<PrimitiveDescHandle> winograd(Lowering& l, const Convolution& c) {
  return winograd_pays(c) ? in_any_layout(l, c, dnnl_convolution_winograd) : std::nullopt;
}

/// Adds reorders to the implementation's layouts and back around the convolution.
/// The final reorder may write into the channels of a concat.
Result<void> add_reordered(Lowering& l, const PlanStep& step, const Convolution& c,
                           const PrimitiveDescHandle& pd) {
  dnnl_memory_desc_t src_md = wanted(pd, dnnl_query_src_md), dst_md = wanted(pd, dnnl_query_dst_md);
  dnnl_memory_desc_t result_md = memory_desc(c.dst);
  TG_TRY(Place src, l.packed(c.src, memory_desc(c.src), src_md, step.phase, "reorder"));
  Place dst = c.dst;
  if (c.attr.sum) {
    TG_TRY(dst, l.packed(c.dst, result_md, dst_md, step.phase, "reorder"));
  } else if (!dnnl_memory_desc_equal(&dst_md, &result_md)) {
    dst = l.new_temporary(static_cast<int64_t>(dnnl_memory_desc_get_size(&dst_md)), step.phase,
                          c.dst.dtype);
  }
  TG_CHECK(add_convolution(l, step, c, pd, src, dst));
  if (dst.buffer == c.dst.buffer) return {};
  return l.unpack(dst, dst_md, c.dst, result_md, step.phase, "reorder");
}

/// A primitive, and whether operands and result are reordered to its layouts and back.
struct Described {
  PrimitiveDescHandle pd;
  bool reordered = false;
};

/// Uses the direct algorithm, on the places' layouts if it has a kernel for them.
Result<Described> describe_direct(Lowering& l, const Convolution& c) {
  TG_TRY(PrimitiveDescHandle pd, describe_convolution(l, c, dnnl_convolution_direct,
                                                      memory_desc(c.src), memory_desc(c.dst)));
  if (is_reference(pd)) // such as one channel among many
    if (auto other = in_any_layout(l, c, dnnl_convolution_direct))
      return Described{std::move(*other), true};
  return Described{std::move(pd), false};
}

Result<Described> describe_winograd(Lowering& l, const Convolution& c) {
  auto pd = in_any_layout(l, c, dnnl_convolution_winograd);
  if (!pd) return device_error(dnnl_unimplemented, "describing a convolution by Winograd");
  return Described{std::move(*pd), true};
}

Result<void> add_described(Lowering& l, const PlanStep& step, const Convolution& c,
                           const Described& d) {
  if (d.reordered) return add_reordered(l, step, c, d.pd);
  return add_convolution(l, step, c, d.pd, c.src, c.dst);
}

/// Lowers in slices for the threads, if oneDNN can. `unit`: rows of the result
/// that it computes together.
Result<void> add_in_slices(Lowering& l, const PlanStep& step, const Convolution& c,
                           const Described& whole, int64_t unit,
                           llvm::function_ref<Result<Described>(const Convolution&)> describe) {
  std::vector<Convolution> slices;
  std::vector<Described> described;
  for (WindowSlice& one : cut_windows(c.geometry, c.src, c.dst, c.threads, unit)) {
    Convolution& slice = slices.emplace_back(c);
    slice.geometry = one.geometry;
    slice.src = std::move(one.src);
    slice.dst = std::move(one.dst);
    slice.result = slice.dst.shape;
    Result<Described> own = describe(slice);
    if (!own || own->reordered != whole.reordered) return add_described(l, step, c, whole);
    described.push_back(std::move(*own));
  }
  return add_sliced(l, step, c.threads, static_cast<int>(slices.size()), [&](int i) {
    auto slice = static_cast<size_t>(i);
    return add_described(l, step, slices[slice], described[slice]);
  });
}

/// Uses the kernel that would run the whole; some others are slow.
Result<void> add_direct(Lowering& l, const PlanStep& step, const Convolution& c) {
  TG_TRY(Described whole, describe_direct(l, c));
  return add_in_slices(l, step, c, whole, 1, [&](const Convolution& slice) {
    Convolution same = slice;
    same.implementation = implementation(whole.pd);
    return describe_direct(l, same);
  });
}

/// Uses the best of oneDNN's Winograd kernels for an image of that size: on half an image,
/// the kernel for the whole was a quarter slower than another one.
Result<void> add_winograd(Lowering& l, const PlanStep& step, const Convolution& c,
                          PrimitiveDescHandle pd) {
  constexpr int64_t kTile = 4; // largest number of result rows of a transform
  return add_in_slices(l, step, c, {std::move(pd), true}, kTile,
                       [&](const Convolution& slice) { return describe_winograd(l, slice); });
}

Result<void> lower_images(Lowering& l, const PlanStep& step, Convolution& c) {
  PlanValueId x = operand(step, "x"), bias = operand(step, "bias");
  c.attr = {operand(step, "residual") != kNoValue, *parse_act(attr(step, "act").text)};
  c.src = l.place(x); // for now, its current place
  if (bias != kNoValue) c.bias = l.place(bias);
  c.threads = l.threads_for(conv_us(l.describe(step).flops));
  std::optional<PrimitiveDescHandle> fast;
  if (l.products != Products::Tiles) fast = winograd(l, c);
  if (!fast) {
    TG_TRY(bool done, lower_tile_convolution(l, step));
    if (done) return {};
  }
  TG_TRY(c.src, l.operand_nhwc(x));
  TG_TRY(c.weights, l.operand_plain(operand(step, "w")));
  if (bias != kNoValue) {
    TG_TRY(c.bias, l.operand_plain(bias));
  }
  TG_TRY(c.dst, l.product_result(step, nhwc_strides(c.result), fast.has_value()));
  if (fast) return add_winograd(l, step, c, std::move(*fast));
  return add_direct(l, step, c);
}

Result<void> lower_volumes(Lowering& l, const PlanStep& step, Convolution& c) {
  TG_TRY(bool done, lower_tile_convolution(l, step));
  if (done) return {};
  PlanValueId x = operand(step, "x"), bias = operand(step, "bias");
  TG_TRY(c.src, l.operand_as(x, nhwc_strides(l.type(x).shape)));
  TG_TRY(c.weights, l.operand_plain(operand(step, "w")));
  if (bias != kNoValue) {
    TG_TRY(c.bias, l.operand_plain(bias));
  }
  c.threads = l.threads_for(conv_us(l.describe(step).flops));
  c.dst = l.new_result(step, nhwc_strides(c.result));
  return add_direct(l, step, c);
}

/// Returns the shapes, including the kernel's, and when the kernel is known.
Convolution convolution_of(const Lowering& l, const PlanStep& step) {
  PlanValueId w = operand(step, "w");
  const Shape &image = l.type(operand(step, "x")).shape, &filter = l.type(w).shape;
  Convolution c;
  llvm::ArrayRef<int64_t> window = llvm::ArrayRef<int64_t>(filter).drop_front(2);
  llvm::ArrayRef<int64_t> dilation = attr(step, "dilation").ints;
  const Value &stride = attr(step, "stride"), &pad = attr(step, "pad");
  c.geometry = window.size() == 2 ? geometry(image, window, stride, pad, dilation)
                                  : geometry3d(window, stride.ints, pad.ints, dilation);
  c.kernel = kernel_shape(filter, image[1] / filter[1]);
  c.weights_phase = l.at_load(w) ? Phase::Load : step.phase;
  c.result = l.type(step.result).shape;
  return c;
}

} // namespace

Result<void> lower_conv2d(Lowering& l, const PlanStep& step) {
  Convolution c = convolution_of(l, step);
  TG_CHECK(lower_images(l, step, c));
  return guard_padding(l, step, c.geometry);
}

Result<void> lower_conv3d(Lowering& l, const PlanStep& step) {
  Convolution c = convolution_of(l, step);
  TG_CHECK(lower_volumes(l, step, c));
  return guard_padding(l, step, c.geometry);
}

} // namespace tg::cpu
