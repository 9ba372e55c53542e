// Maps programs to schedules of convolutions, and checks legality.
#include "runtime/cpu/tuning/convolution_programs.h"

#include "runtime/cpu/lowering/tile_convolution.h"
#include "runtime/cpu/tile/long_rows.h"
#include "runtime/cpu/tuning/loops.h"
#include "runtime/tune/factors.h"

#include <llvm/Support/FormatVariadic.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tg::cpu {

namespace {

using tile::ceil_div;

using Form = OwnConvolution::Form;

constexpr size_t kN = 0, kF = 1;

tile::TransposedShape transposed_shape(const OwnConvolution& own) { return {own.shape}; }

/// Returns the shape that tiles cover.
tile::GroupedShape tiled_shape(const OwnConvolution& own) {
  if (own.form != Form::Transposed) return own.shape;
  return tile::Transposed::phases(transposed_shape(own)).front().shape;
}

/// Returns the phases of rows, and those of columns if they are not merged.
tile::Plane phases_of(const OwnConvolution& own) {
  if (own.form != Form::Transposed) return {};
  tile::Plane phases = {0, 0};
  for (const tile::TransposedPhase& phase : tile::Transposed::phases(transposed_shape(own))) {
    phases.rows += phase.first.columns == 0;
    phases.columns += phase.first.rows == 0;
  }
  return phases;
}

bool is_volume(const tile::GroupedShape& s) {
  return s.depth.image > 1 || s.depth.result > 1 || s.depth.kernel > 1;
}

/// Rounds up columns that do not fit in one tile: to tiles of the available sizes,
/// whose number has many divisors.
int64_t padded_columns(int64_t columns) {
  constexpr int64_t kFew = 4, kWidest = 12;
  return columns <= kFew ? columns : kWidest * smooth_from(ceil_div(columns, kWidest));
}

/// Returns the number of groups that share a vector.
int64_t sharing_groups(const OwnConvolution& own) {
  return own.depthwise ? 1 : tile::Grouped::tile(own.shape, {}).groups;
}

/// Returns the channels of the unit of which a tile has one or more.
int64_t unit_channels(const OwnConvolution& own) {
  int64_t sharing = sharing_groups(own);
  return sharing > 1 ? sharing * own.shape.outputs : own.shape.lanes();
}

/// Rounds up rows: divided among the threads, in pairs if a tile has two rows.
int64_t padded_image_rows(const OwnConvolution& own, int threads) {
  int64_t rows = tiled_shape(own).result.rows, unit = rows >= threads ? threads : 1;
  bool pairs = own.depthwise && tile::Depthwise::most_rows(depthwise_shape(own.shape)) > 1;
  if (pairs && rows > unit) unit *= 2;
  return unit * smooth_from(ceil_div(rows, unit));
}

/// Returns the rows and columns of the operator's loops.
tile::Plane loops_of(const OwnConvolution& own, int threads) {
  tile::Plane phases = phases_of(own);
  return {padded_image_rows(own, threads) * phases.rows,
          padded_columns(tiled_shape(own).result.columns) * phases.columns};
}

/// Returns the numbers of planes, rows and columns, as far as the type has them;
/// empty if all are 1.
tune::Extents window_numbers(tune::OpType type, int64_t planes, const tile::Plane& plane) {
  tune::Extents all = {planes, plane.rows, plane.columns};
  auto first = static_cast<ptrdiff_t>(type == tune::OpType::C1D   ? 2
                                      : type == tune::OpType::C3D ? 0
                                                                  : 1);
  all.erase(all.begin(), all.begin() + first);
  bool ones = std::all_of(all.begin(), all.end(), [](int64_t n) { return n == 1; });
  return ones ? tune::Extents() : all;
}

tune::OpType type_of(const OwnConvolution& own) {
  using Type = tune::OpType;
  if (own.depthwise) return Type::DEP;
  if (own.form == Form::Transposed) return Type::T2D;
  if (own.shape.groups > 1) return Type::GRP;
  if (own.form == Form::LongRows) return Type::C1D;
  return is_volume(own.shape) ? Type::C3D : Type::C2D;
}

/// Returns the channels rounded up: to whole vectors of groups if groups share a vector,
/// else per group.
int64_t padded_channels(const OwnConvolution& own) {
  tile::GroupedShape s = tiled_shape(own);
  int64_t lanes = s.lanes();
  if (own.depthwise) return lanes * smooth_from(ceil_div(s.groups, lanes));
  int64_t sharing = sharing_groups(own), groups = sharing * ceil_div(s.groups, sharing);
  return groups * (sharing > 1 ? s.outputs : lanes * ceil_div(s.outputs, lanes));
}

/// Planes of grouped volumes become images, because these types have no planes.
tune::Operator operator_of(const OwnConvolution& own, int threads) {
  using Type = tune::OpType;
  tile::GroupedShape s = tiled_shape(own);
  tune::Operator op;
  op.type = type_of(own);
  bool planes = op.type == Type::C3D, row = op.type == Type::C1D;
  auto [rows, columns] = loops_of(own, threads);
  op.space = {planes ? s.images : s.planes(), padded_channels(own)};
  if (planes) op.space.push_back(s.depth.result);
  if (!row) op.space.push_back(rows);
  op.space.push_back(row ? rows * columns : columns);
  if (op.type != Type::DEP) op.reduction.push_back(s.inputs);
  if (planes) op.reduction.push_back(s.depth.kernel);
  if (!row) op.reduction.push_back(planes ? s.kernel.rows : s.depth.kernel * s.kernel.rows);
  op.reduction.push_back(s.kernel.columns);
  int64_t sharing = sharing_groups(own);
  if (s.groups > 1 && !own.depthwise) op.groups = {sharing * ceil_div(s.groups, sharing)};
  op.stride = op.type == Type::T2D ? window_numbers(op.type, 1, phases_of(own))
                                   : window_numbers(op.type, s.depth.stride, s.stride);
  op.dilation = window_numbers(op.type, s.depth.dilation, s.dilation);
  return op;
}

int64_t number(const tune::Extents& list, size_t from_end) {
  return list.size() <= from_end ? 1 : list[list.size() - 1 - from_end];
}

/// Returns the steps of dense pixels.
tile::PixelSteps steps_of(int64_t planes, const tile::Plane& plane, int64_t channels) {
  int64_t row = plane.columns * channels;
  return {planes * plane.rows * row, row, channels, plane.rows * row};
}

/// Returns a window with the operator's parameters, in an image that it fills.
tile::GroupedShape shape_of(const tune::Operator& op) {
  tile::GroupedShape s;
  bool planes = op.type == tune::OpType::C3D, row = op.type == tune::OpType::C1D;
  size_t last = op.space.size() - 1, tap = op.reduction.size() - 1;
  s.images = op.space[kN];
  s.result = {row ? 1 : op.space[last - 1], op.space[last]};
  s.kernel = {row ? 1 : op.reduction[tap - 1], op.reduction[tap]};
  s.stride = {number(op.stride, 1), number(op.stride, 0)};
  s.dilation = {number(op.dilation, 1), number(op.dilation, 0)};
  s.before = {0, 0};
  auto filled = [](int64_t results, int64_t stride, int64_t taps, int64_t dilation) {
    return (results - 1) * stride + (taps - 1) * dilation + 1;
  };
  s.image = {filled(s.result.rows, s.stride.rows, s.kernel.rows, s.dilation.rows),
             filled(s.result.columns, s.stride.columns, s.kernel.columns, s.dilation.columns)};
  if (!planes) return s;
  tile::Depth& d = s.depth;
  d.result = op.space[2];
  d.kernel = op.reduction[1];
  d.stride = number(op.stride, 2);
  d.dilation = number(op.dilation, 2);
  d.image = filled(d.result, d.stride, d.kernel, d.dilation);
  return s;
}

/// Returns the rows of a sequence with this number of columns.
tile::Plane cut_evenly(int64_t columns) {
  constexpr int64_t kFewest = 48;
  for (int64_t of_row : tune::divisors(columns))
    if (of_row >= kFewest) return {columns / of_row, of_row};
  return {1, columns};
}

/// Returns phases with equal taps, separated by gaps between pixels;
/// nullopt if rows or columns are not a whole number of phases.
std::optional<tile::GroupedShape> transposed_of(tile::GroupedShape s) {
  if (s.result.rows % s.stride.rows != 0 || s.result.columns % s.stride.columns != 0)
    return std::nullopt;
  constexpr int64_t kGap = 16;
  s.image = {s.result.rows / s.stride.rows, s.result.columns / s.stride.columns};
  s.kernel = {s.kernel.rows * s.stride.rows, s.kernel.columns * s.stride.columns};
  s.dilation = {1, 1};
  s.x = steps_of(1, s.image, s.groups * s.inputs);
  s.y = steps_of(1, s.result, s.groups * s.outputs + (s.stride.columns > 1 ? kGap : 0));
  return s;
}

std::optional<OwnConvolution> convolution_of(const tune::Operator& op) {
  OwnConvolution own;
  own.depthwise = op.type == tune::OpType::DEP;
  tile::GroupedShape s = shape_of(op);
  s.groups = own.depthwise ? op.space[kF] : op.groups.empty() ? 1 : op.groups[0];
  s.inputs = own.depthwise ? 1 : op.reduction[0];
  s.outputs = op.space[kF] / s.groups;
  s.x = steps_of(s.depth.image, s.image, s.groups * s.inputs);
  s.y = steps_of(s.depth.result, s.result, s.groups * s.outputs);
  s.isa = own.depthwise ? convolution_isa(depthwise_shape(s)) : convolution_isa(s);
  if (op.type == tune::OpType::C1D) {
    own.form = Form::LongRows;
    s = tile::LongRows::cut(s, cut_evenly(s.result.columns));
  }
  if (op.type == tune::OpType::T2D) {
    own.form = Form::Transposed;
    std::optional<tile::GroupedShape> spread = transposed_of(s);
    if (!spread) return std::nullopt;
    s = *spread;
    s.isa = convolution_isa(tile::TransposedShape{s});
  }
  own.shape = s;
  return own;
}

tile::ConvolutionSchedule untuned_schedule(const OwnConvolution& own, int threads,
                                           const tile::Caches& caches) {
  if (own.depthwise)
    return tile::Depthwise::default_schedule(depthwise_shape(own.shape), own.tail, threads, caches);
  if (own.form == Form::LongRows)
    return tile::LongRows::default_schedule(own.shape, own.tail, threads, caches);
  return tile::Grouped::default_schedule(tiled_shape(own), own.tail, threads, caches);
}

bool has_code(const OwnConvolution& own) {
  if (own.form == Form::Transposed) return tile::Transposed::suits(transposed_shape(own));
  return own.depthwise ? tile::Depthwise::suits(depthwise_shape(own.shape))
                       : tile::Grouped::suits(own.shape);
}

std::string steps_text(const tile::PixelSteps& steps) {
  std::string text = llvm::formatv("{0} {1} {2}", steps.image, steps.row, steps.pixel);
  return steps.plane == 0 ? text : text + llvm::formatv(" {0}", steps.plane).str();
}

/// The maximum over all schedules.
int64_t weight_floats(const OwnConvolution& own) {
  if (own.depthwise) return tile::Depthwise::weight_elements(depthwise_shape(own.shape));
  int64_t most = 0;
  tile::GroupedShape s = tiled_shape(own);
  for (int64_t vectors = 1; vectors <= tile::Grouped::group_vectors(s); ++vectors) {
    tile::ConvolutionSchedule schedule;
    schedule.vectors = vectors;
    if (tile::Grouped::most_columns(s, vectors) == 0) continue;
    tile::TransposedShape all = transposed_shape(own);
    most = std::max(
        most, own.form == Form::Transposed
                  ? tile::Transposed::weight_elements(all, tile::Transposed::fitted(all, schedule))
                  : tile::Grouped::weight_elements(s, schedule));
  }
  return most;
}

ConvolutionExtents extents_of(const OwnConvolution& own) {
  const tile::GroupedShape& s = own.shape;
  auto floats = [&](const tile::PixelSteps& p, const tile::Plane& plane, int64_t planes,
                    int64_t channels) {
    return (s.images - 1) * p.image + (planes - 1) * p.plane + (plane.rows - 1) * p.row +
           (plane.columns - 1) * p.pixel + channels;
  };
  int64_t outputs = s.groups * s.outputs;
  ConvolutionExtents e;
  e.x = floats(s.x, s.image, s.depth.image, s.groups * s.inputs);
  e.y = floats(s.y, s.result, s.depth.result, outputs);
  e.weights = weight_floats(own);
  if (own.tail.residual) e.residual = floats(s.residual, s.result, s.depth.result, outputs);
  if (own.tail.bias) e.bias = outputs;
  if (own.tail.bias && own.form == Form::Transposed)
    e.bias = tile::Transposed::bias_elements(transposed_shape(own));
  return e;
}

class ConvolutionImplementation final : public Implementation {
public:
  ConvolutionImplementation(std::unique_ptr<tile::Convolution> made, const OwnConvolution& own,
                            int threads, Runs& runs)
      : made_(std::move(made)), extents_(extents_of(own)), finish_(own.tail.finish),
        threads_(threads), runs_(runs) {}
  Result<double> run() override { return runs_.run(*made_, extents_, finish_, threads_); }

private:
  std::unique_ptr<tile::Convolution> made_;
  ConvolutionExtents extents_;
  bool finish_;
  int threads_;
  Runs& runs_;
};

} // namespace

