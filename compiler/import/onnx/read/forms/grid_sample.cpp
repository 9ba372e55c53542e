#include "compiler/import/onnx/read/forms/grid_sample.h"

#include "lang/core/resample.h"

#include <numeric>

namespace tg::onnx {
namespace {

enum class Outside : uint8_t { Zeros, Border, Reflection };

struct Sampling {
  ResizeMode filter = ResizeMode::Linear;
  Outside padding = Outside::Zeros;
  bool align_corners = false;
};

/// One of the elements that are summed at a position between elements: along one axis, for
/// all positions.
struct Neighbour {
  NodeId index;  // i64, within the axis
  NodeId weight; // invalid: 1
  NodeId inside; // whether the index is within the axis; invalid: always
};
using Neighbours = llvm::SmallVector<Neighbour, 4>;

constexpr double kCubic = -0.75;

/// Sampling along one axis of `size` elements.
class AxisSampler {
public:
  AxisSampler(Emitter& emit, const Sampling& how, int64_t size)
      : emit_(emit), how_(how), size_(size), low_(how.align_corners ? 0 : -0.5),
        high_(static_cast<double>(size) - (how.align_corners ? 1 : 0.5)) {}

  /// Returns the neighbours of positions from -1 to 1.
  Neighbours neighbours(NodeId grid) const;

private:
  NodeId place(NodeId grid) const;
  NodeId reflected(NodeId x) const;
  Neighbour neighbour(NodeId place, NodeId weight) const;
  NodeId inner_weight(NodeId t) const;
  NodeId outer_weight(NodeId t) const;
  double last() const { return static_cast<double>(size_ - 1); }

  Emitter& emit_;
  const Sampling& how_;
  int64_t size_;
  double low_, high_; // the borders
};

/// Reflects positions at the borders.
NodeId AxisSampler::reflected(NodeId x) const {
  double range = high_ - low_;
  if (range == 0) return emit_.mul(x, 0);
  NodeId phase = emit_.op(OpKind::Mod, {emit_.sub(x, low_), emit_.like(x, 2 * range)});
  NodeId back = emit_.unary(OpKind::Abs, emit_.sub(phase, range));
  return emit_.sub(emit_.like(x, low_ + range), back);
}

NodeId AxisSampler::place(NodeId grid) const {
  NodeId from_zero = emit_.add(grid, 1);
  NodeId x = how_.align_corners
                 ? emit_.mul(emit_.div(from_zero, 2), last())
                 : emit_.div(emit_.sub(emit_.mul(from_zero, static_cast<double>(size_)), 1), 2);
  if (how_.filter == ResizeMode::Nearest) x = emit_.unary(OpKind::Round, x);
  if (how_.padding == Outside::Reflection) return reflected(x);
  // For cubic filters the elements are clamped to the borders, not the position.
  bool held = how_.padding == Outside::Border && how_.filter != ResizeMode::Cubic;
  return held ? emit_.clip(x, 0, last()) : x;
}

Neighbour AxisSampler::neighbour(NodeId place, NodeId weight) const {
  Neighbour made{{}, weight, {}};
  if (how_.padding == Outside::Zeros)
    made.inside = emit_.op(OpKind::LogicalAnd,
                           {emit_.op(OpKind::GreaterEqual, {place, emit_.like(place, 0)}),
                            emit_.op(OpKind::LessEqual, {place, emit_.like(place, last())})});
  bool far = how_.padding == Outside::Reflection && how_.filter == ResizeMode::Cubic;
  made.index = emit_.cast(emit_.clip(far ? reflected(place) : place, 0, last()), DType::I64);
  return made;
}

/// Weights of Keys' cubic filter for distances up to 1, and from 1 to 2.
NodeId AxisSampler::inner_weight(NodeId t) const {
  NodeId line = emit_.sub(emit_.mul(t, kCubic + 2), kCubic + 3);
  return emit_.add(emit_.mul(emit_.mul(line, t), t), 1);
}
NodeId AxisSampler::outer_weight(NodeId t) const {
  NodeId line = emit_.sub(emit_.mul(t, kCubic), 5 * kCubic);
  NodeId square = emit_.add(emit_.mul(line, t), 8 * kCubic);
  return emit_.sub(emit_.mul(square, t), 4 * kCubic);
}

Neighbours AxisSampler::neighbours(NodeId grid) const {
  NodeId x = place(grid);
  if (how_.filter == ResizeMode::Nearest) return {neighbour(x, {})};
  NodeId below = emit_.unary(OpKind::Floor, x), t = emit_.sub(x, below);
  NodeId rest = emit_.sub(emit_.like(t, 1), t);
  if (how_.filter == ResizeMode::Linear)
    return {neighbour(below, rest), neighbour(emit_.add(below, 1), t)};
  return {neighbour(emit_.sub(below, 1), outer_weight(emit_.add(t, 1))),
          neighbour(below, inner_weight(t)), neighbour(emit_.add(below, 1), inner_weight(rest)),
          neighbour(emit_.add(below, 2), outer_weight(emit_.add(rest, 1)))};
}

/// Combines both with `op`; an invalid node stands for one or true.
NodeId join(Emitter& emit, OpKind op, NodeId x, NodeId y) {
  if (!x.valid() || !y.valid()) return x.valid() ? x : y;
  return emit.op(op, {x, y});
}

/// Samples x[N, C, ..] as rows [places, C]. `corners` are positions in x without N and C, counted
/// over all axes, with their weights.
class RowSampler {
public:
  RowSampler(Emitter& emit, NodeId x, int64_t places, bool with_zeros) : emit_(emit) {
    Ints shape = emit.shape(x);
    int64_t batch = shape[0], channels = shape[1];
    int64_t size = emit.type(x).elements() / batch / channels;
    NodeId last = emit.swap_axes(emit.reshape(x, {batch, channels, size}), 1, 2);
    rows_ = emit.reshape(last, {batch * size, channels});
    if (with_zeros) {
      rows_ = emit.pad(rows_, {0, 0}, {1, 0});
      zeros_ = emit.scalar(static_cast<double>(batch * size), DType::I64);
    }
    if (batch == 1) return;
    NodeId image = emit.iota({DType::I64, {batch, places / batch}}, 0);
    first_ = emit.reshape(emit.mul(image, static_cast<double>(size)), {places});
  }

