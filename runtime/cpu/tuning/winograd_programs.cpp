// Maps programs to cuts of Winograd convolutions, and checks legality.
#include "runtime/cpu/tuning/winograd_programs.h"

#include "runtime/cpu/tile/convolution.h"
#include "runtime/cpu/tuning/loops.h"
#include "runtime/tune/factors.h"

#include <llvm/Support/FormatVariadic.h>

#include <algorithm>
#include <bit>
#include <numeric>

namespace tg::cpu {

namespace {

using tile::ceil_div;

constexpr size_t kEps = 0, kNu = 1, kP = 2, kCo = 3;
constexpr size_t kPack = 0, kInverse = 1, kStages = 3;

/// Rounds up to a number of equal parts; if it is less than the number of threads,
/// to one with many divisors.
int64_t padded_parts(int64_t number, int threads) {
  int64_t unit = number >= threads ? threads : 1;
  return unit * smooth_from(ceil_div(number, unit));
}

tune::Operator winograd_operator(const WinogradShape& s, int threads) {
  tune::Operator op;
  op.type = tune::OpType::WIN;
  int64_t side = s.tile + 2;
  op.space = {side, side, padded_parts(s.tiles(), threads),
              kPanel * padded_parts(ceil_div(s.outputs, kPanel), threads)};
  op.reduction = {s.inputs};
  op.output = {s.images, s.out_height, s.out_width, s.tile};
  return op;
}

/// Returns the channels of a tile: a power of two of panels, or all channels.
int64_t whole_panels(int64_t channels, int64_t all) {
  if (channels >= all) return all;
  auto panels = static_cast<uint64_t>(std::max<int64_t>(1, channels / kPanel));
  return kPanel * static_cast<int64_t>(std::bit_floor(panels));
}

int64_t extent(const ImageSteps& steps, int64_t images, int64_t rows, int64_t columns,
               int64_t channels) {
  return (images - 1) * steps.image + (rows - 1) * steps.row + (columns - 1) * steps.pixel +
         channels;
}

std::string steps_text(const ImageSteps& s) {
  return llvm::formatv("{0} {1} {2}", s.image, s.row, s.pixel);
}

class WinogradImplementation final : public Implementation {
public:
  WinogradImplementation(const WinogradShape& shape, int threads, const WinogradCut& cut,
                         Runs& runs)
      : schedule_(shape, runs.threads(threads), cut), runs_(runs) {}
  Result<double> run() override {
    const WinogradShape& s = schedule_.shape();
    RunExtents need;
    need.x = extent(s.x, s.images, s.height, s.width, s.inputs);
    need.y = extent(s.y, s.images, s.out_height, s.out_width, s.outputs);
    need.weights = schedule_.weight_elements();
    need.scratch = schedule_.scratch_elements();
    return runs_.run(need, [&](const RunPlaces& at) {
      schedule_.run(winograd_table(),
                    {at.x, at.weights, nullptr, nullptr, at.y, at.scratch, Act::None});
    });
  }

private:
  WinogradSchedule schedule_;
  Runs& runs_;
};

} // namespace

WinogradPrograms::WinogradPrograms(const WinogradShape& shape, int threads)
    : WinogradPrograms(shape, winograd_operator(shape, threads), threads) {}

WinogradPrograms::WinogradPrograms(const WinogradShape& shape, tune::Operator op, int threads)
    : OperatorPrograms(std::move(op), threads), shape_(shape),
      least_parts_(std::min<int64_t>(threads, shape.tiles())) {}

std::unique_ptr<WinogradPrograms> WinogradPrograms::of(const tune::Operator& op, int threads) {
  int64_t tile = op.space[kEps] - 2;
  if (op.type != tune::OpType::WIN || op.space[kEps] != op.space[kNu] || (tile != 2 && tile != 4) ||
      op.space[kCo] % kPanel != 0)
    return nullptr;
  WinogradShape s;
  s.tile = tile;
  s.out_height = tile;
  s.out_width = tile * op.space[kP];
  s.height = s.out_height + 2;
  s.width = s.out_width + 2;
  s.inputs = op.reduction[0];
  s.outputs = op.space[kCo];
  s.x = {s.height * s.width * s.inputs, s.width * s.inputs, s.inputs};
  s.y = {s.out_height * s.out_width * s.outputs, s.out_width * s.outputs, s.outputs};
  return std::unique_ptr<WinogradPrograms>(new WinogradPrograms(s, op, threads));
}

std::string WinogradPrograms::key() const {
  const WinogradShape& s = shape_;
  return llvm::formatv(
      "winograd {0} of {1} x {2} x {3} to {4} x {5}, {6} to {7}, padding {8} x {9}, "
      "{10}{11} {12}, y {13}",
      s.tile, s.images, s.height, s.width, s.out_height, s.out_width, s.inputs, s.outputs, s.above,
      s.left, winograd_table().isa, key_of_threads(threads()), steps_text(s.x), steps_text(s.y));
}

std::string WinogradPrograms::name() const {
  const WinogradShape& s = shape_;
  return llvm::formatv("{0} x {1} x {2} x {3} to {4} in tiles of {5} x {5}", s.images, s.inputs,
                       s.height, s.width, s.outputs, s.tile);
}

double WinogradPrograms::flops() const {
  return 2 * static_cast<double>(shape_.positions() * shape_.tiles()) *
         static_cast<double>(shape_.inputs * shape_.outputs);
}

tune::Program WinogradPrograms::program_of(const WinogradCut& cut) const {
  tune::Program program{op(), tune::Sketch::TilesAndFlat, {}, {}};
  int64_t side = op().space[kEps], width = cut.panels * kPanel;
  int64_t parts = cut.by_channels ? threads() : 1;
  program.tile.space = {{1, 1, side, 1, 1},
                        {1, 1, side, 1, 1},
                        {cut.cuts, 1, tiles() / cut.cuts / cut.rows, 1, cut.rows},
                        {parts, 1, panels() / parts / cut.panels, 1, width}};
  program.tile.reduction = {{1, op().reduction[0], 1}};
  program.tile.vectors = {1, 1};
  int64_t inputs = ceil_div(op().reduction[0], kPanel) * kPanel;
  program.threads = {whole_panels(cut.packed, inputs), whole_panels(cut.written, width), 1};
  return program;
}

/// Returns the form that determines a cut and nothing else. Positions are threads,
/// with the loop over columns outside. A block's panels and rows of tiles are those of products.
/// data_pack and inverse have the channels of a tile that are processed together.
/// Writing the output is part of the inverse.
tune::Program WinogradPrograms::adapted(tune::Program program) const {
  if (program.sketch != tune::Sketch::TilesAndFlat || program.op != op() ||
      program.tile.space.size() != op().space.size() || program.threads.size() != kStages)
    return program;
  const auto &p = program.tile.space[kP], &co = program.tile.space[kCo];
  WinogradCut cut;
  cut.by_channels = co[0] > 1 && may_part_channels();
  int64_t of_part = cut.by_channels ? panels() / threads() : panels();
  cut.panels = largest_divisor(of_part, std::clamp(co[3] * co[4] / kPanel, int64_t{1}, kMaxPanels));
  cut.cuts = cut.by_channels ? 1 : std::gcd(p[0], tiles());
  cut.rows = largest_divisor(tiles() / cut.cuts,
                             std::min(winograd_table().most_rows(cut.panels), p[3] * p[4]));
  cut.packed = program.threads[kPack];
  cut.written = program.threads[kInverse];
  return program_of(cut);
}

WinogradCut WinogradPrograms::cut(const tune::Program& program) const {
  const auto &p = program.tile.space[kP], &co = program.tile.space[kCo];
  WinogradCut cut;
  cut.cuts = p[0];
  cut.by_channels = co[0] > 1;
  cut.panels = co[4] / kPanel;
  cut.rows = p[4];
  cut.packed = program.threads[kPack];
  cut.written = program.threads[kInverse];
  return cut;
}

std::string WinogradPrograms::why_not(const tune::Program& program) const {
  constexpr int64_t kMany = 8; // cuts per thread from which their number may be uneven
  if (program.op != op()) return "it belongs to another operator";
  if (!tune::check(program).ok()) return "it is not a program of tiles and stages";
  if (adapted(program) != program) return "it is not a partition of a Winograd convolution";
  WinogradCut c = cut(program);
  if (!suits(shape_, threads(), c)) return "there are fewer tiles, or a partition is too large";
  if (!c.by_channels && c.cuts % least_parts_ != 0 && c.cuts < kMany * least_parts_)
    return llvm::formatv("its partitions cannot be divided among {0} threads", threads());
  return {};
}

tune::Extents WinogradPrograms::choose_block(const tune::Nest& nest, int64_t points,
                                             tune::BlockCost& cost) const {
  tune::Extents best;
  int64_t least = INT64_MAX, positions = nest.space[kEps] * nest.space[kNu];
  if (points % positions != 0) return best;
  for (int64_t of_block : tune::divisors(nest.space[kP])) {
    if (points / positions % of_block != 0) continue;
    int64_t channels = points / positions / of_block;
    bool part =
        may_part_channels() && of_block == tiles() && channels * threads() == nest.space[kCo];
    if (channels != nest.space[kCo] && !part) continue;
    tune::Extents block = {nest.space[kEps], nest.space[kNu], of_block, channels};
    if (int64_t lines = cost.of(block); lines < least) {
      least = lines;
      best = std::move(block);
    }
  }
  return best;
}

// Estimates the cost of a product for one input: loads of weights and factors, and multiply-adds,
// with as many load ports as arithmetic units; and the latency of dependent sums.
std::optional<tune::ThreadShape> WinogradPrograms::choose_threads(const tune::Extents& block,
                                                                  int64_t threads) const {
  constexpr int64_t kLatency = 8;
  std::optional<tune::ThreadShape> best;
  int64_t least = INT64_MAX, positions = block[kEps] * block[kNu];
  for (int64_t panels : tune::divisors(block[kCo] / kPanel)) {
    if (panels > kMaxPanels) break;
    for (int64_t rows : tune::divisors(block[kP])) {
      int64_t blocks = block[kCo] / (panels * kPanel), down = block[kP] / rows;
      if (rows > winograd_table().most_rows(panels) || positions * down * blocks != threads)
        continue;
      int64_t slots = down * blocks * std::max({rows * panels, rows + panels, kLatency});
      if (slots >= least) continue;
      least = slots;
      best = tune::ThreadShape{
          {block[kEps], block[kNu], down, blocks}, {1, 1, 1, 1}, {1, 1, rows, panels * kPanel}};
    }
  }
  return best;
}

std::optional<tune::Program> WinogradPrograms::guess() const {
  WinogradCut near = untuned();
  near.panels = largest_divisor(
      near.by_channels && may_part_channels() ? panels() / threads() : panels(), near.panels);
  for (int64_t cuts : tune::divisors(tiles())) { // the fewest that are enough
    if (near.by_channels ? cuts > 1 : cuts < untuned().cuts) continue;
    near.cuts = cuts;
    near.rows = largest_divisor(tiles() / cuts, winograd_table().most_rows(near.panels));
    tune::Program program = program_of(near);
    if (why_not(program).empty()) return program;
  }
  return std::nullopt;
}

Result<std::unique_ptr<Implementation>>
WinogradPrograms::implementation(const tune::Program* program, Runs& runs) const {
  WinogradCut c = program ? cut(*program) : untuned();
  return std::unique_ptr<Implementation>(
      std::make_unique<WinogradImplementation>(shape_, threads(), c, runs));
}

} // namespace tg::cpu