ConvolutionPrograms::ConvolutionPrograms(OwnConvolution convolution, int threads,
                                         const tile::Caches& caches)
    : ConvolutionPrograms(convolution, operator_of(convolution, threads), threads, caches) {
  loops_ = loops_of(own_, threads);
}

ConvolutionPrograms::ConvolutionPrograms(OwnConvolution convolution, tune::Operator op, int threads,
                                         const tile::Caches& caches)
    : OperatorPrograms(std::move(op), threads), own_(std::move(convolution)),
      shape_(tiled_shape(own_)),
      phases_(phases_of(own_)), loops_{is_row() ? own_.shape.result.rows : this->op().space[y()],
                                       is_row() ? own_.shape.result.columns
                                                : this->op().space[x()]},
      untuned_(untuned_schedule(own_, threads, caches)), width_(unit_channels(own_)),
      group_vectors_(
          own_.depthwise || sharing_groups(own_) > 1 ? 1 : tile::Grouped::group_vectors(shape_)) {
  int64_t blocks = own_.shape.planes() * untuned_.bands * untuned_.spans;
  least_parts_ = std::min<int64_t>(threads, blocks);
}

std::unique_ptr<ConvolutionPrograms> ConvolutionPrograms::of(const tune::Operator& op, int threads,
                                                             const tile::Caches& caches) {
  using Type = tune::OpType;
  constexpr Type kTypes[] = {Type::C1D, Type::C2D, Type::C3D, Type::GRP, Type::DEP, Type::T2D};
  if (!llvm::is_contained(kTypes, op.type)) return nullptr;
  std::optional<OwnConvolution> own = convolution_of(op);
  bool multiplied = !op.multiplier.empty() && op.multiplier[0] != 1;
  if (multiplied || !own || !has_code(*own)) return nullptr;
  return std::unique_ptr<ConvolutionPrograms>(
      new ConvolutionPrograms(std::move(*own), op, threads, caches));
}

