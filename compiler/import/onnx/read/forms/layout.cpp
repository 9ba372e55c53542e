// Operators that move elements: transposition, concatenation, slices, padding, triangles.
#include "compiler/import/onnx/read/shared/windows.h"

#include <llvm/ADT/DenseSet.h>

#include <algorithm>
#include <numeric>

namespace tg::onnx {
namespace {

using Kind = FileValue::Kind;

void transpose(Call& call) {
  TensorType type = call.type(0);
  Shape perm(static_cast<size_t>(type.rank()));
  std::iota(perm.rbegin(), perm.rend(), 0);
  if (std::optional<Shape> given = call.wholes("perm")) perm = *given;
  if (static_cast<int64_t>(perm.size()) != type.rank()) {
    call.fail("its permutation is of " + llvm::Twine(perm.size()) + " axes, not " +
              llvm::Twine(type.rank()));
    return;
  }
  perm = call.axes(perm, type.rank());
  if (call.failed()) return;
  llvm::SmallDenseSet<int64_t> distinct(perm.begin(), perm.end());
  if (distinct.size() != perm.size()) {
    call.fail("its permutation " + text_of(perm) + " takes an axis twice");
    return;
  }
  if (call.value(0).is(Kind::Empty)) {
    Shape to;
    for (int64_t axis : perm) to.push_back(type[static_cast<size_t>(axis)]);
    return call.result(0, FileValue::empty({type.dtype, to}));
  }
  call.result(call.emit().transpose(call.input(0), perm));
}

/// Tensors without elements add nothing.
void concat(Call& call) {
  llvm::SmallVector<NodeId, 4> parts;
  int64_t rank = 0;
  TensorType last;
  for (size_t i = 0; i < call.input_count(); ++i) {
    last = call.type(i);
    rank = last.rank();
    if (!call.value(i).is(Kind::Empty)) parts.push_back(call.input(i));
  }
  int64_t axis = call.axis(call.whole("axis"), rank);
  if (call.failed()) return;
  if (parts.empty()) return call.result(0, FileValue::empty(last));
  call.result(call.emit().concat(parts, axis));
}

// --- pieces --------------------------------------------------------------------------------------

std::optional<Shape> split_sizes(Call& call, int64_t size) {
  if (call.version() < 13) {
    if (std::optional<Shape> given = call.wholes("split")) return given;
  } else if (call.has(1)) {
    return call.known_wholes(1);
  }
  int64_t parts = static_cast<int64_t>(call.result_count());
  if (call.version() >= 18) parts = call.whole("num_outputs", parts);
  if (parts < 1) {
    call.fail("it is split into " + llvm::Twine(parts) + " parts");
    return std::nullopt;
  }
  int64_t chunk = (size + parts - 1) / parts;
  Shape sizes;
  for (int64_t i = 0; i < parts; ++i)
    sizes.push_back(std::max<int64_t>(std::min(chunk, size - i * chunk), 0));
  return sizes;
}

void split(Call& call) {
  TensorType type = call.type(0);
  int64_t axis = call.axis(call.whole("axis", 0), type.rank());
  if (call.failed()) return;
  int64_t size = type[static_cast<size_t>(axis)], start = 0;
  std::optional<Shape> sizes = split_sizes(call, size);
  if (!sizes || call.failed()) return;
  for (int64_t n : *sizes)
    if (n < 0) {
      call.fail("a piece of the size " + llvm::Twine(n));
      return;
    }
  if (std::accumulate(sizes->begin(), sizes->end(), int64_t{0}) != size) {
    call.fail("its sizes do not add up to " + llvm::Twine(size));
    return;
  }
  for (size_t i = 0; i < sizes->size(); ++i) {
    int64_t n = (*sizes)[i];
    TensorType piece = type;
    piece.shape[static_cast<size_t>(axis)] = n;
    if (llvm::is_contained(piece.shape, 0))
      call.result(i, FileValue::empty(piece));
    else
      call.result(i, call.emit().slice(call.input(0), axis, start, start + n));
    start += n;
  }
}

/// Starts, ends, axes and steps: attributes before opset 10, then inputs.
struct SliceOf {
  Shape starts, ends, axes, steps;
};

SliceOf given_slice(Call& call, int64_t rank) {
  SliceOf of;
  std::optional<Shape> axes;
  if (call.version() < 10) {
    of.starts = call.wholes("starts").value_or(Shape());
    of.ends = call.wholes("ends").value_or(Shape());
    axes = call.wholes("axes");
  } else {
    of.starts = call.known_wholes(1);
    of.ends = call.known_wholes(2);
    if (call.has(3)) axes = call.known_wholes(3);
    if (call.has(4)) of.steps = call.known_wholes(4);
  }
  if (!axes) {
    axes.emplace(of.starts.size());
    std::iota(axes->begin(), axes->end(), 0);
  }
  of.axes = call.axes(*axes, rank);
  if (of.steps.empty()) of.steps.assign(of.starts.size(), 1);
  if (of.ends.size() != of.starts.size() || of.axes.size() != of.starts.size() ||
      of.steps.size() != of.starts.size())
    call.fail("its starts, ends, axes and steps differ in number");
  return of;
}

/// Returns the positions of a slice of an axis, by NumPy's rules.
Shape places_of(int64_t start, int64_t end, int64_t step, int64_t size) {
  auto place = [&](int64_t at, int64_t low, int64_t high) {
    if (at < 0) at = at < -size ? low : at + size;
    return std::clamp(at, low, high);
  };
  Shape places;
  if (step > 0)
    for (int64_t i = place(start, 0, size), stop = place(end, 0, size); i < stop; i += step)
      places.push_back(i);
  else if (step < 0) {
    int64_t stop = end < -size ? -1 : place(end, -1, size - 1);
    for (int64_t i = place(start, -1, size - 1); i > stop; i += step) places.push_back(i);
  }
  return places;
}

/// Slices along one axis with a start and an end that depend on data: padded to the largest number.
void slice_of_data(Call& call) {
  Emitter& e = call.emit();
  NodeId x = call.input(0), start = call.input(1), end = call.input(2);
  Shape axes = call.has(3) ? call.known_wholes(3) : Shape{0};
  Shape steps = call.has(4) ? call.known_wholes(4) : Shape{1};
  if (call.failed()) return;
  if (e.type(start).elements() != 1 || axes.size() != 1 || steps != Shape{1}) {
    call.fail("its start or end depends on data, which is supported only along one axis, in steps "
              "of 1");
    return;
  }
  int64_t axis = call.axis(axes[0], e.rank(x)), size = e.size(x, axis);
  auto place = [&](NodeId at) {
    at = e.cast(e.reshape(at, {}), DType::I64);
    NodeId front = e.select(e.less(at, e.like(at, 0)), e.add(at, static_cast<double>(size)), at);
    return e.op(OpKind::Maximum,
                {e.op(OpKind::Minimum, {front, e.like(at, double(size))}), e.like(at, 0)});
  };
  NodeId from = place(start),
         count = e.op(OpKind::Maximum, {e.sub(place(end), from), e.like(from, 0)});
  NodeId places = e.add(e.iota({DType::I64, {size}}, 0), from);
  places = e.op(OpKind::Minimum, {places, e.like(places, static_cast<double>(size - 1))});
  padded_result(call, 0, e.gather(x, places, axis), count, axis);
}

bool is_known(Call& call, size_t i) {
  const FileValue& value = call.value(i);
  return !value.is(FileValue::Kind::Tensor) || call.emit().known(value.node).has_value();
}

void slice(Call& call) {
  TensorType type = call.type(0);
  if (call.version() >= 10 && !(is_known(call, 1) && is_known(call, 2))) return slice_of_data(call);
  SliceOf of = given_slice(call, type.rank());
  if (call.failed()) return;
  llvm::SmallVector<Shape, 4> places;
  Shape to = type.shape;
  for (size_t i = 0; i < of.axes.size(); ++i) {
    auto axis = static_cast<size_t>(of.axes[i]);
    if (of.steps[i] == 0) {
      call.fail("a step is 0");
      return;
    }
    // A step larger than the axis takes one position.
    int64_t bound = type[axis] + 1, step = std::clamp(of.steps[i], -bound, bound);
    places.push_back(places_of(of.starts[i], of.ends[i], step, to[axis]));
    to[axis] = static_cast<int64_t>(places.back().size());
  }
  if (llvm::is_contained(to, 0)) return call.result(0, FileValue::empty({type.dtype, to}));
  NodeId x = call.input(0);
  for (size_t i = 0; i < of.axes.size(); ++i) x = call.emit().take(x, of.axes[i], places[i]);
  call.result(x);
}

// --- padding -------------------------------------------------------------------------------------

/// Padding before and after each axis.
struct Padding {
  Shape before, after;
};

std::optional<Padding> given_padding(Call& call, int64_t rank) {
  Shape pads;
  if (call.version() < 11)
    pads = call.wholes("pads").value_or(Shape());
  else
    pads = call.known_wholes(1);
  Shape axes(static_cast<size_t>(rank));
  std::iota(axes.begin(), axes.end(), 0);
  if (call.has(3)) axes = call.axes(call.known_wholes(3), rank);
  if (pads.size() != 2 * axes.size()) {
    call.fail("it has " + llvm::Twine(pads.size()) + " pads for " + llvm::Twine(axes.size()) +
              " axes");
    return std::nullopt;
  }
  Padding padding{Shape(static_cast<size_t>(rank), 0), Shape(static_cast<size_t>(rank), 0)};
  for (size_t i = 0; i < axes.size(); ++i) {
    padding.before[static_cast<size_t>(axes[i])] = pads[i];
    padding.after[static_cast<size_t>(axes[i])] = pads[i + axes.size()];
  }
  return padding;
}

/// Returns the source position of an element of a padded axis.
int64_t source_of(int64_t i, int64_t size, llvm::StringRef mode) {
  auto modulo = [](int64_t a, int64_t n) { return ((a % n) + n) % n; };
  if (mode == "edge") return std::clamp<int64_t>(i, 0, size - 1);
  if (mode == "wrap") return modulo(i, size);
  if (size == 1) return 0;
  int64_t there = modulo(i, 2 * size - 2); // reflect
  return there < size ? there : 2 * size - 2 - there;
}

/// Pads an axis by copies of its own elements. Each copy is an index written in the model. For a
/// long axis its own elements are not, and slices are concatenated.
NodeId padded_axis(Emitter& e, NodeId x, size_t axis, const Padding& padding,
                   llvm::StringRef mode) {
  int64_t before = padding.before[axis], after = padding.after[axis], size = e.shape(x)[axis];
  if (before > kMostKnown || after > kMostKnown)
    return e.fail("it pads an axis by more than " + llvm::Twine(kMostKnown) + " elements of it");
  auto part = [&](int64_t from, int64_t to) {
    Shape places;
    for (int64_t i = from; i < to; ++i) places.push_back(source_of(i, size, mode));
    return e.take(x, static_cast<int64_t>(axis), places);
  };
  if (size <= e.most_folded()) return part(-before, size + after);
  llvm::SmallVector<NodeId, 3> parts;
  if (before > 0) parts.push_back(part(-before, 0));
  parts.push_back(x);
  if (after > 0) parts.push_back(part(size, size + after));
  return e.concat(parts, static_cast<int64_t>(axis));
}

NodeId padded_from_within(Emitter& e, NodeId x, const Padding& padding, llvm::StringRef mode) {
  for (size_t axis = 0; x.valid() && axis < padding.before.size(); ++axis)
    if (padding.before[axis] != 0 || padding.after[axis] != 0)
      x = padded_axis(e, x, axis, padding, mode);
  return x;
}

/// Applies negative pads as a crop.
NodeId cropped(Emitter& e, NodeId x, Padding& padding) {
  if (!x.valid()) return x;
  for (size_t axis = 0; axis < padding.before.size(); ++axis) {
    int64_t size = e.shape(x)[axis];
    int64_t start = std::max<int64_t>(-padding.before[axis], 0);
    int64_t stop = size - std::max<int64_t>(-padding.after[axis], 0);
    x = e.slice(x, static_cast<int64_t>(axis), start, stop);
    if (!x.valid()) return x;
    padding.before[axis] = std::max<int64_t>(padding.before[axis], 0);
    padding.after[axis] = std::max<int64_t>(padding.after[axis], 0);
  }
  return x;
}

/// Pads with a value that depends on data; a mask separates the inside from the padding.
NodeId padded_with(Emitter& e, NodeId x, const Padding& padding, NodeId value) {
  if (!x.valid()) return x;
  TensorType ones{DType::I32, Shape(e.shape(x).begin(), e.shape(x).end())};
  NodeId inside = e.pad(e.filled(1, ones), padding.before, padding.after);
  NodeId mask = e.equal(inside, e.like(inside, 1));
  return e.select(mask, e.pad(x, padding.before, padding.after), e.reshape(value, {}));
}

void pad(Call& call) {
  Emitter& e = call.emit();
  std::string mode = call.text("mode", "constant");
  NodeId x = call.input(0);
  if (!x.valid()) return;
  std::optional<Padding> padding = given_padding(call, e.rank(x));
  if (!padding || call.failed()) return;
  Value value = Value::of_float(call.version() < 11 ? call.real("value", 0) : 0);
  NodeId given = call.version() < 11 ? NodeId() : call.optional(2);
  x = cropped(e, x, *padding);
  if (mode != "constant") {
    if (mode != "edge" && mode != "reflect" && mode != "wrap")
      call.fail("padding by `" + mode + "` is unknown");
    return call.result(padded_from_within(e, x, *padding, mode));
  }
  if (given.valid()) {
    std::optional<Literal> known = e.known(given);
    if (!known) return call.result(padded_with(e, x, *padding, given));
    value = known->is_whole() ? Value::of_int(known->ints[0]) : Value::of_float(known->reals[0]);
  }
  // Padding that follows from sizes is 0 for some of them only.
  bool open = call.version() >= 11 && e.depends_on_sizes(call.input(1));
  call.result(open ? e.op(OpKind::Pad, {x},
                          {{"before", Value::of_ints(padding->before)},
                           {"after", Value::of_ints(padding->after)},
                           {"value", value}})
                   : e.pad(x, padding->before, padding->after, value));
}

// --- triangles -----------------------------------------------------------------------------------

void trilu(Call& call) {
  Emitter& e = call.emit();
  if (call.value(0).is(Kind::Empty)) {
    ignore(call, "upper");
    (void)call.value(1);
    return call.result(0, call.value(0));
  }
  NodeId x = call.input(0);
  bool upper = flag(call, "upper", true);
  int64_t k = call.has(1) ? call.known_whole(1) : 0;
  if (call.failed()) return;
  if (e.rank(x) < 2) {
    call.fail("its input is not a matrix");
    return;
  }
  Shape last(e.shape(x).end() - 2, e.shape(x).end());
  TensorType index{DType::I64, last};
  // Keeps column - row >= k (upper) or <= k (lower).
  NodeId rows = e.add(e.iota(index, 0), e.literal({{DType::I64, {}}, {k}, {}}));
  NodeId columns = e.iota(index, 1);
  NodeId kept =
      upper ? e.op(OpKind::LessEqual, {rows, columns}) : e.op(OpKind::LessEqual, {columns, rows});
  call.result(e.select(kept, x, e.like(x, 0)));
}

// --- windows back to images ----------------------------------------------------------------------

int64_t padded(const SlidingWindow& s) { return s.before + s.size + s.after; }

/// Returns the position of each element of each window in the padded image, by positions in the
/// window, then by windows.
std::vector<int64_t> places_of(llvm::ArrayRef<SlidingWindow> windows) {
  std::vector<int64_t> places = {0};
  auto extend = [&](int64_t count, int64_t apart) { // the last axis so far is the innermost
    std::vector<int64_t> all;
    for (int64_t place : places)
      for (int64_t i = 0; i < count; ++i) all.push_back(place + i * apart);
    places = std::move(all);
  };
  for (bool in_window : {true, false})
    for (size_t axis = 0; axis < windows.size(); ++axis) {
      int64_t below = 1;
      for (const SlidingWindow& s : windows.drop_front(axis + 1)) below *= padded(s);
      const SlidingWindow& s = windows[axis];
      extend(in_window ? s.kernel : s.out, below * (in_window ? s.dilation : s.stride));
    }
  return places;
}

bool in_range(Ints sizes) {
  return llvm::all_of(sizes, [](int64_t n) { return n >= 1 && n <= kMostKnown; });
}

/// Adds columns[N, C * kernel, windows] up to an image[N, C, ..].
void col2im(Call& call) {
  Emitter& e = call.emit();
  NodeId x = call.input(0);
  Shape image = call.known_wholes(1), kernel = call.known_wholes(2);
  if (call.failed()) return;
  bool sizes =
      image.size() == kernel.size() && !image.empty() && in_range(image) && in_range(kernel);
  if (!sizes) call.fail("an image of " + text_of(image) + " has no windows of " + text_of(kernel));
  SlidingWindows windows = call.failed() ? SlidingWindows() : read_windows(call, image, kernel);
  if (call.failed()) return;
  int64_t taps = 1, count = 1, pixels = 1;
  for (const SlidingWindow& s : windows) {
    taps *= s.kernel, count *= s.out, pixels *= padded(s);
    if (std::max({taps, count, pixels}) > kMostKnown) break;
  }
  Ints shape = e.shape(x);
  if (shape.size() != 3 || shape[1] % taps != 0 || shape[2] != count || taps > kMostKnown / count ||
      pixels > kMostKnown) {
    call.fail(e.type(x).text() + " are not " + llvm::Twine(count) + " windows of " +
              llvm::Twine(taps));
    return;
  }
  int64_t batch = shape[0], channels = shape[1] / taps;
  NodeId zeros = e.filled(0, {e.dtype(x), {batch, channels, pixels}});
  NodeId made =
      e.op(OpKind::Scatter,
           {zeros, e.indices(places_of(windows)), e.reshape(x, {batch, channels, taps * count})},
           {{"axis", Value::of_int(2)}, {"reduce", Value::of_string("add")}});
  Shape whole = {batch, channels};
  for (const SlidingWindow& s : windows) whole.push_back(padded(s));
  made = e.reshape(made, whole);
  for (size_t i = 0; i < windows.size(); ++i)
    made = e.slice(made, static_cast<int64_t>(i) + 2, windows[i].before,
                   windows[i].before + windows[i].size);
  call.result(made);
}

} // namespace

llvm::ArrayRef<Form> layout_forms() {
  static constexpr Form kForms[] = {
      {"Col2Im", col2im}, {"Concat", concat},       {"Pad", pad},     {"Slice", slice},
      {"Split", split},   {"Transpose", transpose}, {"Trilu", trilu},
  };
  return kForms;
}

} // namespace tg::onnx
