// Conv and ConvTranspose over one to three axes. One axis is an image of height 1. A transposed
// convolution over three axes is a convolution of the image with zeros between its elements, by the
// flipped kernel.
#include "compiler/import/onnx/read/shared/windows.h"

namespace tg::onnx {
namespace {

/// The operands and attributes that both operators share. Invalid after a failure.
struct Operands {
  NodeId x, w, bias;
  int64_t groups = 1;
  Shape image, kernel;
};

Operands read_operands(Call& call) {
  Emitter& emit = call.emit();
  Operands in{call.input(0), call.input(1), call.optional(2), call.whole("group", 1), {}, {}};
  if (call.failed()) return in;
  in.bias = call.has(2) ? in.bias : emit.none();
  if (emit.rank(in.x) < 3 || emit.rank(in.x) > 5 || emit.rank(in.w) != emit.rank(in.x)) {
    call.fail("it takes images and a kernel of one to three axes, got " + emit.type(in.x).text() +
              " and " + emit.type(in.w).text());
    return in;
  }
  if (in.groups < 1) call.fail("its attribute `group` is " + llvm::Twine(in.groups));
  Ints image = emit.shape(in.x).drop_front(2);
  in.image.assign(image.begin(), image.end());
  in.kernel = read_kernel(call, emit.shape(in.w).drop_front(2));
  return in;
}

/// Returns one number for each axis of a window.
template <class Get> Shape of_each(const SlidingWindows& windows, Get get) {
  Shape numbers;
  for (const SlidingWindow& window : windows) numbers.push_back(get(window));
  return numbers;
}

Shape pads_of(const SlidingWindows& windows) {
  Shape pads = of_each(windows, [](const SlidingWindow& w) { return w.before; });
  for (const SlidingWindow& window : windows) pads.push_back(window.after);
  return pads;
}

/// Adds conv2d or conv3d, by the number of axes.
NodeId convolve(Call& call, NodeId x, NodeId w, NodeId bias, const SlidingWindows& windows) {
  Emitter& emit = call.emit();
  OpKind op = windows.size() == 2 ? OpKind::Conv2d : OpKind::Conv3d;
  llvm::SmallVector<NodeId, 4> operands = {x, w, bias};
  if (op == OpKind::Conv2d) operands.push_back(emit.none());
  Shape strides = of_each(windows, [](const SlidingWindow& w) { return w.stride; });
  Shape dilations = of_each(windows, [](const SlidingWindow& w) { return w.dilation; });
  return emit.op(op, operands,
                 {{"stride", Value::of_ints(strides)},
                  {"pad", Value::of_ints(pads_of(windows))},
                  {"dilation", Value::of_ints(dilations)}});
}

void convolution(Call& call) {
  Emitter& emit = call.emit();
  Operands in = read_operands(call);
  if (call.failed()) return;
  SlidingWindows windows = read_windows(call, in.image, in.kernel);
  if (call.failed()) return;
  int64_t channels = emit.shape(in.x)[1], of_group = emit.shape(in.w)[1];
  if (of_group > channels || of_group * in.groups != channels) {
    call.fail("its attribute `group` is " + llvm::Twine(in.groups) + ", for " +
              emit.type(in.x).text() + " and " + emit.type(in.w).text());
    return;
  }
  if (windows.size() != 1) return call.result(convolve(call, in.x, in.w, in.bias, windows));
  windows.insert(windows.begin(), trivial_window(1));
  NodeId made = convolve(call, emit.unsqueeze(in.x, 2), emit.unsqueeze(in.w, 2), in.bias, windows);
  call.result(emit.squeeze(made, 2));
}

// --- transposed -------------------------------------------------------------------------------

/// Along one axis: every element of the image starts a window of the result.
struct TransposedWindow {
  int64_t size = 1, kernel = 1, stride = 1, dilation = 1;
  int64_t before = 0, after = 0; // cut off the result
  int64_t extra = 0;             // appended to the result

