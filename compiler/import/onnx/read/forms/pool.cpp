// Pools over one or more axes. Windows are boxes, so a pool takes the last two axes in one pass and
// each other axis in a separate pass.
//
// A window of a maximum may extend into the padding, which never wins. A mean divides by the number
// of window elements in the image, or in the padded image. With ceil_mode, windows may extend
// further; elements there do not count.
#include "compiler/import/onnx/read/forms/roi_align.h"
#include "compiler/import/onnx/read/shared/windows.h"

#include <cmath>
#include <numeric>

namespace tg::onnx {
namespace {

using Pass =
    llvm::function_ref<NodeId(NodeId image, const SlidingWindow& high, const SlidingWindow& wide)>;

/// Limit on windows along one axis if each is examined.
constexpr int64_t kMostWindows = int64_t{1} << 24;

/// Returns the product of axes from `from` up to `to`, exclusive.
int64_t product(Ints shape, int64_t from, int64_t to) {
  auto start = shape.begin();
  return std::accumulate(start + from, start + to, int64_t{1}, std::multiplies<>());
}

/// Treats x[N, C, ..] as images [N, rows, H, W], pass by pass.
NodeId in_passes(Emitter& emit, NodeId x, const SlidingWindows& windows, Pass pass) {
  if (!x.valid()) return x;
  Shape shape(emit.shape(x).begin(), emit.shape(x).end());
  int64_t rank = emit.rank(x);
  for (int64_t axis = rank - 1; axis >= 2; --axis) {
    bool pair = axis == rank - 1 && axis > 2;
    const SlidingWindow& last = windows[static_cast<size_t>(axis - 2)];
    int64_t behind = product(shape, axis + 1, rank);
    SlidingWindow high = trivial_window(1), wide = last;
    if (pair) high = windows[static_cast<size_t>(axis - 3)];
    if (!pair && behind > 1) high = last, wide = trivial_window(behind);
    if (pair) --axis;
    if (high.is_trivial() && wide.is_trivial()) continue;
    Shape image = {shape[0], product(shape, 1, axis), high.size, wide.size};
    x = pass(emit.reshape(x, image), high, wide);
    if (pair) shape[static_cast<size_t>(axis)] = high.out;
    shape[static_cast<size_t>(axis + pair)] = last.out;
    x = emit.reshape(x, shape);
  }
  return x;
}

/// Reads x[N, C, ..] and its windows; empty after a failure.
SlidingWindows read_pool(Call& call) {
  Emitter& emit = call.emit();
  NodeId x = call.input(0);
  if (call.failed()) return {};
  if (emit.rank(x) < 3) {
    call.fail("it takes an image x[N, C, ..], got " + emit.type(x).text());
    return {};
  }
  Ints image = emit.shape(x).drop_front(2);
  Shape kernel = read_numbers(call, "kernel_shape", image.size(), 1, 0);
  int64_t ceil_mode = call.whole("ceil_mode", 0);
  if (call.failed()) return {};
  SlidingWindows windows = read_windows(call, image, kernel, ceil_mode != 0);
  AutoPad pad = read_auto_pad(call);
  bool same = pad == AutoPad::SameUpper || pad == AutoPad::SameLower;
  for (const SlidingWindow& window : windows) {
    if (window.out > kMostWindows) call.fail("its result is too large");
    if (same && window.is_dilated())
      call.fail("runtimes disagree on `auto_pad` SAME with dilated windows: some pad for the "
                "windows and some for "
                "their elements");
    // The formula gives negative padding; some runtimes ignore it, others crop by it.
    if (same && window.start(window.out - 1) + window.extent() + 1 < window.size)
      call.fail("its windows do not reach the end (`auto_pad` SAME), so it is undefined where "
                "they start");
  }
  return windows;
}

/// Padding at the end of an image: up to the end of the last window, or the size in the file.
int64_t after(const SlidingWindow& window) {
  return window.after < window.reach() || window.after >= window.kernel ? window.reach()
                                                                        : window.after;
}

NodeId pool_2d(Emitter& emit, OpKind op, NodeId image, const SlidingWindow& high,
               const SlidingWindow& wide, bool count_padding) {
  llvm::SmallVector<Attribute, 4> attributes = {
      {"kernel", Value::of_ints({high.kernel, wide.kernel})},
      {"stride", Value::of_ints({high.stride, wide.stride})},
      {"pad", Value::of_ints({high.before, wide.before, after(high), after(wide)})}};
  if (op == OpKind::AvgPool2d)
    attributes.push_back({"count_padding", Value::of_bool(count_padding)});
  return emit.op(op, {image}, attributes);
}

/// Rejects empty windows, for which a maximum or a mean of the inside is undefined.
void refuse_empty_windows(Call& call, const SlidingWindows& windows) {
  for (const SlidingWindow& window : windows)
    for (int64_t i = 0; i < window.out; ++i)
      if (window.inside(i) == 0) {
        call.fail("one of its windows contains only padding");
        return;
      }
}

// --- maximum ------------------------------------------------------------------------------------

/// Returns, for each window, the position of one of its elements; if that is outside the image, the
/// position of the window's first element inside.
Shape places_of(const SlidingWindow& window, int64_t element) {
  Shape places;
  for (int64_t i = 0; i < window.out; ++i) {
    int64_t start = window.start(i), place = start + element * window.dilation;
    int64_t skipped = start < 0 ? (-start + window.dilation - 1) / window.dilation : 0;
    bool outside = place < 0 || place >= window.size;
    places.push_back(outside ? start + skipped * window.dilation : place);
  }
  return places;
}

/// Returns true if the positions of all elements of all windows are too many for constants.
bool is_too_large(const SlidingWindow& window) { return window.kernel > kMostKnown / window.out; }

NodeId largest_along(Emitter& emit, NodeId x, int64_t axis, const SlidingWindow& window) {
  if (is_too_large(window)) return emit.fail("its kernel is too large");
  NodeId largest;
  for (int64_t element = 0; element < window.kernel; ++element) {
    NodeId taken = emit.take(x, axis, places_of(window, element));
    largest = largest.valid() ? emit.op(OpKind::Maximum, {largest, taken}) : taken;
  }
  return largest;
}

NodeId largest(Emitter& emit, NodeId image, SlidingWindow high, SlidingWindow wide) {
  int64_t axis = 2;
  for (SlidingWindow* window : {&high, &wide}) {
    if (window->is_dilated()) {
      image = largest_along(emit, image, axis, *window);
      *window = trivial_window(window->out);
    }
    ++axis;
  }
  if (high.is_trivial() && wide.is_trivial()) return image;
  return pool_2d(emit, OpKind::MaxPool2d, image, high, wide, false);
}

/// Converts x[N, C, d1, ..] to [N, C, windows, elements of a window].
NodeId window_elements(Emitter& emit, NodeId x, const SlidingWindows& windows) {
  Shape apart = {emit.shape(x)[0], emit.shape(x)[1]}, perm = {0, 1};
  auto axes = static_cast<int64_t>(windows.size());
  int64_t count = 1, elements = 1;
  for (int64_t axis = 0; axis < axes; ++axis) {
    const SlidingWindow& window = windows[static_cast<size_t>(axis)];
    Shape places;
    llvm::SmallVector<Shape, 8> of_element;
    for (int64_t k = 0; k < window.kernel; ++k) of_element.push_back(places_of(window, k));
    for (size_t i = 0; i < static_cast<size_t>(window.out); ++i)
      for (const Shape& of : of_element) places.push_back(of[i]);
    x = emit.take(x, axis + 2, places);
    apart.append({window.out, window.kernel});
    perm.push_back(2 + 2 * axis);
    count *= window.out;
    elements *= window.kernel;
  }
  for (int64_t axis = 0; axis < axes; ++axis) perm.push_back(3 + 2 * axis);
  return emit.reshape(emit.transpose(emit.reshape(x, apart), perm),
                      {apart[0], apart[1], count, elements});
}

NodeId times(Emitter& emit, NodeId x, int64_t factor) {
  return factor == 1 ? x : emit.mul(x, static_cast<double>(factor));
}

/// One axis of a space with row-major positions.
struct Digit {
  int64_t base = 1;  // size of the axis
  int64_t inner = 1; // size of the axes after it
  bool first = false;