  NodeId sample(const Neighbour& corner) const {
    NodeId index = first_.valid() ? emit_.add(corner.index, first_) : corner.index;
    if (corner.inside.valid()) index = emit_.select(corner.inside, index, zeros_);
    NodeId taken = emit_.gather(rows_, index, 0);
    if (!corner.weight.valid()) return taken;
    return emit_.mul(taken, emit_.cast(emit_.unsqueeze(corner.weight, 1), emit_.dtype(rows_)));
  }

private:
  Emitter& emit_;
  NodeId rows_, first_, zeros_;
};

/// Returns all combinations of the neighbours along the axes of the image.
Neighbours corners(Emitter& emit, const Sampling& how, Ints image, NodeId places) {
  Neighbours made;
  auto axes = static_cast<int64_t>(image.size());
  for (int64_t axis = 0; axis < axes; ++axis) {
    NodeId column = emit.squeeze(emit.slice(places, 1, axes - 1 - axis, axes - axis), 1);
    int64_t size = image[static_cast<size_t>(axis)];
    Neighbours along = AxisSampler(emit, how, size).neighbours(column);
    if (emit.failed()) return {};
    Neighbours before = axis == 0 ? Neighbours{{}} : std::exchange(made, {});
    for (const Neighbour& outer : before)
      for (const Neighbour& inner : along) {
        NodeId index =
            axis == 0 ? inner.index
                      : emit.add(emit.mul(outer.index, static_cast<double>(size)), inner.index);
        made.push_back({index, join(emit, OpKind::Mul, outer.weight, inner.weight),
                        join(emit, OpKind::LogicalAnd, outer.inside, inner.inside)});
      }
  }
  return made;
}

Sampling read_sampling(Call& call) {
  Sampling how;
  bool newer = call.version() >= 20;
  std::string mode = call.text("mode", newer ? "linear" : "bilinear");
  std::string padding = call.text("padding_mode", "zeros");
  how.align_corners = flag(call, "align_corners", false);
  if (mode == "nearest")
    how.filter = ResizeMode::Nearest;
  else if (mode == (newer ? "cubic" : "bicubic"))
    how.filter = ResizeMode::Cubic;
  else if (mode != (newer ? "linear" : "bilinear"))
    call.fail("its attribute `mode` is `" + mode + "`");
  if (padding == "border")
    how.padding = Outside::Border;
  else if (padding == "reflection")
    how.padding = Outside::Reflection;
  else if (padding != "zeros")
    call.fail("its attribute `padding_mode` is `" + padding + "`");
  return how;
}

} // namespace

void grid_sample(Call& call) {
  Emitter& emit = call.emit();
  NodeId x = call.input(0), grid = call.input(1);
  Sampling how = read_sampling(call);
  if (call.failed()) return;
  int64_t rank = emit.rank(x), axes = rank - 2;
  Ints shape = emit.shape(x), places = emit.shape(grid);
  if (axes < 1 || axes > 3 || emit.rank(grid) != rank || places.back() != axes ||
      places[0] != shape[0]) {
    call.fail("it takes x[N, C, ..] of one to three axes and a grid[N, .., axes], got " +
              emit.type(x).text() + " and " + emit.type(grid).text());
    return;
  }
  if (axes == 3 && how.filter == ResizeMode::Cubic)
    call.fail("`mode` cubic is not supported over three axes");
  if (how.filter != ResizeMode::Nearest && !is_float(emit.dtype(x)))
    call.fail("only `mode` nearest samples integers, got " + emit.type(x).text());
  if (call.failed()) return;
  int64_t count = emit.type(grid).elements() / axes;
  DType wide = emit.dtype(grid) == DType::F64 ? DType::F64 : DType::F32;
  NodeId rows = emit.cast(emit.reshape(grid, {count, axes}), wide);
  RowSampler sampler(emit, x, count, how.padding == Outside::Zeros);
  NodeId sum;
  for (const Neighbour& corner : corners(emit, how, shape.drop_front(2), rows)) {
    NodeId term = sampler.sample(corner);
    sum = sum.valid() ? emit.add(sum, term) : term;
  }
  if (call.failed()) return;
  Shape result = {shape[0], shape[1]};
  result.append(places.begin() + 1, places.end() - 1);
  NodeId images = emit.reshape(sum, {shape[0], count / shape[0], shape[1]});
  call.result(emit.reshape(emit.swap_axes(images, 1, 2), result));
}

/// Multiplies theta[N, 2, 3] or theta[N, 3, 4] by the positions of an image's elements,
/// from -1 to 1.
void affine_grid(Call& call) {
  Emitter& emit = call.emit();
  NodeId theta = call.input(0);
  Shape size = call.known_wholes(1);
  bool align_corners = flag(call, "align_corners", false);
  if (call.failed()) return;
  auto axes = static_cast<int64_t>(size.size()) - 2;
  if (axes < 2 || axes > 3 || emit.rank(theta) != 3 || emit.shape(theta)[0] != size[0] ||
      emit.shape(theta)[1] != axes || emit.shape(theta)[2] != axes + 1) {
    call.fail("it takes theta[N, 2, 3] for images of two axes or theta[N, 3, 4] for three, got " +
              emit.type(theta).text());
    return;
  }
  Shape column(static_cast<size_t>(axes) + 1, 1);
  column.insert(column.begin(), size[0]);
  column.back() = axes;
  auto coefficients = [&](int64_t i) {
    return emit.reshape(emit.slice(theta, 2, i, i + 1), column);
  };
  NodeId sum = coefficients(axes);
  Shape result = {size[0]};
  for (int64_t axis = 0; axis < axes; ++axis) {
    int64_t count = size[static_cast<size_t>(axis) + 2];
    if (count < 1 || count > kMostKnown) {
      call.fail("a size of " + llvm::Twine(count));
      return;
    }
    result.push_back(count);
    Literal places{{emit.dtype(theta), Shape(static_cast<size_t>(axes - axis) + 1, 1)}, {}, {}};
    places.type.shape[0] = count;
    double most = static_cast<double>(align_corners ? count - 1 : count);
    for (int64_t i = 0; i < count; ++i) {
      double twice = static_cast<double>(align_corners ? 2 * i : 2 * i + 1);
      places.reals.push_back(most == 0 ? 0 : twice / most - 1);
    }
    sum = emit.add(emit.mul(emit.literal(places), coefficients(axes - 1 - axis)), sum);
  }
  result.push_back(axes);
  call.result(emit.expand(sum, result));
}

} // namespace tg::onnx
