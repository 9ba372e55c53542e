// The tuner's view of convolutions with emitted code: the operator of a convolution (C2D without
// groups, GRP, DEP; C1D for a long row, C3D for a volume, T2D for a transposed one),
// and the schedule of runtime/cpu/tile of each program. DECISIONS.md of runtime/tune
// has the mapping as a table.
//
// The operator's loops are those of the convolution, rounded up:
// the channels of a group to vectors, columns and rows to numbers with many divisors.
// The tiles of a schedule need not divide anything: 28 columns become 36,
// of which a tile may have 6, which gives five tiles of 5 or 6 columns.
//
// Invariant: a schedule depends only on the convolution, the program and the number of threads,
// and the bits of the result do not depend on it.
#pragma once

#include "runtime/cpu/tile/depthwise.h"
#include "runtime/cpu/tile/transposed.h"
#include "runtime/cpu/tile_schedules.h"
#include "runtime/cpu/tuning/operator_programs.h"

namespace tg::cpu {

class ConvolutionPrograms final : public OperatorPrograms {
public:
  /// Requires a shape for which code can be emitted.
  ConvolutionPrograms(OwnConvolution convolution, int threads, const tile::Caches& caches);
  /// For an operator that does not represent a convolution of a plan:
  /// its loops unchanged, and an image without padding. Returns null if the operator
  /// has another type, or there is no code for it.
  static std::unique_ptr<ConvolutionPrograms> of(const tune::Operator& op, int threads,
                                                 const tile::Caches& caches);

  const OwnConvolution& convolution() const { return own_; }

  std::string key() const override;
  /// "1 x 64 x 56 x 56 to 64 by 3 x 3", "in 32 groups", "depthwise".
  std::string name() const override;
  double flops() const override;
  tune::Program adapted(tune::Program program) const override;
  std::string why_not(const tune::Program& program) const override;
  tune::Extents choose_block(const tune::Nest& nest, int64_t points,
                             tune::BlockCost& cost) const override;
  std::optional<tune::ThreadShape> choose_threads(const tune::Extents& block,
                                                  int64_t threads) const override;
  std::optional<tune::Program> guess() const override;
  /// For a transposed convolution each phase has its own schedule without tuning.
  bool is_untuned(const tune::Program& program) const override {
    return own_.form != OwnConvolution::Form::Transposed && schedule(program) == untuned_;
  }
  Result<std::unique_ptr<Implementation>> implementation(const tune::Program* program,
                                                         Runs& runs) const override;

  /// Requires a legal program.
  tile::ConvolutionSchedule schedule(const tune::Program& program) const;
  tile::ConvolutionSchedule untuned() const { return untuned_; }
  static bool suits(const OwnConvolution& convolution, const tile::ConvolutionSchedule& schedule);

private:
  ConvolutionPrograms(OwnConvolution convolution, tune::Operator op, int threads,
                      const tile::Caches& caches);
  int64_t most_columns(int64_t rows, int64_t vectors) const;
  int64_t most_tile_rows() const;

  bool is_row() const { return op().type == tune::OpType::C1D; }
  size_t y() const { return op().space.size() - 2; } // a row has none
  size_t x() const { return op().space.size() - 1; }
  /// Returns numbers of channels, rows and columns as extents of the operator's loops.
  tune::Extents box(int64_t channels, int64_t rows, int64_t columns) const;
  /// Sets the schedule's numbers in the tile.
  void set_tile(tune::Tile& tile, const tile::ConvolutionSchedule& schedule) const;

  OwnConvolution own_;
  tile::GroupedShape shape_; // that tiles cover: for a transposed one its first phase
  tile::Plane phases_ = {};  // of a transposed one: rows and columns that a tile combines
  tile::Plane loops_;        // rows and columns of the operator's loops
  tile::ConvolutionSchedule untuned_;
  int64_t width_;         // channels of a vector, or of groups that share one
  int64_t group_vectors_; // of a group
  int64_t least_parts_;
};

} // namespace tg::cpu
