// Gradients of convolutions, pooling and resampling. A convolution is linear in its image and in
// its kernel. The image's gradient is the transposed convolution. The kernel's gradient is the
// convolution of the image with the gradient as its kernel, with batch as channels, and with stride
// and dilation exchanged.
#include "compiler/ir/grad/rules.h"
#include "lang/core/resample.h"

#include <llvm/ADT/STLExtras.h>

#include <algorithm>

namespace tg::grad {

namespace {

using Ints = NodeBuilder::Ints;

/// The movement of a kernel over the axes after the first two.
struct Sliding {
  Shape kernel, stride, dilation, before, after;
  size_t axes() const { return kernel.size(); }
  /// Distance from the first to the last element of the kernel.
  int64_t reach(size_t axis) const { return dilation[axis] * (kernel[axis] - 1); }
};

Shape sizes_of(NodeBuilder& b, NodeId x) { return copied(b.shape(x).drop_front(2)); }

/// The movement of conv2d and pooling, with the padding computed.
Sliding sliding_2d(Reverse& r, Ints kernel, Ints dilation) {
  Sliding s{copied(kernel), copied(r.ints("stride")), copied(dilation), {}, {}};
  for (size_t i = 0; i < 2; ++i) {
    std::optional<Window> w = window(r.b.shape(r.x())[2 + i], s.kernel[i], s.stride[i],
                                     s.dilation[i], r.attr("pad"), static_cast<int>(i));
    s.before.push_back(w->before);
    s.after.push_back(w->after);
  }
  return s;
}

NodeId convolution(NodeBuilder& b, NodeId x, NodeId w, const Sliding& s) {
  bool flat = s.axes() == 2;
  Shape pad = s.before;
  pad.append(s.after);
  llvm::SmallVector<NodeId, 4> operands = {x, w, b.none()};
  if (flat) operands.push_back(b.none());
  return b.op(flat ? OpKind::Conv2d : OpKind::Conv3d, operands,
              {{"stride", Value::of_ints(s.stride)},
               {"pad", Value::of_ints(pad)},
               {"dilation", Value::of_ints(s.dilation)}});
}

/// Pads x before and after by the given amounts; crops for negative ones.
NodeId resized(NodeBuilder& b, NodeId x, Ints before, Ints after) {
  Shape more_before(2, 0), more_after(2, 0);
  for (size_t i = 0; i < before.size(); ++i) {
    int64_t axis = static_cast<int64_t>(2 + i);
    x = b.slice(x, axis, std::max<int64_t>(-before[i], 0),
                b.size(x, axis) - std::max<int64_t>(-after[i], 0));
    more_before.push_back(std::max<int64_t>(before[i], 0));
    more_after.push_back(std::max<int64_t>(after[i], 0));
  }
  return b.pad(x, more_before, more_after);
}

/// Returns the gradient of w[O, C / groups, ..] from that of its convolution with x.
NodeId kernel_gradient(NodeBuilder& b, NodeId x, NodeId dy, NodeId w, Sliding s) {
  int64_t count = b.size(x, 0), channels = b.size(w, 1), groups = b.size(x, 1) / channels;
  Shape apart = {count, groups, channels}, together = {channels, groups * count};
  Shape perm = {2, 1, 0};
  for (size_t i = 0; i < s.axes(); ++i) {
    apart.push_back(b.shape(x)[2 + i]);
    together.push_back(b.shape(x)[2 + i]);
    perm.push_back(static_cast<int64_t>(3 + i));
  }
  NodeId images = b.reshape(b.transpose(b.reshape(x, apart), perm), together);
  std::swap(s.stride, s.dilation);
  NodeId made = convolution(b, images, b.swap_axes(dy, 0, 1), s); // [C / groups, O, ..]
  for (size_t i = 0; i < s.axes(); ++i)                           // rows outside all windows
    made = b.slice(made, static_cast<int64_t>(2 + i), 0, s.kernel[i]);
  return b.swap_axes(made, 0, 1);
}

/// Returns the gradient of an image of these sizes from that of its convolution with w, by
/// conv_transpose2d.
NodeId image_gradient_2d(NodeBuilder& b, NodeId dy, NodeId w, const Sliding& s, Ints sizes,
                         int64_t groups) {
  Shape pad, beyond;
  for (size_t i = 0; i < 2; ++i) pad.push_back(s.before[i]);
  for (size_t i = 0; i < 2; ++i) {
    int64_t whole = (b.shape(dy)[2 + i] - 1) * s.stride[i] + s.reach(i) + 1;
    int64_t behind = whole - s.before[i] - sizes[i]; // negative: elements outside all windows
    pad.push_back(std::max<int64_t>(behind, 0));
    beyond.push_back(std::max<int64_t>(-behind, 0));
  }
  NodeId image = b.op(OpKind::ConvTranspose2d, {dy, w, b.none()},
                      {{"stride", Value::of_ints(s.stride)},
                       {"pad", Value::of_ints(pad)},
                       {"dilation", Value::of_ints(s.dilation)},
                       {"groups", Value::of_int(groups)}});
  return resized(b, image, {0, 0}, beyond);
}

/// Inserts zeros between neighbours along an axis.
NodeId spread(NodeBuilder& b, NodeId x, int64_t axis, int64_t zeros) {
  if (zeros == 0) return x;
  Shape before(static_cast<size_t>(b.rank(x)) + 1, 0), after = before, to = copied(b.shape(x));
  after[static_cast<size_t>(axis) + 1] = zeros;
  int64_t size = to[static_cast<size_t>(axis)];
  to[static_cast<size_t>(axis)] = size * (1 + zeros);
  NodeId wide = b.reshape(b.pad(b.unsqueeze(x, axis + 1), before, after), to);
  return b.slice(wide, axis, 0, size * (1 + zeros) - zeros);
}

/// Converts w[O, C / groups, ..] to the kernel of the image's gradient, [C, O / groups, ..],
/// reversed.
NodeId turned_kernel(NodeBuilder& b, NodeId w, int64_t groups) {
  Shape apart = {groups, b.size(w, 0) / groups, b.size(w, 1)};
  Shape to = {groups * b.size(w, 1), b.size(w, 0) / groups};
  apart.append(sizes_of(b, w));
  to.append(sizes_of(b, w));
  NodeId turned = b.reshape(b.swap_axes(b.reshape(w, apart), 1, 2), to);
  for (int64_t axis = 2; axis < b.rank(turned); ++axis) turned = b.reverse(turned, axis);
  return turned;
}

/// The same for conv3d, which has no transposed operator: a convolution of the spread gradient.
NodeId image_gradient_3d(NodeBuilder& b, NodeId dy, NodeId w, const Sliding& s, Ints sizes,
                         int64_t groups) {
  Shape before, after;
  NodeId wide = dy;
  for (size_t i = 0; i < 3; ++i) {
    wide = spread(b, wide, static_cast<int64_t>(2 + i), s.stride[i] - 1);
    before.push_back(s.reach(i) - s.before[i]);
    after.push_back(sizes[i] + s.before[i] - b.shape(wide)[2 + i]);
  }
  Sliding plain{s.kernel, {1, 1, 1}, s.dilation, {0, 0, 0}, {0, 0, 0}};
  return convolution(b, resized(b, wide, before, after), turned_kernel(b, w, groups), plain);
}

void convolution_rule(Reverse& r, const Sliding& s) {
  NodeBuilder& b = r.b;
  NodeId x = r.x(), w = r.operands[1];
  int64_t groups = b.size(x, 1) / b.size(w, 1);
  auto image = s.axes() == 2 ? image_gradient_2d : image_gradient_3d;
  if (r.wanted(0)) r.add_gradient(0, image(b, r.dy, w, s, sizes_of(b, x), groups));
  if (r.wanted(1)) r.add_gradient(1, kernel_gradient(b, x, r.dy, w, s));
}

/// Returns the shape that broadcasts a bias over the axes after the first two.
Shape bias_shape(Reverse& r) {
  Shape shape(static_cast<size_t>(r.b.rank(r.node)) - 1, 1);
  shape[0] = r.b.size(r.node, 1);
  return shape;
}

} // namespace

void conv2d(Reverse& r) {
  if (without_epilogue(r, bias_shape(r))) return;
  convolution_rule(r, sliding_2d(r, sizes_of(r.b, r.operands[1]), r.ints("dilation")));
}

void conv3d(Reverse& r) {
  if (without_epilogue(r, bias_shape(r))) return;
  Ints pad = r.ints("pad");
  convolution_rule(r, {sizes_of(r.b, r.operands[1]), copied(r.ints("stride")),
                       copied(r.ints("dilation")), copied(pad.take_front(3)),
                       copied(pad.take_back(3))});
}

void conv_transpose2d(Reverse& r) {
  if (without_epilogue(r, bias_shape(r))) return;
  NodeBuilder& b = r.b;
  NodeId x = r.x(), w = r.operands[1];
  Sliding s{sizes_of(b, w), copied(r.ints("stride")), copied(r.ints("dilation")), {}, {}};
  for (size_t i = 0; i < 2; ++i) {
    std::optional<Window> cut =
        transposed_window(b.shape(x)[2 + i], s.kernel[i], s.stride[i], s.dilation[i], r.attr("pad"),
                          r.ints("output_padding")[i], static_cast<int>(i));
    int64_t read = (b.shape(x)[2 + i] - 1) * s.stride[i] + s.reach(i) + 1;
    s.before.push_back(cut->before);
    s.after.push_back(read - cut->before - b.shape(r.dy)[2 + i]);
  }
  NodeId wide = resized(b, r.dy, s.before, s.after); // cropped elements had no influence
  s.before = s.after = {0, 0};
  if (r.wanted(0)) r.add_gradient(0, convolution(b, wide, w, s));
  if (r.wanted(1)) r.add_gradient(1, kernel_gradient(b, wide, x, w, s));
}

// --- pooling -------------------------------------------------------------------------------------

namespace {

/// Returns the row (or column) that each element of each window reads. No window covers only
/// padding, so the nearest element inside the image can replace one outside without changing the
/// chosen element.
Shape places(const Sliding& s, size_t axis, int64_t windows, int64_t size) {
  Shape rows;
  for (int64_t at = 0; at < windows; ++at)
    for (int64_t i = 0; i < s.kernel[axis]; ++i)
      rows.push_back(std::clamp<int64_t>(at * s.stride[axis] - s.before[axis] + i, 0, size - 1));
  return rows;
}

/// Scatters and adds the slices of dy to zeros of this size along an axis.
NodeId added_at(NodeBuilder& b, NodeId dy, int64_t axis, Ints places, int64_t size) {
  TensorType type = b.type(dy);
  type.shape[static_cast<size_t>(axis)] = size;
  return b.op(OpKind::Scatter, {b.filled(0, type), b.indices(places), dy},
              {{"axis", Value::of_int(axis)}, {"reduce", Value::of_string("add")}});
}

} // namespace

/// Sends the gradient of a window to its largest element, or to the first of equal ones: elements
/// equal to the result are numbered from the end of the window, and the highest number is chosen.
/// The numbers are floats, which every backend compares fast. A window with a NaN has no gradient.
void max_pool2d(Reverse& r) {
  NodeBuilder& b = r.b;
  NodeId x = r.x();
  Sliding s = sliding_2d(r, r.ints("kernel"), {1, 1});
  int64_t n = b.size(x, 0), c = b.size(x, 1), h = b.size(r.dy, 2), w = b.size(r.dy, 3);
  int64_t kh = s.kernel[0], kw = s.kernel[1];
  Shape rows = places(s, 0, h, b.size(x, 2)), columns = places(s, 1, w, b.size(x, 3));
  NodeId read = b.gather(b.gather(x, b.indices(rows), 2), b.indices(columns), 3);
  NodeId windows = b.reshape(b.transpose(b.reshape(read, {n, c, h, kh, w, kw}), {0, 1, 2, 4, 3, 5}),
                             {n, c, h, w, kh * kw});
  std::vector<double> from_end;
  for (int64_t i = kh * kw; i > 0; --i) from_end.push_back(static_cast<double>(i));
  NodeId numbers = b.graph().constant(std::move(from_end), {DType::F32, {kh * kw}});
  NodeId equals = b.equal(windows, b.unsqueeze(r.node, 4));
  NodeId numbered = b.select(equals, numbers, b.scalar(0, DType::F32));
  NodeId first = b.reduce(OpKind::ReduceMax, numbered, {4}, true);
  NodeId chosen = b.op(OpKind::LogicalAnd, {equals, b.equal(numbered, first)});
  NodeId spread = b.select(chosen, b.unsqueeze(r.dy, 4), b.like(r.dy, 0));
  spread = b.transpose(b.reshape(spread, {n, c, h, w, kh, kw}), {0, 1, 2, 4, 3, 5});
  spread = b.reshape(spread, {n, c, h * kh, w * kw});
  spread = added_at(b, spread, 3, columns, b.size(x, 3));
  r.add_gradient(0, added_at(b, spread, 2, rows, b.size(x, 2)));
}

/// Treats each channel separately, with a kernel of ones.
void avg_pool2d(Reverse& r) {
  NodeBuilder& b = r.b;
  NodeId x = r.x();
  Sliding s = sliding_2d(r, r.ints("kernel"), {1, 1});
  NodeId dy = r.dy;
  for (size_t i = 0; i < 2; ++i) {
    std::vector<double> counts;
    for (int64_t at = 0; at < b.shape(dy)[2 + i]; ++at) {
      int64_t first = at * s.stride[i] - s.before[i], last = first + s.kernel[i];
      bool all = r.number("count_padding") != 0;
      counts.push_back(static_cast<double>(
          all ? s.kernel[i] : std::min(last, b.shape(x)[2 + i]) - std::max<int64_t>(first, 0)));
    }
    if (llvm::is_splat(counts)) counts.resize(1);
    TensorType type{b.dtype(x), {static_cast<int64_t>(counts.size())}};
    if (i == 0) type.shape.push_back(1);
    dy = b.div(dy, b.graph().constant(std::move(counts), type));
  }
  int64_t images = b.size(x, 0) * b.size(x, 1);
  dy = b.reshape(dy, {images, 1, b.size(dy, 2), b.size(dy, 3)});
  NodeId ones = b.filled(1, {b.dtype(x), {1, 1, s.kernel[0], s.kernel[1]}});
  r.add_gradient(0, b.reshape(image_gradient_2d(b, dy, ones, s, sizes_of(b, x), 1), b.shape(x)));
}

/// The transpose of each axis's taps: each tap adds its weight times the gradient of its result
/// element to the element that it reads.
void resize(Reverse& r) {
  NodeBuilder& b = r.b;
  Resize resize(b.graph().attr_values(r.node), b.shape(r.x()));
  NodeId dy = r.dy;
  for (size_t i = 0; i < resize.axes.size(); ++i) {
    if (resize.axes[i].is_kept()) continue;
    auto axis = static_cast<int64_t>(resize.first_axis + i);
    AxisTaps taps = axis_taps(resize.how, resize.axes[i]);
    if (taps.places.empty()) return r.add_gradient(0, b.filled(0, b.type(r.x())));
    Shape results;
    for (int64_t at = 0; at < taps.results(); ++at)
      results.append(static_cast<size_t>(taps.count(at)), at);
    TensorType type{b.dtype(dy), Shape(static_cast<size_t>(b.rank(dy) - axis), 1)};
    type.shape[0] = static_cast<int64_t>(results.size());
    dy = b.gather(dy, b.indices(results), axis);
    if (!taps.is_selection()) dy = b.mul(dy, b.graph().constant(std::move(taps.weights), type));
    dy = added_at(b, dy, axis, taps.places, resize.axes[i].in);
  }
  r.add_gradient(0, dy);
}

} // namespace tg::grad