namespace {

std::string plane_text(const tile::Plane& p) {
  return llvm::formatv("{0} x {1}", p.rows, p.columns);
}

/// Returns the number of taps along an axis that are inside the image, over all results.
int64_t inside(int64_t image, int64_t results, int64_t taps, int64_t stride, int64_t dilation,
               int64_t before) {
  int64_t count = 0;
  for (int64_t tap = 0; tap < taps; ++tap) {
    int64_t shift = tap * dilation - before; // for o * stride to be in 0 .. image - 1
    int64_t first = shift >= 0 ? 0 : ceil_div(-shift, stride);
    int64_t last = shift >= image ? 0 : (image - 1 - shift) / stride + 1;
    count += std::max<int64_t>(0, std::min(last, results) - first);
  }
  return count;
}

std::string kind_text(const OwnConvolution& own) {
  if (own.depthwise) return " depthwise";
  if (own.form == Form::LongRows) return " of a sequence";
  return own.form == Form::Transposed ? " transposed" : "";
}

} // namespace

std::string ConvolutionPrograms::key() const {
  const tile::GroupedShape& s = own_.shape;
  const tile::ConvolutionTail& t = own_.tail;
  std::string key = llvm::formatv(
      "convolution{0} {1} of {2} groups of {3} to {4}, {5} to {6} by {7}, stride {8}, dilation {9}",
      kind_text(own_), s.images, s.groups, s.inputs, s.outputs, plane_text(s.image),
      plane_text(s.result), plane_text(s.kernel), plane_text(s.stride), plane_text(s.dilation));
  if (const tile::Depth& d = s.depth; is_volume(s))
    key += llvm::formatv(", planes {0} to {1} by {2}, stride {3}, dilation {4}, padding {5}",
                         d.image, d.result, d.kernel, d.stride, d.dilation, d.before);
  key +=
      llvm::formatv(", padding {0}, {1}{2} {3}, y {4}", plane_text(s.before), tile::isa_name(s.isa),
                    key_of_threads(threads()), steps_text(s.x), steps_text(s.y));
  if (t.bias) key += ", bias";
  if (t.residual) key += ", residual " + steps_text(s.residual);
  if (t.clamp != tile::Clamp::None) key += t.clamp == tile::Clamp::Relu ? ", relu" : ", relu6";
  if (t.finish) key += ", another activation";
  return key;
}

