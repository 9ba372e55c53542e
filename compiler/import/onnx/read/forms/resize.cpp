// Resize and Upsample as `resize`, and other operators that move images to another grid: centre
// crop and pad, depth to space and back.
#include "compiler/import/onnx/read/forms/grid_sample.h"
#include "lang/core/resample.h"

#include <cmath>
#include <numeric>

namespace tg::onnx {
namespace {

/// Along a resized axis.
constexpr int64_t kMostPlaces = int64_t{1} << 22;

/// Sets elements that come from outside the axis to the value.
NodeId extrapolated(Emitter& emit, NodeId x, int64_t axis, const AxisTaps& taps, double value) {
  Literal mask{{DType::Bool, Shape(static_cast<size_t>(emit.rank(x) - axis), 1)}, {}, {}};
  mask.type.shape[0] = taps.results();
  for (int64_t i = 0; i < taps.results(); ++i) mask.ints.push_back(taps.count(i) == 0);
  if (!llvm::is_contained(mask.ints, 1)) return x;
  return emit.select(emit.literal(mask), emit.like(x, value), x);
}

/// An axis, and the size of the result before rounding.
struct FileAxis : ResampledAxis {
  double length = 1;
};
using Axes = llvm::SmallVector<FileAxis, 5>;

/// Resizes from the first axis that changes on, except axes for which `is_resized` is false.
NodeId resize_axes(Emitter& emit, NodeId x, const Resampling& how, const Axes& axes,
                   llvm::function_ref<bool(const FileAxis&)> is_resized) {
  const auto* first = llvm::find_if(axes, is_resized);
  if (first == axes.end() || !x.valid()) return x;
  std::vector<double> scales, starts, ends;
  Shape sizes;
  auto place = static_cast<size_t>(first - axes.begin());
  for (; first != axes.end(); ++first, ++place) {
    FileAxis axis;
    if (is_resized(*first)) axis = *first;
    int64_t kept = emit.shape(x)[place];
    sizes.push_back(is_resized(*first) ? axis.out : kept);
    scales.push_back(axis.scale);
    starts.push_back(axis.start);
    ends.push_back(axis.end);
  }
  starts.insert(starts.end(), ends.begin(), ends.end());
  if (how.coordinates != ResizeCoordinates::TfCropAndResize) starts.clear();
  auto word = [](llvm::ArrayRef<llvm::StringRef> words, auto which) {
    return Value::of_string(words[static_cast<size_t>(which)]);
  };
  return emit.op(OpKind::Resize, {x},
                 {{"sizes", Value::of_ints(sizes)},
                  {"mode", word(resize_modes(), how.mode)},
                  {"coordinates", word(resize_coordinates(), how.coordinates)},
                  {"scales", Value::of_floats(scales)},
                  {"rounding", word(resize_roundings(), how.rounding)},
                  {"cubic_a", Value::of_float(how.cubic_a)},
                  {"antialias", Value::of_bool(how.antialias)},
                  {"exclude_outside", Value::of_bool(how.exclude_outside)},
                  {"region", Value::of_floats(starts)}});
}

/// Before operator set 11 the nearest element is the previous one when enlarging, and the next one
/// when shrinking.
NodeId resize_outward(Emitter& emit, NodeId x, Resampling how, const Axes& axes) {
  auto shrinks = [](const FileAxis& axis) { return axis.scale < 1; };
  auto grows = [&](const FileAxis& axis) { return !axis.is_kept() && !shrinks(axis); };
  how.rounding = ResizeRounding::Ceil;
  x = resize_axes(emit, x, how, axes, shrinks);
  how.rounding = ResizeRounding::Floor;
  return resize_axes(emit, x, how, axes, grows);
}

NodeId resized(Call& call, NodeId x, const Resampling& how, const Axes& axes,
               double extrapolation) {
  Emitter& emit = call.emit();
  if (call.version() < 11 && how.mode == ResizeMode::Nearest)
    return resize_outward(emit, x, how, axes);
  x = resize_axes(emit, x, how, axes, [](const FileAxis& axis) { return !axis.is_kept(); });
  bool crops = how.coordinates == ResizeCoordinates::TfCropAndResize && extrapolation != 0;
  for (size_t i = 0; crops && i < axes.size() && x.valid(); ++i)
    x = extrapolated(emit, x, static_cast<int64_t>(i), axis_taps(how, axes[i]), extrapolation);
  return x;
}

/// Reads an attribute as one of a list of words.
template <class E>
E read_word(Call& call, llvm::StringRef name, llvm::StringRef otherwise,
            llvm::ArrayRef<std::pair<const char*, E>> words) {
  std::string given = call.text(name, otherwise);
  for (const auto& [word, value] : words)
    if (given == word) return value;
  call.fail("its attribute `" + name + "` is `" + given + "`");
  return words[0].second;
}

/// The same for words that Tangram's operator shares with ONNX.
template <class E>
E read_word(Call& call, llvm::StringRef name, llvm::StringRef otherwise,
            llvm::ArrayRef<llvm::StringRef> words) {
  std::string given = call.text(name, otherwise);
  std::optional<E> value = parse_resize_word<E>(words, given);
  if (!value) call.fail("its attribute `" + name + "` is `" + given + "`");
  return value.value_or(E{});
}

ResizeMode read_mode(Call& call) {
  return read_word<ResizeMode>(call, "mode", "nearest", resize_modes());
}

Resampling read_interpolation(Call& call) {
  Resampling how;
  how.mode = read_mode(call);
  if (call.version() < 11) {
    how.coordinates = ResizeCoordinates::Asymmetric;
    return how;
  }
  how.rounding =
      read_word<ResizeRounding>(call, "nearest_mode", "round_prefer_floor", resize_roundings());
  how.coordinates = read_word<ResizeCoordinates>(call, "coordinate_transformation_mode",
                                                 "half_pixel", resize_coordinates());
  how.cubic_a = call.real("cubic_coeff_a", -0.75);
  how.exclude_outside = flag(call, "exclude_outside", false);
  how.antialias = call.version() >= 18 && flag(call, "antialias", false);
  if (how.antialias && how.mode == ResizeMode::Nearest)
    call.fail("`mode` nearest does not support `antialias`");
  return how;
}

/// The axes of x; those that the file names get its numbers.
struct Sizes {
  Shape named; // the axis of each scale, size and region in the file
  Axes axes;
};

Sizes all_axes(Call& call, NodeId x) {
  Emitter& emit = call.emit();
  Sizes made;
  for (int64_t size : emit.shape(x)) {
    if (size > kMostPlaces) call.fail("an axis of " + llvm::Twine(size) + " is too long");
    made.axes.emplace_back();
    made.axes.back().in = made.axes.back().out = size;
    made.axes.back().length = static_cast<double>(size);
  }
  std::optional<Shape> named = call.version() >= 18 ? call.wholes("axes") : std::nullopt;
  if (named) {
    made.named = call.axes(*named, emit.rank(x));
    for (size_t i = 0; i < made.named.size(); ++i)
      if (llvm::is_contained(Ints(made.named).drop_front(i + 1), made.named[i]))
        call.fail("its attribute `axes` names an axis twice");
  } else {
    made.named.resize(made.axes.size());
    std::iota(made.named.begin(), made.named.end(), 0);
  }
  return made;
}

bool has_one_each(Call& call, const Sizes& sizes, size_t count, llvm::StringRef what) {
  if (call.failed() || count == sizes.named.size()) return !call.failed();
  call.fail("there are " + llvm::Twine(count) + " " + what + " for " +
            llvm::Twine(sizes.named.size()) + " axes");
  return false;
}

/// Multiplies as floats, which gives the sizes of runtimes and shape inference.
void set_scales(Call& call, Sizes& sizes, llvm::ArrayRef<double> scales) {
  if (!has_one_each(call, sizes, scales.size(), "scales")) return;
  for (size_t i = 0; i < scales.size(); ++i) {
    FileAxis& axis = sizes.axes[static_cast<size_t>(sizes.named[i])];
    float length = static_cast<float>(axis.in) * static_cast<float>(scales[i]);
    bool fits = length >= 1 && length <= static_cast<float>(kMostPlaces); // also false for NaN
    if (!fits) {
      call.fail("a scale of " + Value::of_float(scales[i]).text_form() + " for an axis of " +
                llvm::Twine(axis.in));
      return;
    }
    axis.out = static_cast<int64_t>(std::floor(length));
    axis.scale = scales[i];
    axis.length = scales[i] * static_cast<double>(axis.in);
  }
}

/// Uses one scale for all named axes, so that their sizes are at most, or at least, the given ones.
void keep_aspect_ratio(Sizes& sizes, bool at_most) {
  double scale = 0;
  for (size_t i = 0; i < sizes.named.size(); ++i) {
    double own = sizes.axes[static_cast<size_t>(sizes.named[i])].scale;
    scale = i == 0 ? own : at_most ? std::min(scale, own) : std::max(scale, own);
  }
  for (int64_t i : sizes.named) {
    FileAxis& axis = sizes.axes[static_cast<size_t>(i)];
    axis.scale = scale;
    axis.length = scale * static_cast<double>(axis.in);
    axis.out = static_cast<int64_t>(std::floor(axis.length + 0.5));
  }
}

void set_sizes(Call& call, Sizes& sizes, Ints given) {
  std::string policy =
      call.version() >= 18 ? call.text("keep_aspect_ratio_policy", "stretch") : "stretch";
  if (policy != "stretch" && policy != "not_larger" && policy != "not_smaller")
    call.fail("its attribute `keep_aspect_ratio_policy` is `" + policy + "`");
  if (!has_one_each(call, sizes, given.size(), "sizes")) return;
  for (size_t i = 0; i < given.size(); ++i) {
    FileAxis& axis = sizes.axes[static_cast<size_t>(sizes.named[i])];
    axis.out = given[i];
    axis.length = static_cast<double>(given[i]);
    axis.scale = axis.length / static_cast<double>(axis.in);
  }
  if (policy != "stretch") keep_aspect_ratio(sizes, policy == "not_larger");
  for (const FileAxis& axis : sizes.axes)
    if (axis.out < 1 || axis.out > kMostPlaces)
      call.fail("a size of " + llvm::Twine(axis.out) + " for an axis of " + llvm::Twine(axis.in));
}

/// Sets the region of x that is resized, in fractions of its axes.
void set_region(Call& call, Sizes& sizes, llvm::ArrayRef<double> region, bool by_scales) {
  size_t count = sizes.named.size();
  if (region.size() != 2 * count) {
    call.fail("its region has " + llvm::Twine(region.size()) + " numbers for " +
              llvm::Twine(count) + " axes");
    return;
  }
  for (size_t i = 0; i < count; ++i) {
    FileAxis& axis = sizes.axes[static_cast<size_t>(sizes.named[i])];
    axis.start = region[i];
    axis.end = region[count + i];
    if (!std::isfinite(axis.start) || !std::isfinite(axis.end))
      call.fail("its region is not finite");
    if (by_scales && axis.end - axis.start != 1)
      call.fail("with a region, scales do not determine the size of the result");
  }
}

/// With aligned corners a scale refers to the last positions. Runtimes use the rounded size for the
/// last position, ONNX's tests the size before rounding.
void refuse_fractions(Call& call, const Sizes& sizes) {
  for (const FileAxis& axis : sizes.axes)
    if (std::abs(axis.length - static_cast<double>(axis.out)) > 1e-5 * axis.length)
      call.fail("a scale of " + Value::of_float(axis.scale).text_form() + " for an axis of " +
                llvm::Twine(axis.in) +
                " does not determine where its corners are (`align_corners`); give sizes");
}

void resize(Call& call) {
  NodeId x = call.input(0);
  Resampling how = read_interpolation(call);
  double extrapolation = call.version() >= 11 ? call.real("extrapolation_value", 0) : 0;
  if (call.failed()) return;
  Sizes sizes = all_axes(call, x);
  size_t at_scales = call.version() >= 11 ? 2 : 1;
  // In operator set 11 an input without elements counts as absent.
  std::vector<double> scales;
  Shape given;
  if (call.has(at_scales)) scales = call.known_reals(at_scales);
  if (call.version() >= 11 && call.has(3)) given = call.known_wholes(3);
  if (call.failed()) return;
  if (scales.empty() == given.empty())
    call.fail(scales.empty() ? "it has neither scales nor sizes" : "it has both scales and sizes");
  if (call.failed()) return;
  if (given.empty()) {
    ignore(call, "keep_aspect_ratio_policy"); // applies only to sizes
    set_scales(call, sizes, scales);
  } else {
    set_sizes(call, sizes, given);
  }
  if (how.coordinates == ResizeCoordinates::AlignCorners) refuse_fractions(call, sizes);
  if (call.failed()) return;
  if (how.coordinates == ResizeCoordinates::TfCropAndResize)
    set_region(call, sizes, call.known_reals(1), given.empty());
  else if (call.version() >= 11)
    (void)call.value(1);
  if (!call.failed()) call.result(resized(call, x, how, sizes.axes, extrapolation));
}

void upsample(Call& call) {
  NodeId x = call.input(0);
  Resampling how{read_mode(call), ResizeCoordinates::Asymmetric};
  if (call.version() >= 10) call.fail("it was removed after operator set 9; use `Resize`");
  if (how.mode == ResizeMode::Cubic) call.fail("its `mode` is `cubic`");
  if (call.failed()) return;
  Sizes sizes = all_axes(call, x);
  std::vector<double> scales;
  if (call.version() >= 9)
    scales = call.known_reals(1);
  else if (call.version() >= 7)
    scales = call.reals("scales").value_or(scales);
  else // images
    scales = {1, 1, call.real("height_scale", 0), call.real("width_scale", 0)};
  set_scales(call, sizes, scales);
  if (!call.failed()) call.result(resized(call, x, how, sizes.axes, 0));
}

// --- other grids --------------------------------------------------------------------------------

/// If the difference is odd, the additional element is at the end.
void center_crop_pad(Call& call) {
  Emitter& emit = call.emit();
  NodeId x = call.input(0);
  Shape sizes = call.known_wholes(1);
  std::optional<Shape> named = call.wholes("axes");
  if (call.failed()) return;
  int64_t rank = emit.rank(x);
  Shape axes(static_cast<size_t>(rank)), before(axes.size(), 0), after(axes.size(), 0);
  std::iota(axes.begin(), axes.end(), 0);
  if (named) axes = call.axes(*named, rank);
  if (axes.size() != sizes.size())
    call.fail("there are " + llvm::Twine(sizes.size()) + " sizes for " + llvm::Twine(axes.size()) +
              " axes");
  for (size_t i = 0; i < axes.size() && !call.failed(); ++i) {
    int64_t size = emit.shape(x)[static_cast<size_t>(axes[i])], wanted = sizes[i];
    if (wanted < 1 || wanted > kMaxElements) {
      call.fail("a size of " + llvm::Twine(wanted));
      return;
    }
    int64_t first = std::max<int64_t>(size - wanted, 0) / 2;
    int64_t missing = std::max<int64_t>(wanted - size, 0);
    x = emit.slice(x, axes[i], first, first + std::min(size, wanted));
    before[static_cast<size_t>(axes[i])] = missing / 2;
    after[static_cast<size_t>(axes[i])] = missing - missing / 2;
  }
  call.result(emit.pad(x, before, after));
}

/// Returns the block size, and whether depth comes before the positions within a block.
int64_t read_blocks(Call& call, bool& depth_first) {
  static constexpr std::pair<const char*, bool> kModes[] = {{"DCR", false}, {"CRD", true}};
  int64_t size = call.whole("blocksize");
  depth_first = read_word<bool>(call, "mode", "DCR", kModes);
  if (size < 1 || size > kMostPlaces)
    call.fail("its attribute `blocksize` is " + llvm::Twine(size));
  NodeId x = call.input(0);
  if (x.valid() && call.emit().rank(x) != 4)
    call.fail("it takes x[N, C, H, W], got " + call.emit().type(x).text());
  return size;
}

void depth_to_space(Call& call) {
  Emitter& emit = call.emit();
  bool depth_first = false;
  int64_t size = read_blocks(call, depth_first);
  if (call.failed()) return;
  NodeId x = call.input(0);
  Ints shape = emit.shape(x);
  int64_t n = shape[0], depth = shape[1] / (size * size), h = shape[2], w = shape[3];
  if (depth * size * size != shape[1]) {
    call.fail(llvm::Twine(shape[1]) + " channels do not form blocks of " + llvm::Twine(size));
    return;
  }
  NodeId made =
      depth_first
          ? emit.transpose(emit.reshape(x, {n, depth, size, size, h, w}), {0, 1, 4, 2, 5, 3})
          : emit.transpose(emit.reshape(x, {n, size, size, depth, h, w}), {0, 3, 4, 1, 5, 2});
  call.result(emit.reshape(made, {n, depth, h * size, w * size}));
}

void space_to_depth(Call& call) {
  Emitter& emit = call.emit();
  bool depth_first = false;
  int64_t size = read_blocks(call, depth_first);
  if (call.failed()) return;
  NodeId x = call.input(0);
  Ints shape = emit.shape(x);
  int64_t n = shape[0], depth = shape[1], h = shape[2] / size, w = shape[3] / size;
  if (h * size != shape[2] || w * size != shape[3]) {
    call.fail(emit.type(x).text() + " is not an image of blocks of " + llvm::Twine(size));
    return;
  }
  NodeId blocks = emit.reshape(x, {n, depth, h, size, w, size});
  NodeId made = depth_first ? emit.transpose(blocks, {0, 1, 3, 5, 2, 4})
                            : emit.transpose(blocks, {0, 3, 5, 1, 2, 4});
  call.result(emit.reshape(made, {n, depth * size * size, h, w}));
}

} // namespace

llvm::ArrayRef<Form> resize_forms() {
  static constexpr Form kForms[] = {
      {"AffineGrid", affine_grid},
      {"CenterCropPad", center_crop_pad},
      {"DepthToSpace", depth_to_space},
      {"GridSample", grid_sample},
      {"Resize", resize},
      {"SpaceToDepth", space_to_depth},
      {"Upsample", upsample},
  };
  return kForms;
}

} // namespace tg::onnx