  NodeId of(Emitter& emit, NodeId number) const {
    if (inner > 1) number = emit.div(number, static_cast<double>(inner));
    if (first) return number;
    return emit.op(OpKind::Mod, {number, emit.like(number, static_cast<double>(base))});
  }
};

/// Returns the positions along one axis of the elements numbered `chosen`[N, C, windows] in
/// their windows.
NodeId place_along(Emitter& emit, NodeId chosen, const SlidingWindow& window, const Digit& element,
                   const Digit& of_window) {
  NodeId windows = emit.iota({DType::I64, {emit.shape(chosen)[2]}}, 0);
  Shape table;
  for (int64_t k = 0; k < window.kernel; ++k) table.append(places_of(window, k));
  NodeId row = times(emit, element.of(emit, chosen), window.out);
  return emit.gather(emit.indices(table), emit.add(row, of_window.of(emit, windows)), 0);
}

/// Returns the second result of MaxPool: the position in x of the first largest element of each
/// window. Positions count over all of x; the last axis counts fastest, or the first one
/// (storage_order 1).
NodeId largest_indices(Call& call, NodeId x, const SlidingWindows& windows, bool first_fastest) {
  Emitter& emit = call.emit();
  if (windows.size() > 3) return call.fail("indices are supported only for one to three axes");
  for (const SlidingWindow& window : windows)
    if (is_too_large(window)) return call.fail("its kernel is too large");
  NodeId chosen =
      emit.op(OpKind::Argmax, {window_elements(emit, x, windows)}, {{"axis", Value::of_int(3)}});
  if (!chosen.valid()) return chosen;
  Ints shape = emit.shape(x);
  int64_t images = shape[0] * shape[1];
  Digit element, of_window;
  NodeId index;
  Shape result(shape.begin(), shape.begin() + 2);
  for (const SlidingWindow& window : windows) result.push_back(window.out);
  for (size_t axis = windows.size(); axis-- > 0;) {
    const SlidingWindow& window = windows[axis];
    auto at = static_cast<int64_t>(axis) + 2;
    int64_t step = first_fastest ? product(shape, 2, at) : product(shape, at + 1, emit.rank(x));
    element.base = window.kernel, of_window.base = window.out;
    element.first = of_window.first = axis == 0;
    NodeId place = times(emit, place_along(emit, chosen, window, element, of_window), step);
    index = index.valid() ? emit.add(index, place) : place;
    element.inner *= window.kernel, of_window.inner *= window.out;
  }
  if (images > 1) {
    NodeId image = emit.reshape(emit.iota({DType::I64, {images}}, 0), {shape[0], shape[1], 1});
    index = emit.add(index, times(emit, image, product(shape, 2, emit.rank(x))));
  }
  return emit.reshape(index, result);
}

void max_pool(Call& call) {
  Emitter& emit = call.emit();
  int64_t order = call.whole("storage_order", 0);
  SlidingWindows windows = read_pool(call);
  if (call.failed()) return;
  refuse_empty_windows(call, windows);
  if (call.failed()) return;
  NodeId x = call.input(0);
  auto pass = [&](NodeId image, const SlidingWindow& high, const SlidingWindow& wide) {
    return largest(emit, image, high, wide);
  };
  call.result(in_passes(emit, x, windows, pass));
  if (call.uses_result(1)) call.result(1, largest_indices(call, x, windows, order != 0));
}

/// Puts the elements of a MaxPool back in their positions, with zeros between them.
void max_unpool(Call& call) {
  Emitter& emit = call.emit();
  NodeId x = call.input(0), indices = call.input(1);
  if (call.failed()) return;
  const TensorType type = emit.type(x);
  size_t axes = type.shape.size() < 2 ? 0 : type.shape.size() - 2;
  Shape kernel = read_numbers(call, "kernel_shape", axes, 1, 0);
  Shape strides = read_numbers(call, "strides", axes, 1, 1);
  Shape pads = read_numbers(call, "pads", 2 * axes, 0, 0);
  Shape given = call.has(2) ? call.known_wholes(2) : Shape();
  if (call.failed()) return;
  if (emit.shape(indices) != Ints(type.shape)) {
    call.fail("it takes as many indices as elements, got " + emit.type(indices).text() + " for " +
              type.text());
    return;
  }
  TensorType result = type;
  for (size_t i = 0; i < axes; ++i)
    result.shape[i + 2] = (type[i + 2] - 1) * strides[i] + kernel[i] - pads[i] - pads[axes + i];
  // Some runtimes count indices over the given size, some over that of the windows.
  if (call.has(2) && given != result.shape)
    call.fail("a size of " + text_of(given) + " where windows give " + text_of(result.shape) +
              " makes the meaning of its indices ambiguous");
  if (llvm::any_of(result.shape, [](int64_t size) { return size < 1 || size > kMostWindows; }))
    call.fail("a result of " + text_of(result.shape));
  if (call.failed()) return;
  int64_t count = type.elements();
  NodeId zeros = emit.filled(0, {type.dtype, {product(result.shape, 0, result.rank())}});
  NodeId made =
      emit.op(OpKind::Scatter, {zeros, emit.reshape(indices, {count}), emit.reshape(x, {count})});
  call.result(emit.reshape(made, result.shape));
}

// --- mean and sum -------------------------------------------------------------------------------

/// The divisor of the sum over a window.
enum class Divisor : uint8_t { One, Inside, Padded };

/// Multiplies x, an image [N, C, H, W], by a factor for each position along the axis.
NodeId scale_along(Emitter& emit, NodeId x, int64_t axis, std::vector<double> factors) {
  if (!x.valid() || llvm::all_of(factors, [](double f) { return f == 1; })) return x;
  TensorType type{emit.dtype(x), {static_cast<int64_t>(factors.size())}};
  if (axis == 2) type.shape.push_back(1);
  if (llvm::all_of(factors, [&](double f) { return f == factors[0]; }))
    return emit.mul(x, factors[0]);
  return emit.mul(x, emit.literal({type, {}, std::move(factors)}));
}

/// Sums over dilated windows by a convolution of each channel by itself with ones.
NodeId sums_of_dilated(Emitter& emit, NodeId image, const SlidingWindow& high,
                       const SlidingWindow& wide) {
  if (!image.valid()) return image;
  Ints shape = emit.shape(image);
  NodeId ones = emit.filled(1, {emit.dtype(image), {1, 1, high.kernel, wide.kernel}});
  NodeId channels = emit.reshape(image, {shape[0] * shape[1], 1, shape[2], shape[3]});
  NodeId sums =
      emit.op(OpKind::Conv2d, {channels, ones, emit.none(), emit.none()},
              {{"stride", Value::of_ints({high.stride, wide.stride})},
               {"pad", Value::of_ints({high.before, wide.before, high.reach(), wide.reach()})},
               {"dilation", Value::of_ints({high.dilation, wide.dilation})}});
  return emit.reshape(sums, {emit.shape(image)[0], emit.shape(image)[1], high.out, wide.out});
}

NodeId mean(Emitter& emit, NodeId image, const SlidingWindow& high, const SlidingWindow& wide,
            Divisor divisor) {
  bool dilated = high.is_dilated() || wide.is_dilated();
  NodeId made =
      dilated ? sums_of_dilated(emit, image, high, wide)
              : pool_2d(emit, OpKind::AvgPool2d, image, high, wide, divisor != Divisor::Inside);
  if (!dilated && divisor == Divisor::Inside) return made;
  int64_t axis = 2;
  for (const SlidingWindow* window : {&high, &wide}) {
    std::vector<double> factors;
    for (int64_t i = 0; i < window->out; ++i) {
      int64_t count = divisor == Divisor::One ? 1
                      : divisor == Divisor::Inside
                          ? window->inside(i)
                          : window->count(i, -window->before, window->size + window->after);
      int64_t divided = dilated ? 1 : window->kernel; // the operator divides by it
      factors.push_back(static_cast<double>(divided) / static_cast<double>(count));
    }
    made = scale_along(emit, made, axis++, std::move(factors));
  }
  return made;
}

NodeId mean_of_windows(Emitter& emit, NodeId x, const SlidingWindows& windows, Divisor divisor) {
  return in_passes(emit, x, windows,
                   [&](NodeId image, const SlidingWindow& high, const SlidingWindow& wide) {
                     return mean(emit, image, high, wide, divisor);
                   });
}

void average_pool(Call& call) {
  bool count_padding = flag(call, "count_include_pad", false);
  SlidingWindows windows = read_pool(call);
  if (call.failed()) return;
  if (!count_padding) refuse_empty_windows(call, windows);
  if (call.failed()) return;
  call.result(mean_of_windows(call.emit(), call.input(0), windows,
                              count_padding ? Divisor::Padded : Divisor::Inside));
}

/// |x| to the power of p, before the sums, and the inverse.
NodeId to_power(Emitter& emit, NodeId x, int64_t p) {
  if (p == 2) return emit.mul(x, x);
  NodeId size = emit.unary(OpKind::Abs, x);
  return p == 1 ? size : emit.op(OpKind::Pow, {size, emit.like(size, static_cast<double>(p))});
}
NodeId to_root(Emitter& emit, NodeId sums, int64_t p) {
  if (p == 1) return sums;
  if (p == 2) return emit.unary(OpKind::Sqrt, sums);
  return emit.op(OpKind::Pow, {sums, emit.like(sums, 1 / static_cast<double>(p))});
}

int64_t read_p(Call& call) {
  int64_t p = call.whole("p", 2);
  if (p < 1) call.fail("its attribute `p` is " + llvm::Twine(p));
  return p;
}

void lp_pool(Call& call) {
  Emitter& emit = call.emit();
  int64_t p = read_p(call);
  SlidingWindows windows = read_pool(call);
  if (call.failed()) return;
  NodeId powers = to_power(emit, call.input(0), p);
  call.result(to_root(emit, mean_of_windows(emit, powers, windows, Divisor::One), p));
}

// --- of whole images ----------------------------------------------------------------------------

/// Returns the axes after N and C.
Shape image_axes(Call& call, NodeId x) {
  if (!x.valid()) return {};
  int64_t rank = call.emit().rank(x);
  if (rank < 3) call.fail("it takes an image x[N, C, ..], got " + call.emit().type(x).text());
  Shape axes;
  for (int64_t axis = 2; axis < rank; ++axis) axes.push_back(axis);
  return axes;
}

template <OpKind op> void global_pool(Call& call) {
  NodeId x = call.input(0);
  call.result(call.emit().reduce(op, x, image_axes(call, x), true));
}

void global_lp_pool(Call& call) {
  Emitter& emit = call.emit();
  NodeId x = call.input(0);
  int64_t p = read_p(call);
  call.result(to_root(emit, emit.sum(to_power(emit, x, p), image_axes(call, x)), p));
}

} // namespace

llvm::ArrayRef<Form> pool_forms() {
  static constexpr Form kForms[] = {
      {"AveragePool", average_pool},
      {"GlobalAveragePool", global_pool<OpKind::ReduceMean>},
      {"GlobalLpPool", global_lp_pool},
      {"GlobalMaxPool", global_pool<OpKind::ReduceMax>},
      {"LpPool", lp_pool},
      {"MaxPool", max_pool},
      {"MaxUnpool", max_unpool},
      {"RoiAlign", roi_align},
  };
  return kForms;
}

} // namespace tg::onnx