std::string ConvolutionPrograms::name() const {
  const tile::GroupedShape& s = own_.shape;
  std::string image = plane_text(s.image), kernel = plane_text(s.kernel);
  if (is_volume(s)) {
    image = llvm::formatv("{0} x {1}", s.depth.image, image);
    kernel = llvm::formatv("{0} x {1}", s.depth.kernel, kernel);
  } else if (is_row()) {
    int64_t columns = s.result.rows * s.result.columns; // except at its ends
    image = std::to_string(s.position(columns - 1, s.kernel.columns - 1) + 1);
    kernel = std::to_string(s.kernel.columns);
  }
  std::string name =
      llvm::formatv("{0} x {1} x {2} by {3}", s.images, s.groups * s.inputs, image, kernel);
  int64_t stride = is_row() ? s.stride.columns : s.stride.rows;
  if (stride != 1 || s.stride.columns != 1) name += llvm::formatv(" / {0}", stride);
  if (own_.depthwise) return name + " depthwise";
  name += llvm::formatv(" to {0}", s.groups * s.outputs);
  if (own_.form == Form::Transposed) name += " transposed";
  return s.groups > 1 ? llvm::formatv("{0} in {1} groups", name, s.groups).str() : name;
}

// Taps in the padding are not computed and do not count as work.
double ConvolutionPrograms::flops() const {
  auto of = [](const tile::GroupedShape& s) {
    auto taps = static_cast<double>(inside(s.image.rows, s.result.rows, s.kernel.rows,
                                           s.stride.rows, s.dilation.rows, s.before.rows) *
                                    inside(s.image.columns, s.result.columns, s.kernel.columns,
                                           s.stride.columns, s.dilation.columns, s.before.columns));
    const tile::Depth& d = s.depth;
    taps *=
        static_cast<double>(inside(d.image, d.result, d.kernel, d.stride, d.dilation, d.before));
    return 2 * taps * static_cast<double>(s.images * s.groups * s.outputs * s.inputs);
  };
  if (own_.form != Form::Transposed) return of(own_.shape);
  double all = 0;
  for (const tile::TransposedPhase& phase : tile::Transposed::phases(transposed_shape(own_)))
    if (phase.tap.rows >= 0 && phase.tap.columns >= 0) all += of(phase.shape);
  return all;
}

