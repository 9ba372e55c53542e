// The mapping of programs to schedules of convolutions, and what is legal.
#include "runtime/onednn/tuning/convolution_programs.h"

#include "runtime/onednn/lowering/tile_convolution.h"
#include "runtime/onednn/tuning/loops.h"
#include "runtime/tune/factors.h"

#include <llvm/Support/FormatVariadic.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tg::cpu {

namespace {

using tile::ceil_div;

constexpr size_t kN = 0, kF = 1, kY = 2, kX = 3;

/// Columns that fit no tile: tiles of the sizes that there are, whose numbers have many divisors.
int64_t padded_columns(int64_t columns) {
  constexpr int64_t kFew = 4, kWidest = 12;
  return columns <= kFew ? columns : kWidest * smooth_from(ceil_div(columns, kWidest));
}

/// Groups that share a vector.
int64_t sharing_groups(const OwnConvolution& own) {
  return own.depthwise ? 1 : tile::Grouped::tile(own.shape, {}).groups;
}

/// Channels of what a tile has one or more of.
int64_t unit_channels(const OwnConvolution& own) {
  int64_t sharing = sharing_groups(own);
  return sharing > 1 ? sharing * own.shape.outputs : own.shape.lanes();
}

/// Rows that fall to as many threads, in twos where a tile has two.
int64_t padded_image_rows(const OwnConvolution& own, int threads) {
  int64_t rows = own.shape.result.rows, unit = rows >= threads ? threads : 1;
  bool pairs = own.depthwise && tile::Depthwise::most_rows(depthwise_shape(own.shape)) > 1;
  if (pairs && rows > unit) unit *= 2;
  return unit * smooth_from(ceil_div(rows, unit));
}

tune::Operator operator_of(const OwnConvolution& own, int threads) {
  const tile::GroupedShape& s = own.shape;
  tune::Operator op;
  int64_t channels = 0;
  op.reduction = {s.inputs, s.kernel.rows, s.kernel.columns};
  if (own.depthwise) {
    op.type = tune::OpType::DEP;
    channels = s.lanes() * smooth_from(ceil_div(s.groups, s.lanes()));
    op.reduction.erase(op.reduction.begin());
  } else {
    int64_t sharing = sharing_groups(own), groups = sharing * ceil_div(s.groups, sharing);
    int64_t of_group = sharing > 1 ? s.outputs : s.lanes() * ceil_div(s.outputs, s.lanes());
    channels = groups * of_group;
    op.type = s.groups > 1 ? tune::OpType::GRP : tune::OpType::C2D;
    if (s.groups > 1) op.groups = {groups};
  }
  op.space = {s.images, channels, padded_image_rows(own, threads),
              padded_columns(s.result.columns)};
  if (s.stride.rows != 1 || s.stride.columns != 1) op.stride = {s.stride.rows, s.stride.columns};
  if (s.dilation.rows != 1 || s.dilation.columns != 1)
    op.dilation = {s.dilation.rows, s.dilation.columns};
  return op;
}

/// Pixels side by side, an image that its windows fill.
OwnConvolution convolution_of(const tune::Operator& op) {
  OwnConvolution own;
  tile::GroupedShape& s = own.shape;
  own.depthwise = op.type == tune::OpType::DEP;
  auto number = [](const tune::Extents& list, size_t i) { return list.empty() ? 1 : list[i]; };
  s.groups = own.depthwise ? op.space[kF] : number(op.groups, 0);
  s.inputs = own.depthwise ? 1 : op.reduction[0];
  s.outputs = op.space[kF] / s.groups;
  s.images = op.space[kN];
  s.result = {op.space[kY], op.space[kX]};
  size_t tap = op.reduction.size() - 2;
  s.kernel = {op.reduction[tap], op.reduction[tap + 1]};
  s.stride = {number(op.stride, 0), number(op.stride, 1)};
  s.dilation = {number(op.dilation, 0), number(op.dilation, 1)};
  s.image = {(s.result.rows - 1) * s.stride.rows + (s.kernel.rows - 1) * s.dilation.rows + 1,
             (s.result.columns - 1) * s.stride.columns +
                 (s.kernel.columns - 1) * s.dilation.columns + 1};
  auto lay = [](const tile::Plane& plane, int64_t channels) {
    return tile::PixelSteps{plane.rows * plane.columns * channels, plane.columns * channels,
                            channels};
  };
  s.x = lay(s.image, s.groups * s.inputs);
  s.y = lay(s.result, s.groups * s.outputs);
  s.isa = own.depthwise ? convolution_isa(depthwise_shape(s)) : convolution_isa(s);
  return own;
}

tile::ConvolutionSchedule untuned_schedule(const OwnConvolution& own, int threads,
                                           const tile::Caches& caches) {
  return own.depthwise ? tile::Depthwise::default_schedule(depthwise_shape(own.shape), own.tail,
                                                           threads, caches)
                       : tile::Grouped::default_schedule(own.shape, own.tail, threads, caches);
}

bool has_code(const OwnConvolution& own) {
  return own.depthwise ? tile::Depthwise::suits(depthwise_shape(own.shape))
                       : tile::Grouped::suits(own.shape);
}

std::string steps_text(const tile::PixelSteps& steps) {
  return llvm::formatv("{0} {1} {2}", steps.image, steps.row, steps.pixel);
}

/// By whatever schedule.
int64_t weight_floats(const OwnConvolution& own) {
  if (own.depthwise) return tile::Depthwise::weight_elements(depthwise_shape(own.shape));
  int64_t most = 0;
  for (int64_t vectors = 1; vectors <= tile::Grouped::group_vectors(own.shape); ++vectors) {
    tile::ConvolutionSchedule schedule;
    schedule.vectors = vectors;
    if (tile::Grouped::most_columns(own.shape, vectors) > 0)
      most = std::max(most, tile::Grouped::weight_elements(own.shape, schedule));
  }
  return most;
}

ConvolutionExtents extents_of(const OwnConvolution& own) {
  const tile::GroupedShape& s = own.shape;
  auto floats = [&](const tile::PixelSteps& p, const tile::Plane& plane, int64_t channels) {
    return (s.images - 1) * p.image + (plane.rows - 1) * p.row + (plane.columns - 1) * p.pixel +
           channels;
  };
  int64_t outputs = s.groups * s.outputs;
  ConvolutionExtents e;
  e.x = floats(s.x, s.image, s.groups * s.inputs);
  e.y = floats(s.y, s.result, outputs);
  e.weights = weight_floats(own);
  if (own.tail.residual) e.residual = floats(s.residual, s.result, outputs);
  if (own.tail.bias) e.bias = outputs;
  return e;
}

class ConvolutionWay final : public Way {
public:
  ConvolutionWay(std::unique_ptr<tile::Convolution> made, const OwnConvolution& own, int threads,
                 Runs& runs)
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

tile::DepthwiseShape depthwise_shape(const tile::GroupedShape& shape) {
  tile::DepthwiseShape s;
  static_cast<tile::ConvolutionShape&>(s) = shape;
  s.channels = shape.groups;
  return s;
}

ConvolutionPrograms::ConvolutionPrograms(OwnConvolution convolution, int threads,
                                         const tile::Caches& caches)
    : ConvolutionPrograms(convolution, operator_of(convolution, threads), threads, caches) {}

ConvolutionPrograms::ConvolutionPrograms(OwnConvolution convolution, tune::Operator op, int threads,
                                         const tile::Caches& caches)
    : OperatorPrograms(std::move(op), threads), own_(std::move(convolution)),
      untuned_(untuned_schedule(own_, threads, caches)), width_(unit_channels(own_)),
      group_vectors_(own_.depthwise || sharing_groups(own_) > 1
                         ? 1
                         : tile::Grouped::group_vectors(own_.shape)) {
  int64_t blocks = own_.shape.images * untuned_.bands * untuned_.spans;
  least_parts_ = std::min<int64_t>(threads, blocks);
}

std::unique_ptr<ConvolutionPrograms> ConvolutionPrograms::of(const tune::Operator& op, int threads,
                                                             const tile::Caches& caches) {
  using Type = tune::OpType;
  if (op.type != Type::C2D && op.type != Type::GRP && op.type != Type::DEP) return nullptr;
  OwnConvolution own = convolution_of(op);
  bool multiplied = !op.multiplier.empty() && op.multiplier[0] != 1;
  if (multiplied || !has_code(own)) return nullptr;
  return std::unique_ptr<ConvolutionPrograms>(
      new ConvolutionPrograms(std::move(own), op, threads, caches));
}

std::string ConvolutionPrograms::key() const {
  const tile::GroupedShape& s = own_.shape;
  const tile::ConvolutionTail& t = own_.tail;
  auto plane = [](const tile::Plane& p) {
    return llvm::formatv("{0} x {1}", p.rows, p.columns).str();
  };
  std::string key = llvm::formatv(
      "convolution{0} {1} of {2} groups of {3} to {4}, {5} to {6} by {7}, stride {8}, dilation {9}",
      own_.depthwise ? " depthwise" : "", s.images, s.groups, s.inputs, s.outputs, plane(s.image),
      plane(s.result), plane(s.kernel), plane(s.stride), plane(s.dilation));
  key += llvm::formatv(", padding {0}, {1}{2} {3}, y {4}", plane(s.before), tile::isa_name(s.isa),
                       key_of_threads(threads()), steps_text(s.x), steps_text(s.y));
  if (t.bias) key += ", bias";
  if (t.residual) key += ", residual " + steps_text(s.residual);
  if (t.clamp != tile::Clamp::None) key += t.clamp == tile::Clamp::Relu ? ", relu" : ", relu6";
  if (t.finish) key += ", another activation";
  return key;
}

std::string ConvolutionPrograms::name() const {
  const tile::GroupedShape& s = own_.shape;
  std::string name =
      llvm::formatv("{0} x {1} x {2} x {3} by {4} x {5}", s.images, s.groups * s.inputs,
                    s.image.rows, s.image.columns, s.kernel.rows, s.kernel.columns);
  if (s.stride.rows != 1 || s.stride.columns != 1) name += llvm::formatv(" / {0}", s.stride.rows);
  if (own_.depthwise) return name + " depthwise";
  name += llvm::formatv(" to {0}", s.groups * s.outputs);
  return s.groups > 1 ? llvm::formatv("{0} in {1} groups", name, s.groups).str() : name;
}

double ConvolutionPrograms::flops() const {
  const tile::GroupedShape& s = own_.shape;
  double results = static_cast<double>(s.images * s.groups * s.outputs) *
                   static_cast<double>(s.result.rows * s.result.columns);
  return 2 * results * static_cast<double>(s.inputs * s.taps());
}

int64_t ConvolutionPrograms::most_columns(int64_t rows, int64_t vectors) const {
  return own_.depthwise ? tile::Depthwise::most_columns(depthwise_shape(own_.shape), rows)
                        : tile::Grouped::most_columns(own_.shape, vectors);
}

bool ConvolutionPrograms::suits(const OwnConvolution& own,
                                const tile::ConvolutionSchedule& schedule) {
  return own.depthwise ? tile::Depthwise::suits(depthwise_shape(own.shape), own.tail, schedule)
                       : tile::Grouped::suits(own.shape, own.tail, schedule);
}

/// The form that means a schedule and nothing else: images are blocks, a block has all columns,
/// tiles of a band are threads, and what a band goes over later are virtual ones.
tune::Program ConvolutionPrograms::adapted(tune::Program program) const {
  tune::Tile& tile = program.tile;
  if (program.sketch != tune::Sketch::Tiles || program.op != op() || tile.space.size() != 4)
    return program;
  auto &n = tile.space[kN], &f = tile.space[kF], &y = tile.space[kY], &x = tile.space[kX];
  n = {op().space[kN], 1, 1, 1, 1};

  bool two_rows = own_.depthwise && y[3] * y[4] > 1 && op().space[kY] % 2 == 0 &&
                  tile::Depthwise::most_rows(depthwise_shape(own_.shape)) > 1;
  int64_t rows = two_rows ? 2 : 1, units = op().space[kY] / rows, bands = std::gcd(y[0], units);
  y = {bands, 1, units / bands, 1, rows};

  int64_t vectors = largest_divisor(group_vectors_, f[3] * f[4] / width_);
  while (most_columns(rows, vectors) < 1) vectors = largest_divisor(group_vectors_, vectors - 1);
  int64_t sets = op().space[kF] / (vectors * width_);
  int64_t whole = op().groups.empty() ? sets : op().groups[0]; // blocks have whole groups
  int64_t spans = own_.tail.finish ? 1 : std::gcd(f[0], std::gcd(sets, whole));
  int64_t of_block = sets / spans, at_once = own_.depthwise ? of_block : std::gcd(f[2], of_block);
  f = {spans, of_block / at_once, at_once, 1, vectors * width_};

  int64_t columns =
      largest_divisor(op().space[kX], std::min(x[3] * x[4], most_columns(rows, vectors)));
  x = {1, 1, op().space[kX] / columns, 1, columns};

  for (size_t r = 0; r < tile.reduction.size(); ++r) tile.reduction[r] = {1, op().reduction[r], 1};
  tile.unroll = 0;
  tile.vectors = {1, 1};
  return program;
}

tile::ConvolutionSchedule ConvolutionPrograms::schedule(const tune::Program& program) const {
  const auto &f = program.tile.space[kF], &y = program.tile.space[kY], &x = program.tile.space[kX];
  tile::ConvolutionSchedule s;
  s.rows = y[3] * y[4];
  s.columns = x[3] * x[4];
  s.vectors = own_.depthwise ? 1 : f[3] * f[4] / width_;
  s.bands = y[0];
  s.spans = f[0];
  s.sets_at_once = own_.depthwise ? 1 : f[2];
  return s;
}

std::string ConvolutionPrograms::why_not(const tune::Program& program) const {
  constexpr int64_t kMany = 8; // blocks of a thread, which then need not be equally many
  if (program.op != op()) return "it is of another operator";
  if (program.sketch != tune::Sketch::Tiles || !tune::check(program).ok())
    return "it is no program of tiles";
  if (adapted(program) != program) return "it is no schedule of a convolution";
  tile::ConvolutionSchedule s = schedule(program);
  if (!suits(own_, s)) return "there is no code for such a tile, or a block has nothing to do";
  int64_t blocks = own_.shape.images * s.bands * s.spans;
  if (blocks % least_parts_ != 0 && blocks < kMany * least_parts_)
    return llvm::formatv("its blocks do not fall to {0} threads", threads());
  return {};
}

tune::Extents ConvolutionPrograms::choose_block(const tune::Nest& nest, int64_t points,
                                                tune::BlockCost& cost) const {
  tune::Extents best;
  int64_t least = INT64_MAX, columns = nest.space[kX];
  if (points % columns != 0) return best;
  for (int64_t rows : tune::divisors(nest.space[kY])) {
    if (points / columns % rows != 0) continue;
    int64_t channels = points / columns / rows;
    if (nest.space[kF] % channels != 0 || channels % width_ != 0 ||
        channels % nest.block_step[kF] != 0 || (own_.tail.finish && channels != nest.space[kF]))
      continue;
    tune::Extents block = {1, channels, rows, columns};
    if (int64_t lines = cost.of(block); lines < least) {
      least = lines;
      best = std::move(block);
    }
  }
  return best;
}

// What a tile costs for one tap: loads of weights and pixels, multiply-adds, as many ports as
// units; and sums that wait for each other.
std::optional<tune::ThreadShape> ConvolutionPrograms::choose_threads(const tune::Extents& block,
                                                                     int64_t threads) const {
  auto latency = static_cast<int64_t>(4 * tile::vectors_a_cycle(own_.shape.isa));
  std::optional<tune::ThreadShape> best;
  int64_t least = INT64_MAX;
  int64_t most_rows = own_.depthwise ? tile::Depthwise::most_rows(depthwise_shape(own_.shape)) : 1;
  for (int64_t rows = 1; rows <= most_rows; ++rows)
    for (int64_t vectors : tune::divisors(group_vectors_))
      for (int64_t columns : tune::divisors(block[kX])) {
        if (columns > most_columns(rows, vectors) || block[kY] % rows != 0) continue;
        int64_t down = block[kY] / rows, across = block[kX] / columns,
                sets = block[kF] / (vectors * width_);
        if (sets * vectors * width_ != block[kF] || threads % (down * across) != 0) continue;
        int64_t at_once = threads / (down * across);
        if (sets % at_once != 0 || (own_.depthwise && at_once != sets)) continue;
        int64_t products = rows * columns * vectors, loads = vectors + rows * columns;
        int64_t slots = down * across * sets * std::max({products, loads, latency});
        if (slots >= least) continue;
        least = slots;
        best = tune::ThreadShape{{1, at_once, down, across},
                                 {1, sets / at_once, 1, 1},
                                 {1, vectors * width_, rows, columns}};
      }
  return best;
}

std::optional<tune::Program> ConvolutionPrograms::guess() const {
  tune::Program program{op(), tune::Sketch::Tiles, {}, {}};
  program.tile.space = {{1, 1, 1, 1, 1},
                        {untuned_.spans, 1, untuned_.sets_at_once, 1, untuned_.vectors * width_},
                        {untuned_.bands, 1, 1, 1, untuned_.rows},
                        {1, 1, 1, 1, untuned_.columns}};
  program.tile.reduction.assign(op().reduction.size(), {1, 1, 1});
  program = adapted(std::move(program));
  if (!why_not(program).empty()) return std::nullopt;
  return program;
}

Result<std::unique_ptr<Way>> ConvolutionPrograms::way(const tune::Program* program,
                                                      Runs& runs) const {
  tile::ConvolutionSchedule s = program ? schedule(*program) : untuned_;
  std::unique_ptr<tile::Convolution> made;
  if (own_.depthwise) {
    TG_TRY(made, tile::Depthwise::make(depthwise_shape(own_.shape), own_.tail, s, threads()));
  } else {
    TG_TRY(made, tile::Grouped::make(own_.shape, own_.tail, s, threads()));
  }
  return std::unique_ptr<Way>(
      std::make_unique<ConvolutionWay>(std::move(made), own_, threads(), runs));
}

} // namespace tg::cpu