  int64_t extent() const { return (kernel - 1) * dilation + 1; }
  int64_t uncut() const { return (size - 1) * stride + extent() + extra; }
};
using TransposedWindows = llvm::SmallVector<TransposedWindow, 3>;

/// Cuts the result to `out` elements. If elements must be added, runtimes agree only on one at the
/// end.
bool cut_to(Call& call, TransposedWindow& window, int64_t out, AutoPad pad) {
  int64_t total = window.uncut() - out;
  if (total < (pad == AutoPad::SameUpper ? 0 : -1) || out < 1) {
    call.fail("a result of " + llvm::Twine(out) + " is not part of the " +
              llvm::Twine(window.uncut()) + " that its windows cover");
    return false;
  }
  int64_t less = std::max<int64_t>(total, 0) / 2, more = std::max<int64_t>(total, 0) - less;
  window.before = pad == AutoPad::SameUpper ? less : more;
  window.after = total - window.before;
  return true;
}

TransposedWindows read_transposed(Call& call, const Operands& in) {
  size_t axes = in.image.size();
  Shape strides = read_numbers(call, "strides", axes, 1, 1);
  Shape dilations = read_numbers(call, "dilations", axes, 1, 1);
  Shape pads = read_numbers(call, "pads", 2 * axes, 0, 0);
  Shape extra = read_numbers(call, "output_padding", axes, 0, 0);
  Shape sizes = read_numbers(call, "output_shape", axes, 1, 0); // 0: determined by the others
  AutoPad pad = read_auto_pad(call);
  bool same = pad == AutoPad::SameUpper || pad == AutoPad::SameLower;
  if (pad != AutoPad::NotSet && llvm::any_of(pads, [](int64_t n) { return n != 0; }))
    call.fail("it has both `pads` and `auto_pad`");
  TransposedWindows windows;
  for (size_t i = 0; i < axes && !call.failed(); ++i) {
    if (in.image[i] > kMaxElements / strides[i]) {
      call.fail("its result is too large");
      return {};
    }
    TransposedWindow window{in.image[i], in.kernel[i],   strides[i], dilations[i],
                            pads[i],     pads[axes + i], extra[i]};
    int64_t size = sizes[i] > 0 ? sizes[i] : same ? in.image[i] * strides[i] : 0;
    if (size > 0 && !cut_to(call, window, size, pad)) return {};
    // Elements that are appended and cut off again cancel.
    int64_t cut = window.after - window.extra;
    window.after = std::max<int64_t>(cut, 0);
    window.extra = std::max<int64_t>(-cut, 0);
    windows.push_back(window);
  }
  return windows;
}

NodeId convolve_transposed(Call& call, NodeId x, NodeId w, NodeId bias, int64_t groups,
                           const TransposedWindow& high, const TransposedWindow& wide) {
  return call.emit().op(
      OpKind::ConvTranspose2d, {x, w, bias},
      {{"stride", Value::of_ints({high.stride, wide.stride})},
       {"pad", Value::of_ints({high.before, wide.before, high.after, wide.after})},
       {"output_padding", Value::of_ints({high.extra, wide.extra})},
       {"dilation", Value::of_ints({high.dilation, wide.dilation})},
       {"groups", Value::of_int(groups)}});
}

/// Returns x[N, C, D, H, W] with stride - 1 zeros between its elements.
NodeId spread(Emitter& emit, NodeId x, const TransposedWindows& windows) {
  if (llvm::all_of(windows, [](const TransposedWindow& w) { return w.stride == 1; })) return x;
  Shape apart(emit.shape(x).begin(), emit.shape(x).begin() + 2), zeros(2, 0), joined = apart;
  for (const TransposedWindow& window : windows) {
    apart.append({window.size, 1});
    zeros.append({0, window.stride - 1});
    joined.push_back(window.size * window.stride);
  }
  NodeId padded = emit.pad(emit.reshape(x, apart), Shape(zeros.size(), 0), zeros);
  NodeId made = emit.reshape(padded, joined);
  for (size_t i = 0; i < windows.size(); ++i)
    made = emit.slice(made, static_cast<int64_t>(i) + 2, 0,
                      (windows[i].size - 1) * windows[i].stride + 1);
  return made;
}

/// Converts w[C, O / groups, kd, kh, kw] to the kernel of a convolution:
/// [O, C / groups, kd, kh, kw], flipped.
NodeId turned_kernel(Emitter& emit, NodeId w, int64_t groups) {
  Ints shape = emit.shape(w), kernel = shape.drop_front(2);
  Shape apart = {groups, shape[0] / groups, shape[1]},
        joined = {groups * shape[1], shape[0] / groups};
  apart.append(kernel.begin(), kernel.end());
  joined.append(kernel.begin(), kernel.end());
  NodeId made = emit.reshape(emit.swap_axes(emit.reshape(w, apart), 1, 2), joined);
  for (int64_t axis = 2; axis < 5; ++axis) made = emit.reverse(made, axis);
  return made;
}

NodeId convolve_transposed_3d(Call& call, const Operands& in, const TransposedWindows& windows) {
  Emitter& emit = call.emit();
  NodeId x = spread(emit, in.x, windows);
  SlidingWindows turned;
  for (size_t i = 0; i < windows.size() && x.valid(); ++i) {
    const TransposedWindow& from = windows[i];
    auto axis = static_cast<int64_t>(i) + 2;
    int64_t size = emit.shape(x)[static_cast<size_t>(axis)];
    int64_t before = from.extent() - 1 - from.before;
    int64_t after = from.extent() - 1 - from.after + from.extra;
    int64_t first = std::max<int64_t>(-before, 0), end = size - std::max<int64_t>(-after, 0);
    if (first >= end) return call.fail("its padding leaves no result");
    x = emit.slice(x, axis, first, end);
    turned.push_back({end - first, from.kernel, 1, from.dilation, std::max<int64_t>(before, 0),
                      std::max<int64_t>(after, 0), 0});
  }
  return convolve(call, x, turned_kernel(emit, in.w, in.groups), in.bias, turned);
}

void transposed_convolution(Call& call) {
  Emitter& emit = call.emit();
  Operands in = read_operands(call);
  if (call.failed()) return;
  TransposedWindows windows = read_transposed(call, in);
  int64_t channels = emit.shape(in.x)[1];
  if (!call.failed() && (emit.shape(in.w)[0] != channels || channels % in.groups != 0))
    call.fail("its attribute `group` is " + llvm::Twine(in.groups) + ", for " +
              emit.type(in.x).text() + " and " + emit.type(in.w).text());
  if (call.failed()) return;
  if (windows.size() == 3) return call.result(convolve_transposed_3d(call, in, windows));
  if (windows.size() == 2)
    return call.result(
        convolve_transposed(call, in.x, in.w, in.bias, in.groups, windows[0], windows[1]));
  NodeId made = convolve_transposed(call, emit.unsqueeze(in.x, 2), emit.unsqueeze(in.w, 2), in.bias,
                                    in.groups, TransposedWindow{}, windows[0]);
  call.result(emit.squeeze(made, 2));
}

} // namespace

llvm::ArrayRef<Form> convolution_forms() {
  static constexpr Form kForms[] = {
      {"Conv", convolution},
      {"ConvTranspose", transposed_convolution},
  };
  return kForms;
}

} // namespace tg::onnx