int64_t ConvolutionPrograms::most_columns(int64_t rows, int64_t vectors) const {
  return own_.depthwise ? tile::Depthwise::most_columns(depthwise_shape(own_.shape), rows)
                        : tile::Grouped::most_columns(shape_, vectors);
}

int64_t ConvolutionPrograms::most_tile_rows() const {
  return own_.depthwise ? tile::Depthwise::most_rows(depthwise_shape(own_.shape)) : 1;
}

bool ConvolutionPrograms::suits(const OwnConvolution& own,
                                const tile::ConvolutionSchedule& schedule) {
  if (own.depthwise) return tile::Depthwise::suits(depthwise_shape(own.shape), own.tail, schedule);
  if (own.form != Form::Transposed) return tile::Grouped::suits(own.shape, own.tail, schedule);
  tile::TransposedShape shape = transposed_shape(own);
  std::vector<tile::TransposedPhase> phases = tile::Transposed::phases(shape);
  if (!tile::Grouped::suits(phases.front().shape, own.tail, schedule)) return false;
  tile::Transposed::Schedules fitted = tile::Transposed::fitted(shape, schedule);
  for (size_t i = 0; i < phases.size(); ++i)
    if (!tile::Grouped::suits(phases[i].shape, own.tail, fitted[i])) return false;
  return true;
}

