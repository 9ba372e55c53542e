// Rules of windows that slide over images and volumes: convolutions, pooling, and their kernels.
#include "lang/core/semantics/winograd_transforms.h"
#pragma once

#include "lang/core/shapes/attributes.h"
#include "lang/core/shapes/products.h"

#include <algorithm>

namespace tg::shapes {

/// tg::Window with sizes of either form.
template <class Int> struct WindowOf { Int out = 0, before = 0, after = 0; };

/// Returns the distance from the first to the last of `count` elements, inclusive;
/// nullopt if it exceeds every tensor.
template <class Int> std::optional<Int> extent_of(const Int& count, const Int& apart) {
  Int gaps = count - Int(1);
  if (!is_one(apart) && product_exceeds(apart, gaps, kMaxElements)) return std::nullopt;
  return gaps * apart + Int(1);
}

template <class Int>
std::optional<WindowOf<Int>> fit_window(const Int& size, const Int& kernel, const Int& stride,
                                        const Int& dilation, const Int& before, const Int& after) {
  std::optional<Int> extent = extent_of(kernel, dilation);
  if (!extent) return std::nullopt;
  Int room = size + before + after - *extent;
  if (room < 0) return std::nullopt;
  return WindowOf<Int>{room / stride + Int(1), before, after};
}

template <class Int, class V>
std::optional<WindowOf<Int>> fit_window(const Int& size, const Int& kernel, const Int& stride,
                                        const Int& dilation, const V& pad, int axis) {
  std::optional<Int> extent = extent_of(kernel, dilation);
  if (!extent) return std::nullopt;
  WindowOf<Int> w;
  if (pad.is(Value::Kind::Ints)) {
    w.before = pad.ints[axis];
    w.after = pad.ints[2 + axis];
  } else if (pad.text == "same") {
    Int out = (size + stride - Int(1)) / stride;
    Int total = (out - Int(1)) * stride + *extent - size;
    if (total < 0) total = 0;
    w.before = total / Int(2);
    w.after = total - w.before;
  }
  return fit_window(size, kernel, stride, dilation, w.before, w.after);
}

template <class Int, class V>
std::optional<WindowOf<Int>> fit_transposed(const Int& size, const Int& kernel, const Int& stride,
                                            const Int& dilation, const V& pad, const Int& extra,
                                            int axis) {
  std::optional<Int> extent = extent_of(kernel, dilation), apart = extent_of(size, stride);
  if (!extent || !apart) return std::nullopt;
  Int whole = *apart - Int(1) + *extent + extra;
  WindowOf<Int> w;
  if (pad.is(Value::Kind::Ints)) {
    w.before = pad.ints[axis];
    w.after = pad.ints[2 + axis];
  } else if (pad.text == "same") {
    Int cut = whole - size * stride;
    if (cut < 0) return std::nullopt;
    w.before = cut / Int(2);
    w.after = cut - w.before;
  }
  w.out = whole - w.before - w.after;
  return w.out < 1 ? std::nullopt : std::optional(w);
}

template <class In>
bool spatial(In& in, llvm::ArrayRef<typename In::Int> kernel,
             llvm::ArrayRef<typename In::Int> stride, const typename In::Value& pad,
             llvm::ArrayRef<typename In::Int> dilation) {
  const auto& x = in.type(0);
  for (int i = 0; i < 2; ++i) {
    auto w = fit_window(x[2 + i], kernel[i], stride[i], dilation[i], pad, i);
    if (!w) return in.fail("a window of {0} does not fit {1} (pad = {2})", kernel, x, pad);
    in.result.shape.push_back(w->out);
  }
  return true;
}

/// Checks the channels of x[N, C, ..] and w[O, C / groups, ..],
/// and sets the first axes of the result.
template <class In> bool grouped_channels(In& in) {
  const auto &x = in.type(0), &w = in.type(1);
  if (x[1] % w[1] != 0)
    return in.fail("{0} input channels are not a multiple of the kernel's {1}", x[1], w[1]);
  typename In::Int groups = x[1] / w[1];
  if (w[0] % groups != 0)
    return in.fail("{0} output channels do not divide into {1} groups", w[0], groups);
  in.result = {x.dtype, {x[0], w[0]}};
  return true;
}

/// Reads one number for all axes, or one per axis; padding before and after each.
template <class In> bool of_three_axes(In& in, size_t slot, int64_t least) {
  const AttrInfo& attr = in.info.attrs()[slot];
  auto v = in.attr(slot);
  bool pads = least == 0;
  using Int = typename In::Int;
  if (v.ints.size() == 1) v.ints.assign(3, Int(v.ints[0]));
  if (pads && v.ints.size() == 3)
    for (int i = 0; i < 3; ++i) v.ints.push_back(Int(v.ints[i]));
  if (v.ints.size() != (pads ? 6 : 3))
    return in.fail(pads ? "`{0}` must be n, [d, h, w] or six numbers, three before and three "
                          "after, got {1}"
                        : "`{0}` must be n or [d, h, w], got {1}",
                   attr.name, in.attr(slot));
  in.set(slot, v);
  return in_range(in, attr, v.ints, least);
}

template <class In> bool conv2d(In& in) {
  const auto &x = in.type(0), &w = in.type(1);
  if (x.rank() != 4 || w.rank() != 4)
    return in.fail("conv2d requires x[N, C, H, W] and w[O, C / groups, kh, kw], got {0} and {1}", x,
                   w);
  if (!grouped_channels(in)) return false;
  if (!spatial(in, {w[2], w[3]}, in.attr(0).ints, in.attr(1), in.attr(2).ints)) return false;
  return epilogue(in, w[0]);
}

template <class In> bool winograd_weight(In& in) {
  const auto& w = in.type(0);
  int64_t tile = fixed(in.attr(0).number);
  if (tile != 2 && tile != 4) return in.fail("`tile` must be 2 or 4, got {0}", tile);
  if (w.rank() != 4 || w[2] != Winograd::kKernel || w[3] != Winograd::kKernel)
    return in.fail("winograd_weight requires w[O, I, 3, 3], got {0}", w);
  in.result = {w.dtype, {winograd_of_results(tile).products(), w[0], w[1]}};
  return true;
}

/// Applies conv2d's rule to the kernel that u represents.
template <class In> bool winograd_conv2d(In& in) {
  const auto &x = in.type(0), &u = in.type(1);
  if (x.rank() != 4 || u.rank() != 3 || (u[0] != 16 && u[0] != 36))
    return in.fail("winograd_conv2d requires x[N, C, H, W] and u[16 or 36, O, C / groups], got {0} "
                   "and {1}",
                   x, u);
  if (x[1] % u[2] != 0)
    return in.fail("{0} input channels are not a multiple of the kernel's {1}", x[1], u[2]);
  typename In::Int groups = x[1] / u[2];
  if (u[1] % groups != 0)
    return in.fail("{0} output channels do not divide into {1} groups", u[1], groups);
  in.result = {x.dtype, {x[0], u[1]}};
  if (!spatial(in, {3, 3}, {1, 1}, in.attr(0), {1, 1})) return false;
  return epilogue(in, u[1]);
}

template <class In> bool conv3d(In& in) {
  const auto &x = in.type(0), &w = in.type(1);
  if (x.rank() != 5 || w.rank() != 5)
    return in.fail("conv3d requires x[N, C, D, H, W] and w[O, C / groups, kd, kh, kw], got {0} and "
                   "{1}",
                   x, w);
  if (!of_three_axes(in, 0, 1) || !of_three_axes(in, 1, 0) || !of_three_axes(in, 2, 1) ||
      !grouped_channels(in))
    return false;
  llvm::ArrayRef<typename In::Int> pad = in.attr(1).ints;
  for (size_t i = 0; i < 3; ++i) {
    auto along =
        fit_window(x[2 + i], w[2 + i], in.attr(0).ints[i], in.attr(2).ints[i], pad[i], pad[3 + i]);
    if (!along)
      return in.fail("a window of {0} does not fit {1} (pad = {2})",
                     llvm::ArrayRef<typename In::Int>(w.shape).drop_front(2), x, pad);
    in.result.shape.push_back(along->out);
  }
  return bias_fits(in, w[0]);
}

template <class In> bool conv_transpose2d(In& in) {
  const auto &x = in.type(0), &w = in.type(1);
  if (x.rank() != 4 || w.rank() != 4)
    return in.fail(
        "conv_transpose2d requires x[N, C, H, W] and w[C, O / groups, kh, kw], got {0} and "
        "{1}",
        x, w);
  if (x[1] != w[0]) return in.fail("x has {0} channels, but the kernel has {1}", x[1], w[0]);
  typename In::Int groups = in.attr(4).number;
  if (groups < 1 || x[1] % groups != 0)
    return in.fail("{0} channels do not divide into {1} groups", x[1], groups);
  if (product_exceeds(groups, w[1], kMaxElements))
    return in.fail("{0} groups of {1} channels are too many", groups, w[1]);
  in.result = {x.dtype, {x[0], w[1] * groups}};
  const auto& pad = in.attr(1);
  for (int i = 0; i < 2; ++i) {
    typename In::Int kernel = w[2 + i], stride = in.attr(0).ints[i];
    auto along =
        fit_transposed(x[2 + i], kernel, stride, in.attr(3).ints[i], pad, in.attr(2).ints[i], i);
    if (!along && pad.text == "same")
      return in.fail("`pad` = same requires windows without gaps between them, got a kernel of "
                     "{0} and a stride of {1}",
                     kernel, stride);
    if (!along)
      return in.fail("`pad` = {0} leaves no elements of {1} with the kernel {2}", pad, x, w);
    in.result.shape.push_back(along->out);
  }
  return bias_fits(in, w[1] * groups);
}

template <class In> bool pool2d(In& in) {
  const auto& x = in.type(0);
  if (x.rank() != 4) return in.fail("{0} requires x[N, C, H, W], got {1}", in.info.name, x);
  using Ints = llvm::ArrayRef<typename In::Int>;
  Ints kernel = in.attr(0).ints;
  const auto& pad = in.attr(2);
  if (pad.is(Value::Kind::Ints))
    for (int i = 0; i < 4; ++i)
      if (pad.ints[i] >= kernel[i % 2])
        return in.fail("padding {0} must be smaller than the window {1}", pad.ints, kernel);
  in.result = {x.dtype, {x[0], x[1]}};
  return spatial(in, kernel, in.attr(1).ints, pad, {1, 1});
}

template <class In> bool enlarge(In& in) {
  in.result = in.type(0);
  if (in.result.rank() != 4) return in.fail("enlarge requires w[O, I, kh, kw], got {0}", in.result);
  for (int i = 0; i < 2; ++i) {
    typename In::Int from = in.result[2 + i], to = in.attr(0).ints[i];
    if (to < from || (to - from) % 2 != 0)
      return in.fail(
          "a window of {0} cannot be enlarged to {1}: the difference must be even and not negative",
          from, to);
    in.result.shape[2 + i] = to;
  }
  return true;
}

template <class In> bool merge_gconv(In& in) {
  in.result = in.type(0);
  typename In::Int count = in.attr(0).number, groups = in.attr(1).number;
  if (in.result.rank() != 4)
    return in.fail("merge_gconv requires w[O, I, kh, kw], got {0}", in.result);
  if (count < 1 || groups < 1 || groups % count != 0 || in.result[0] % groups != 0)
    return in.fail("{0} groups of {1} cannot be merged by {2}", groups, in.result, count);
  if (product_exceeds(in.result.elements(), count, kMaxElements))
    return in.fail("the merged kernel is too large");
  in.result.shape[1] *= count;
  return true;
}

} // namespace tg::shapes
