// Convolutions whose code is emitted as the tuner sees them: which operator one is (C2D without
// groups, GRP, DEP; C1D a long row, C3D a volume, T2D a transposed one), and which schedule of
// runtime/cpu/tile a program of it means. DECISIONS.md of runtime/tune has the mapping as a table.
//
// Loops of the operator are those of the convolution, rounded up: channels of a group to vectors,
// columns and rows to what has many divisors. Tiles of a schedule need not divide anything: 28
// columns are 36, of which a tile may have 6, and then there are five of 5 or 6 columns.
//
// Invariant: a schedule follows from the convolution, the program and the number of threads alone,
// and no bit of a result depends on it.
#pragma once

#include "runtime/cpu/tile/depthwise.h"
#include "runtime/cpu/tile/transposed.h"
#include "runtime/cpu/tile_schedules.h"
#include "runtime/cpu/tuning/operator_programs.h"

namespace tg::cpu {

class ConvolutionPrograms final : public OperatorPrograms {
public:
  /// Requires that there can be code for the shape.
  ConvolutionPrograms(OwnConvolution convolution, int threads, const tile::Caches& caches);
  /// Of an operator that stands for no convolution of a plan: its loops as they are, an image that
  /// needs no padding. Null where the operator is none of these, or there is no code for it.
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
  /// Of a transposed one each phase has a schedule of its own, where nothing was tuned.
  bool is_untuned(const tune::Program& program) const override {
    return own_.form != OwnConvolution::Form::Transposed && schedule(program) == untuned_;
  }
  Result<std::unique_ptr<Way>> way(const tune::Program* program, Runs& runs) const override;

  /// Requires that nothing speaks against the program.
  tile::ConvolutionSchedule schedule(const tune::Program& program) const;
  tile::ConvolutionSchedule untuned() const { return untuned_; }
  static bool suits(const OwnConvolution& convolution, const tile::ConvolutionSchedule& schedule);

private:
  ConvolutionPrograms(OwnConvolution convolution, tune::Operator op, int threads,
                      const tile::Caches& caches);
  int64_t most_columns(int64_t rows, int64_t vectors) const;
  int64_t most_tile_rows() const;

  bool is_row() const { return op().type == tune::OpType::C1D; }
  size_t y() const { return op().space.size() - 2; } // which a row has none of
  size_t x() const { return op().space.size() - 1; }
  /// So many channels, rows and columns, as extents of the operator's loops.
  tune::Extents box(int64_t channels, int64_t rows, int64_t columns) const;
  /// The schedule's numbers at their places.
  void set_tile(tune::Tile& tile, const tile::ConvolutionSchedule& schedule) const;

  OwnConvolution own_;
  tile::GroupedShape shape_; // of what tiles are of: of a transposed one its first phase
  tile::Plane phases_ = {};  // of a transposed one, whose rows and columns a tile has together
  tile::Plane loops_;        // rows and columns, as the operator's loops have them
  tile::ConvolutionSchedule untuned_;
  int64_t width_;         // channels of a vector, or of groups that share one
  int64_t group_vectors_; // of a group
  int64_t least_parts_;
};

} // namespace tg::cpu