tune::Extents ConvolutionPrograms::box(int64_t channels, int64_t rows, int64_t columns) const {
  if (is_row()) return {1, channels, rows * columns};
  if (op().type == tune::OpType::C3D) return {1, channels, 1, rows, columns};
  return {1, channels, rows, columns};
}

/// Rows and columns of a schedule's tile are those of a phase. Bands and spans are blocks.
/// The remainder of a loop is threads or, for channels, virtual threads.
void ConvolutionPrograms::set_tile(tune::Tile& tile, const tile::ConvolutionSchedule& s) const {
  int64_t rows = s.rows * phases_.rows, columns = s.columns * phases_.columns;
  int64_t down = loops_.rows / rows / s.bands, across = loops_.columns / columns;
  int64_t of_block = op().space[kF] / (s.vectors * width_) / s.spans;
  int64_t at_once = own_.depthwise ? of_block : s.sets_at_once;
  for (size_t i = 0; i < tile.space.size(); ++i) tile.space[i] = {op().space[i], 1, 1, 1, 1};
  tile.space[kF] = {s.spans, of_block / at_once, at_once, 1, s.vectors * width_};
  if (is_row()) {
    tile.space[x()] = {s.bands, 1, down * across, 1, columns};
    return;
  }
  tile.space[y()] = {s.bands, 1, down, 1, rows};
  tile.space[x()] = {1, 1, across, 1, columns};
}

