// Resize and Upsample, one axis after the other, and what else moves images to another grid:
// cropped or padded around the centre, depth to space and back.
//
// A resized axis that repeats its elements is a broadcast; one that selects some, a gather. An
// interpolated one is a weighted sum of gathers, or the product with a matrix of the weights where
// the axis is so short that this is less work.
#include "compiler/import/onnx/read/forms/grid_sample.h"
#include "compiler/import/onnx/read/shared/interpolation.h"

#include <cmath>
#include <numeric>

namespace tg::onnx {
namespace {

/// Along an axis that is resized.
constexpr int64_t kMostPlaces = int64_t{1} << 22;
/// A multiply-add of a product is so much cheaper than an element that is gathered.
constexpr size_t kProductsPerGather = 16;

// --- one axis -----------------------------------------------------------------------------------

/// A vector along an axis, as it broadcasts.
NodeId along(Emitter& emit, NodeId x, int64_t axis, std::vector<double> values) {
  TensorType type{emit.dtype(x), Shape(static_cast<size_t>(emit.rank(x) - axis), 1)};
  type.shape[0] = static_cast<int64_t>(values.size());
  return emit.literal({type, {}, std::move(values)});
}

NodeId weighted_sum(Emitter& emit, NodeId x, int64_t axis, const AxisSamples& samples) {
  NodeId sum;
  for (size_t k = 0; k < samples.places.size(); ++k) {
    NodeId taken = emit.take(x, axis, samples.places[k]);
    NodeId term = emit.mul(taken, along(emit, x, axis, samples.weights[k]));
    sum = sum.valid() ? emit.add(sum, term) : term;
  }
  return sum;
}

/// x @ matrix[in, out] along the last axis, else matrix[out, in] @ x.
NodeId product(Emitter& emit, NodeId x, int64_t axis, const ResizedAxis& of,
               const AxisSamples& samples) {
  Shape shape(emit.shape(x).begin(), emit.shape(x).end());
  bool last = axis == emit.rank(x) - 1;
  std::vector<double> matrix(static_cast<size_t>(of.in * of.out), 0.0);
  for (size_t k = 0; k < samples.places.size(); ++k)
    for (int64_t i = 0; i < of.out; ++i) {
      int64_t place = samples.places[k][static_cast<size_t>(i)];
      matrix[static_cast<size_t>(last ? place * of.out + i : i * of.in + place)] +=
          samples.weights[k][static_cast<size_t>(i)];
    }
  Shape sizes = last ? Shape{of.in, of.out} : Shape{of.out, of.in};
  NodeId weights = emit.literal({{emit.dtype(x), sizes}, {}, std::move(matrix)});
  if (last && axis > 0) return emit.matmul(x, weights);
  if (axis == emit.rank(x) - 2) return emit.matmul(weights, x);
  Shape result = shape, rows = {1};
  for (int64_t i = 0; i < axis; ++i) rows[0] *= shape[static_cast<size_t>(i)];
  rows.push_back(of.in);
  if (!last) rows.push_back(emit.type(x).elements() / rows[0] / of.in);
  result[static_cast<size_t>(axis)] = of.out;
  x = emit.reshape(x, rows);
  return emit.reshape(last ? emit.matmul(x, weights) : emit.matmul(weights, x), result);
}

/// The elements that lie outside of the axis have the value.
NodeId extrapolated(Emitter& emit, NodeId x, int64_t axis, const std::vector<bool>& beyond,
                    double value) {
  if (beyond.empty() || !x.valid()) return x;
  Literal mask{{DType::Bool, Shape(static_cast<size_t>(emit.rank(x) - axis), 1)}, {}, {}};
  mask.type.shape[0] = static_cast<int64_t>(beyond.size());
  mask.ints.assign(beyond.begin(), beyond.end());
  return emit.select(emit.literal(mask), emit.like(x, value), x);
}

NodeId resize_axis(Call& call, NodeId x, int64_t axis, const ResizedAxis& of,
                   const AxisSamples& samples) {
  Emitter& emit = call.emit();
  if (!x.valid() || samples.is_selection())
    return x.valid() ? emit.take(x, axis, samples.places[0]) : x;
  if (!is_float(emit.dtype(x)))
    return call.fail("integers are resized by `mode` nearest alone, got " + emit.type(x).text());
  auto taps = static_cast<int64_t>(samples.places.size());
  bool is_short =
      of.in <= static_cast<int64_t>(kProductsPerGather) * taps && of.in * of.out <= kMostFolded;
  return is_short ? product(emit, x, axis, of, samples) : weighted_sum(emit, x, axis, samples);
}

// --- all axes -----------------------------------------------------------------------------------

/// How often each element is repeated, if all are equally often; else 0.
int64_t repetition(const ResizedAxis& axis, const AxisSamples& samples) {
  if (!samples.is_selection() || !samples.beyond.empty() || axis.out % axis.in != 0) return 0;
  int64_t times = axis.out / axis.in;
  for (size_t i = 0; i < samples.places[0].size(); ++i)
    if (samples.places[0][i] != static_cast<int64_t>(i) / times) return 0;
  return times;
}

/// x with the elements along each axis so often, one behind the other.
NodeId repeat(Emitter& emit, NodeId x, Ints times) {
  Shape apart, wide, joined;
  for (size_t axis = 0; axis < times.size(); ++axis) {
    int64_t size = emit.shape(x)[axis];
    apart.push_back(size);
    wide.push_back(size);
    joined.push_back(size * times[axis]);
    if (times[axis] == 1) continue;
    apart.push_back(1);
    wide.push_back(times[axis]);
  }
  return emit.reshape(emit.expand(emit.reshape(x, apart), wide), joined);
}

using Axes = llvm::SmallVector<ResizedAxis, 5>;

/// The axes that shrink first.
NodeId resized(Call& call, NodeId x, const Interpolation& how, const Axes& axes,
               double extrapolation) {
  Emitter& emit = call.emit();
  std::vector<AxisSamples> samples;
  Shape times, order;
  int64_t repeated = 0;
  for (const ResizedAxis& axis : axes) {
    bool kept = axis.in == axis.out && axis.scale == 1 && axis.start == 0 && axis.end == 1;
    samples.push_back(kept ? AxisSamples{} : samples_of(how, axis));
    times.push_back(kept ? 1 : std::max<int64_t>(repetition(axis, samples.back()), 1));
    repeated += times.back() > 1;
    if (!kept) order.push_back(static_cast<int64_t>(times.size()) - 1);
  }
  if (emit.rank(x) + repeated > kMaxRank) times.assign(times.size(), 1);
  auto growth = [&](int64_t i) {
    const ResizedAxis& axis = axes[static_cast<size_t>(i)];
    return static_cast<double>(axis.out) / static_cast<double>(axis.in);
  };
  llvm::stable_sort(order, [&](int64_t a, int64_t b) { return growth(a) < growth(b); });
  for (int64_t i : order) {
    auto axis = static_cast<size_t>(i);
    if (times[axis] == 1) x = resize_axis(call, x, i, axes[axis], samples[axis]);
  }
  if (x.valid() && repeated > 0) x = repeat(emit, x, times);
  for (int64_t i : order)
    x = extrapolated(emit, x, i, samples[static_cast<size_t>(i)].beyond, extrapolation);
  return x;
}

/// The attribute's value as one of a list of words.
template <class E>
E read_word(Call& call, llvm::StringRef name, llvm::StringRef otherwise,
            llvm::ArrayRef<std::pair<const char*, E>> words) {
  std::string given = call.text(name, otherwise);
  for (const auto& [word, value] : words)
    if (given == word) return value;
  call.fail("its attribute `" + name + "` is `" + given + "`");
  return words[0].second;
}

Filter read_filter(Call& call) {
  static constexpr std::pair<const char*, Filter> kWords[] = {
      {"nearest", Filter::Nearest}, {"linear", Filter::Linear}, {"cubic", Filter::Cubic}};
  return read_word<Filter>(call, "mode", "nearest", kWords);
}

Coordinates read_coordinates(Call& call) {
  static constexpr std::pair<const char*, Coordinates> kWords[] = {
      {"half_pixel", Coordinates::HalfPixel},
      {"half_pixel_symmetric", Coordinates::HalfPixelSymmetric},
      {"pytorch_half_pixel", Coordinates::PytorchHalfPixel},
      {"align_corners", Coordinates::AlignCorners},
      {"asymmetric", Coordinates::Asymmetric},
      {"tf_crop_and_resize", Coordinates::TfCropAndResize}};
  return read_word<Coordinates>(call, "coordinate_transformation_mode", "half_pixel", kWords);
}

NearestMode read_nearest_mode(Call& call) {
  static constexpr std::pair<const char*, NearestMode> kWords[] = {
      {"round_prefer_floor", NearestMode::RoundPreferFloor},
      {"round_prefer_ceil", NearestMode::RoundPreferCeil},
      {"floor", NearestMode::Floor},
      {"ceil", NearestMode::Ceil}};
  return read_word<NearestMode>(call, "nearest_mode", "round_prefer_floor", kWords);
}

Interpolation read_interpolation(Call& call) {
  Interpolation how;
  how.filter = read_filter(call);
  if (call.version() < 11) {
    how.nearest = NearestMode::Outward;
    how.coordinates = Coordinates::Asymmetric;
    return how;
  }
  how.nearest = read_nearest_mode(call);
  how.coordinates = read_coordinates(call);
  how.cubic_a = call.real("cubic_coeff_a", -0.75);
  how.exclude_outside = flag(call, "exclude_outside", false);
  how.antialias = call.version() >= 18 && flag(call, "antialias", false);
  if (how.antialias && how.filter == Filter::Nearest)
    call.fail("`mode` nearest has no `antialias`");
  return how;
}

/// The axes of x; those that the file names get its numbers.
struct Sizes {
  Shape named; // of the file's scales, sizes and regions, the axis
  Axes axes;
};

Sizes all_axes(Call& call, NodeId x) {
  Emitter& emit = call.emit();
  Sizes made;
  for (int64_t size : emit.shape(x)) {
    if (size > kMostPlaces) call.fail("an axis of " + llvm::Twine(size) + " is too long");
    made.axes.push_back({size, size, 1, static_cast<double>(size)});
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

/// As floats multiply: the sizes that runtimes and shape inference give.
void set_scales(Call& call, Sizes& sizes, llvm::ArrayRef<double> scales) {
  if (!has_one_each(call, sizes, scales.size(), "scales")) return;
  for (size_t i = 0; i < scales.size(); ++i) {
    ResizedAxis& axis = sizes.axes[static_cast<size_t>(sizes.named[i])];
    float length = static_cast<float>(axis.in) * static_cast<float>(scales[i]);
    bool fits = length >= 1 && length <= static_cast<float>(kMostPlaces); // no NaN, either
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

/// One scale for all axes that are named, so that their sizes are at most or at least the given.
void keep_aspect_ratio(Sizes& sizes, bool at_most) {
  double scale = 0;
  for (size_t i = 0; i < sizes.named.size(); ++i) {
    double own = sizes.axes[static_cast<size_t>(sizes.named[i])].scale;
    scale = i == 0 ? own : at_most ? std::min(scale, own) : std::max(scale, own);
  }
  for (int64_t i : sizes.named) {
    ResizedAxis& axis = sizes.axes[static_cast<size_t>(i)];
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
    ResizedAxis& axis = sizes.axes[static_cast<size_t>(sizes.named[i])];
    axis.out = given[i];
    axis.length = static_cast<double>(given[i]);
    axis.scale = axis.length / static_cast<double>(axis.in);
  }
  if (policy != "stretch") keep_aspect_ratio(sizes, policy == "not_larger");
  for (const ResizedAxis& axis : sizes.axes)
    if (axis.out < 1 || axis.out > kMostPlaces)
      call.fail("a size of " + llvm::Twine(axis.out) + " for an axis of " + llvm::Twine(axis.in));
}

/// The piece of x that is resized, as parts of its axes.
void set_region(Call& call, Sizes& sizes, llvm::ArrayRef<double> region, bool by_scales) {
  size_t count = sizes.named.size();
  if (region.size() != 2 * count) {
    call.fail("its region has " + llvm::Twine(region.size()) + " numbers for " +
              llvm::Twine(count) + " axes");
    return;
  }
  for (size_t i = 0; i < count; ++i) {
    ResizedAxis& axis = sizes.axes[static_cast<size_t>(sizes.named[i])];
    axis.start = region[i];
    axis.end = region[count + i];
    if (!std::isfinite(axis.start) || !std::isfinite(axis.end))
      call.fail("its region is not finite");
    if (by_scales && axis.end - axis.start != 1)
      call.fail("scales beside a region leave open what size the result has");
  }
}

/// With corners aligned a scale is that of the last places. Runtimes take the size for the last
/// place, ONNX's tests the size before it was rounded.
void refuse_fractions(Call& call, const Sizes& sizes) {
  for (const ResizedAxis& axis : sizes.axes)
    if (std::abs(axis.length - static_cast<double>(axis.out)) > 1e-5 * axis.length)
      call.fail("a scale of " + Value::of_float(axis.scale).text_form() + " for an axis of " +
                llvm::Twine(axis.in) +
                " leaves open where its corners are (`align_corners`); give sizes");
}

void resize(Call& call) {
  NodeId x = call.input(0);
  Interpolation how = read_interpolation(call);
  double extrapolation = call.version() >= 11 ? call.real("extrapolation_value", 0) : 0;
  if (call.failed()) return;
  Sizes sizes = all_axes(call, x);
  size_t at_scales = call.version() >= 11 ? 2 : 1;
  // Of operator set 11 on an input without elements is none.
  std::vector<double> scales;
  Shape given;
  if (call.has(at_scales)) scales = call.known_reals(at_scales);
  if (call.version() >= 11 && call.has(3)) given = call.known_wholes(3);
  if (call.failed()) return;
  if (scales.empty() == given.empty())
    call.fail(scales.empty() ? "it has neither scales nor sizes" : "it has both scales and sizes");
  if (call.failed()) return;
  if (given.empty()) {
    call.ignore("keep_aspect_ratio_policy"); // of sizes
    set_scales(call, sizes, scales);
  } else {
    set_sizes(call, sizes, given);
  }
  if (how.coordinates == Coordinates::AlignCorners) refuse_fractions(call, sizes);
  if (call.failed()) return;
  if (how.coordinates == Coordinates::TfCropAndResize)
    set_region(call, sizes, call.known_reals(1), given.empty());
  else if (call.version() >= 11)
    (void)call.value(1);
  if (!call.failed()) call.result(resized(call, x, how, sizes.axes, extrapolation));
}

void upsample(Call& call) {
  NodeId x = call.input(0);
  Interpolation how{read_filter(call), NearestMode::Outward, Coordinates::Asymmetric};
  if (call.version() >= 10) call.fail("it ended with operator set 9, and is `Resize` since");
  if (how.filter == Filter::Cubic) call.fail("its `mode` is `cubic`");
  if (call.failed()) return;
  Sizes sizes = all_axes(call, x);
  set_scales(call, sizes,
             call.version() >= 9 ? call.known_reals(1)
                                 : call.reals("scales").value_or(std::vector<double>()));
  if (!call.failed()) call.result(resized(call, x, how, sizes.axes, 0));
}

// --- other grids --------------------------------------------------------------------------------

/// Of what is too much or too little an odd element lies behind.
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

/// The block size, and whether depth comes before the places within a block.
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
    call.fail(llvm::Twine(shape[1]) + " channels are no blocks of " + llvm::Twine(size));
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
    call.fail(emit.type(x).text() + " is no image of blocks of " + llvm::Twine(size));
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
