// Converts loops of capsules to those of a convolution, and back.
#include "runtime/cpu/tuning/capsule_programs.h"

#include <llvm/Support/FormatVariadic.h>

#include <numeric>

namespace tg::cpu {

namespace {

/// The loops of the convolution: images, channels, rows, columns; inputs and taps.
enum Flat : size_t { kFlatImages, kFlatChannels, kFlatRows, kFlatColumns };
/// The loops of capsules: n, y, x, rows and columns of a capsule, f; taps, the sum's index, inputs.
enum Parted : size_t { kPartN, kPartY, kPartX, kPartI, kPartJ, kPartF };
enum Summed : size_t { kPartTapY, kPartTapX, kPartK, kPartC };
constexpr size_t kPartSpace = 6, kPartReduction = 4;

template <size_t N>
std::array<int64_t, N> times_each(const std::array<int64_t, N>& a,
                                  const std::array<int64_t, N>& b) {
  std::array<int64_t, N> all;
  for (size_t i = 0; i < N; ++i) all[i] = a[i] * b[i];
  return all;
}

/// Returns the factors of a loop that is the product of `inner` and another loop:
/// those of both, the other loop's first.
template <size_t N>
std::array<std::array<int64_t, N>, 2> parts_of_factors(const std::array<int64_t, N>& factors,
                                                       int64_t inner) {
  std::array<std::array<int64_t, N>, 2> both;
  for (size_t i = N; i-- > 0;) {
    both[1][i] = std::gcd(factors[i], inner);
    both[0][i] = factors[i] / both[1][i];
    inner /= both[1][i];
  }
  return both;
}

/// Converts points along the convolution's loops to those of capsules.
tune::Extents capsule_box(const tune::Extents& flat, int64_t channels) {
  int64_t f = std::gcd(flat[kFlatChannels], channels);
  return {flat[kFlatImages], flat[kFlatRows], flat[kFlatColumns], 1, flat[kFlatChannels] / f, f};
}

std::optional<tune::Operator> capsule_operator(const tune::Operator& flat,
                                               const tile::Plane& capsules) {
  auto [rows, columns] = capsules;
  bool even = flat.stride.empty() || flat.stride[0] == flat.stride[1];
  if (flat.type != tune::OpType::C2D || !even || !flat.dilation.empty() || rows < 1 ||
      columns < 1 || flat.space[kFlatImages] % rows != 0 ||
      flat.space[kFlatChannels] % columns != 0 || flat.reduction[0] % columns != 0)
    return std::nullopt;
  tune::Operator op;
  op.type = tune::OpType::CAP;
  op.space = {flat.space[kFlatImages] / rows,
              flat.space[kFlatRows],
              flat.space[kFlatColumns],
              rows,
              columns,
              flat.space[kFlatChannels] / columns};
  op.reduction = {flat.reduction[1], flat.reduction[2], columns, flat.reduction[0] / columns};
  if (!flat.stride.empty()) op.stride = {flat.stride[0]};
  return op;
}

tune::Operator flat_operator(const tune::Operator& op) {
  tune::Operator flat;
  flat.type = tune::OpType::C2D;
  flat.space = {op.space[kPartN] * op.space[kPartI], op.space[kPartJ] * op.space[kPartF],
                op.space[kPartY], op.space[kPartX]};
  flat.reduction = {op.reduction[kPartK] * op.reduction[kPartC], op.reduction[kPartTapY],
                    op.reduction[kPartTapX]};
  if (!op.stride.empty()) flat.stride = {op.stride[0], op.stride[0]};
  return flat;
}

} // namespace

std::unique_ptr<CapsulePrograms> CapsulePrograms::of(const OwnConvolution& convolution, int threads,
                                                     const tile::Caches& caches) {
  if (convolution.capsules.rows == 0) return nullptr;
  auto flat = std::make_unique<ConvolutionPrograms>(convolution, threads, caches);
  std::optional<tune::Operator> op = capsule_operator(flat->op(), convolution.capsules);
  if (!op) return nullptr;
  return std::unique_ptr<CapsulePrograms>(
      new CapsulePrograms(std::move(flat), std::move(*op), threads));
}

std::unique_ptr<CapsulePrograms> CapsulePrograms::of(const tune::Operator& op, int threads,
                                                     const tile::Caches& caches) {
  if (op.type != tune::OpType::CAP) return nullptr;
  auto flat = ConvolutionPrograms::of(flat_operator(op), threads, caches);
  if (!flat) return nullptr;
  return std::unique_ptr<CapsulePrograms>(new CapsulePrograms(std::move(flat), op, threads));
}

bool CapsulePrograms::has_loops(const tune::Program& program) const {
  return program.op == op() && program.sketch == tune::Sketch::Tiles &&
         program.tile.space.size() == kPartSpace && program.tile.reduction.size() == kPartReduction;
}

tune::Program CapsulePrograms::flattened(const tune::Program& program) const {
  tune::Program flat{flat_->op(), program.sketch, {}, {}};
  const auto& space = program.tile.space;
  const auto& reduction = program.tile.reduction;
  flat.tile = program.tile; // unrolling and vectors
  flat.tile.space = {times_each(space[kPartN], space[kPartI]),
                     times_each(space[kPartJ], space[kPartF]), space[kPartY], space[kPartX]};
  flat.tile.reduction = {times_each(reduction[kPartK], reduction[kPartC]), reduction[kPartTapY],
                         reduction[kPartTapX]};
  return flat;
}

tune::Program CapsulePrograms::to_capsules(const tune::Program& program) const {
  tune::Program capsules{op(), program.sketch, {}, {}};
  const auto& space = program.tile.space;
  const auto& reduction = program.tile.reduction;
  auto images = parts_of_factors(space[kFlatImages], op().space[kPartI]);
  auto channels = parts_of_factors(space[kFlatChannels], op().space[kPartF]);
  auto inputs = parts_of_factors(reduction[0], op().reduction[kPartC]);
  capsules.tile = program.tile;
  capsules.tile.space = {images[0], space[kFlatRows], space[kFlatColumns],
                         images[1], channels[0],      channels[1]};
  capsules.tile.reduction = {reduction[1], reduction[2], inputs[0], inputs[1]};
  return capsules;
}

std::string CapsulePrograms::key() const {
  return llvm::formatv("{0}, capsules of {1} x {2}", flat_->key(), op().space[kPartI],
                       op().space[kPartJ]);
}

std::string CapsulePrograms::name() const {
  return llvm::formatv("{0} of {1} x {2} capsules", flat_->name(), op().space[kPartI],
                       op().space[kPartJ]);
}

tune::Program CapsulePrograms::adapted(tune::Program program) const {
  if (!has_loops(program)) return program;
  return to_capsules(flat_->adapted(flattened(program)));
}

std::string CapsulePrograms::why_not(const tune::Program& program) const {
  if (program.op != op()) return "it belongs to another operator";
  if (!has_loops(program) || !tune::check(program).ok()) return "it is not a program of tiles";
  if (adapted(program) != program) return "it is not a schedule of capsules";
  return flat_->why_not(flattened(program));
}

tune::Extents CapsulePrograms::choose_block(const tune::Nest&, int64_t points,
                                            tune::BlockCost&) const {
  tune::Nest nest = tune::nest_of(flat_->op());
  tune::BlockCost cost(nest);
  tune::Extents block = flat_->choose_block(nest, points, cost);
  return block.empty() ? block : capsule_box(block, op().space[kPartF]);
}

std::optional<tune::ThreadShape> CapsulePrograms::choose_threads(const tune::Extents& block,
                                                                 int64_t threads) const {
  auto flat = flat_->choose_threads(
      {block[kPartN] * block[kPartI], block[kPartJ] * block[kPartF], block[kPartY], block[kPartX]},
      threads);
  if (!flat) return flat;
  tune::ThreadShape shape;
  int64_t left = block[kPartF]; // of its primes, from the innermost level outwards
  for (auto [to, from] :
       {std::pair{&shape.inner, &flat->inner}, std::pair{&shape.grid, &flat->grid},
        std::pair{&shape.virtuals, &flat->virtuals}}) {
    *to = capsule_box(*from, left);
    left /= to->back();
  }
  return shape;
}

std::optional<tune::Program> CapsulePrograms::guess() const {
  std::optional<tune::Program> flat = flat_->guess();
  if (!flat) return flat;
  return to_capsules(*flat);
}

Result<std::unique_ptr<Implementation>>
CapsulePrograms::implementation(const tune::Program* program, Runs& runs) const {
  if (!program) return flat_->implementation(nullptr, runs);
  tune::Program flat = flattened(*program);
  return flat_->implementation(&flat, runs);
}

std::unique_ptr<OperatorPrograms> programs_of_convolution(const OwnConvolution& convolution,
                                                          int threads, const tile::Caches& caches) {
  if (auto capsules = CapsulePrograms::of(convolution, threads, caches)) return capsules;
  return std::make_unique<ConvolutionPrograms>(convolution, threads, caches);
}

tile::ConvolutionSchedule schedule_of(const OperatorPrograms& programs,
                                      const tune::Program& program) {
  if (programs.op().type != tune::OpType::CAP)
    return static_cast<const ConvolutionPrograms&>(programs).schedule(program);
  const auto& capsules = static_cast<const CapsulePrograms&>(programs);
  return capsules.flat().schedule(capsules.flattened(program));
}

} // namespace tg::cpu