/// Returns the form that determines a schedule and nothing else:
/// images and planes are blocks, a block has all columns, the tiles of a band are threads,
/// and later iterations of a band are virtual threads.
tune::Program ConvolutionPrograms::adapted(tune::Program program) const {
  tune::Tile& tile = program.tile;
  if (program.sketch != tune::Sketch::Tiles || program.op != op() ||
      tile.space.size() != op().space.size())
    return program;
  const auto f = tile.space[kF], across = tile.space[x()];
  const auto down = is_row() ? std::array<int64_t, 5>{across[0], 1, 1, 1, 1} : tile.space[y()];
  tile::ConvolutionSchedule s;
  bool two_rows = down[3] * down[4] > 1 && loops_.rows % 2 == 0 && most_tile_rows() > 1;
  s.rows = two_rows ? 2 : 1;
  s.bands = std::gcd(down[0], loops_.rows / phases_.rows / s.rows);

  s.vectors = largest_divisor(group_vectors_, f[3] * f[4] / width_);
  while (most_columns(s.rows, s.vectors) < 1)
    s.vectors = largest_divisor(group_vectors_, s.vectors - 1);
  int64_t sets = op().space[kF] / (s.vectors * width_);
  int64_t whole = op().groups.empty() ? sets : op().groups[0]; // blocks have whole groups
  s.spans = own_.tail.finish ? 1 : std::gcd(f[0], std::gcd(sets, whole));
  s.sets_at_once = std::gcd(f[2], sets / s.spans);

  int64_t wanted = std::max<int64_t>(1, across[3] * across[4] / phases_.columns);
  s.columns = largest_divisor(loops_.columns / phases_.columns,
                              std::min(wanted, most_columns(s.rows, s.vectors)));
  set_tile(tile, s);
  for (size_t r = 0; r < tile.reduction.size(); ++r) tile.reduction[r] = {1, op().reduction[r], 1};
  tile.unroll = 0;
  tile.vectors = {1, 1};
  return program;
}

tile::ConvolutionSchedule ConvolutionPrograms::schedule(const tune::Program& program) const {
  const auto &f = program.tile.space[kF], &across = program.tile.space[x()];
  const auto& down = is_row() ? across : program.tile.space[y()];
  tile::ConvolutionSchedule s;
  s.rows = is_row() ? 1 : down[3] * down[4] / phases_.rows;
  s.columns = across[3] * across[4] / phases_.columns;
  s.vectors = own_.depthwise ? 1 : f[3] * f[4] / width_;
  s.bands = down[0];
  s.spans = f[0];
  s.sets_at_once = own_.depthwise ? 1 : f[2];
  return s;
}

std::string ConvolutionPrograms::why_not(const tune::Program& program) const {
  constexpr int64_t kMany = 8; // blocks per thread from which their number may be uneven
  if (program.op != op()) return "it belongs to another operator";
  if (program.sketch != tune::Sketch::Tiles || !tune::check(program).ok())
    return "it is not a program of tiles";
  if (adapted(program) != program) return "it is not a schedule of a convolution";
  tile::ConvolutionSchedule s = schedule(program);
  if (!suits(own_, s)) return "there is no code for such a tile, or a block has nothing to do";
  int64_t blocks = own_.shape.planes() * s.bands * s.spans;
  if (blocks % least_parts_ != 0 && blocks < kMany * least_parts_)
    return llvm::formatv("its blocks cannot be divided among {0} threads", threads());
  return {};
}

tune::Extents ConvolutionPrograms::choose_block(const tune::Nest& nest, int64_t points,
                                                tune::BlockCost& cost) const {
  tune::Extents best;
  int64_t least = INT64_MAX, columns = loops_.columns;
  if (points % columns != 0) return best;
  for (int64_t rows : tune::divisors(loops_.rows)) {
    if (points / columns % rows != 0 || rows % phases_.rows != 0) continue;
    int64_t channels = points / columns / rows;
    if (nest.space[kF] % channels != 0 || channels % width_ != 0 ||
        channels % nest.block_step[kF] != 0 || (own_.tail.finish && channels != nest.space[kF]))
      continue;
    tune::Extents block = box(channels, rows, columns);
    if (int64_t lines = cost.of(block); lines < least) {
      least = lines;
      best = std::move(block);
    }
  }
  return best;
}

// Estimates the cost of a tile for one tap: loads of weights and pixels, and multiply-adds,
// with as many load ports as arithmetic units; and the latency of dependent sums.
std::optional<tune::ThreadShape> ConvolutionPrograms::choose_threads(const tune::Extents& block,
                                                                     int64_t threads) const {
  auto latency = static_cast<int64_t>(4 * tile::vectors_a_cycle(own_.shape.isa));
  std::optional<tune::ThreadShape> best;
  int64_t least = INT64_MAX, of_row = loops_.columns / phases_.columns;
  int64_t block_rows = (is_row() ? block[x()] / loops_.columns : block[y()]) / phases_.rows;
  for (int64_t rows = 1; rows <= most_tile_rows(); ++rows)
    for (int64_t vectors : tune::divisors(group_vectors_))
      for (int64_t columns : tune::divisors(of_row)) {
        if (columns > most_columns(rows, vectors) || block_rows % rows != 0) continue;
        int64_t down = block_rows / rows, across = of_row / columns,
                sets = block[kF] / (vectors * width_);
        if (sets * vectors * width_ != block[kF] || threads % (down * across) != 0) continue;
        int64_t at_once = threads / (down * across);
        if (sets % at_once != 0 || (own_.depthwise && at_once != sets)) continue;
        int64_t products = rows * columns * vectors, loads = vectors + rows * columns;
        int64_t slots = down * across * sets * std::max({products, loads, latency});
        if (slots >= least) continue;
        least = slots;
        best = tune::ThreadShape{
            box(at_once, down, across), box(sets / at_once, 1, 1),
            box(vectors * width_, rows * phases_.rows, columns * phases_.columns)};
      }
  return best;
}

std::optional<tune::Program> ConvolutionPrograms::guess() const {
  tune::Program program{op(), tune::Sketch::Tiles, {}, {}};
  tune::Tile& tile = program.tile;
  tile.space.assign(op().space.size(), {1, 1, 1, 1, 1});
  tile.space[kF] = {untuned_.spans, 1, untuned_.sets_at_once, 1, untuned_.vectors * width_};
  if (!is_row()) tile.space[y()] = {untuned_.bands, 1, 1, 1, untuned_.rows * phases_.rows};
  tile.space[x()] = {is_row() ? untuned_.bands : 1, 1, 1, 1, untuned_.columns * phases_.columns};
  tile.reduction.assign(op().reduction.size(), {1, 1, 1});
  program = adapted(std::move(program));
  if (!why_not(program).empty()) return std::nullopt;
  return program;
}

Result<std::unique_ptr<Implementation>>
ConvolutionPrograms::implementation(const tune::Program* program, Runs& runs) const {
  tile::ConvolutionSchedule s = program ? schedule(*program) : untuned_;
  std::unique_ptr<tile::Convolution> made;
  if (own_.depthwise) {
    TG_TRY(made, tile::Depthwise::make(depthwise_shape(own_.shape), own_.tail, s, threads()));
  } else if (own_.form == Form::Transposed) {
    tile::TransposedShape shape = transposed_shape(own_);
    TG_TRY(made, tile::Transposed::make(shape, own_.tail,
                                        program ? tile::Transposed::fitted(shape, s)
                                                : tile::Transposed::default_schedules(
                                                      shape, own_.tail, threads(), tile::caches()),
                                        threads()));
  } else {
    TG_TRY(made, tile::Grouped::make(own_.shape, own_.tail, s, threads()));
  }
  return std::unique_ptr<Implementation>(
      std::make_unique<ConvolutionImplementation>(std::move(made), own_, threads(), runs));
}

} // namespace tg::cpu
