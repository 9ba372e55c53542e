// The tuner's view of Winograd convolutions: the operator of a convolution (WIN),
// and the division of its work by each program (winograd/winograd.h).
// DECISIONS.md of runtime/tune has the mapping as a table.
//
// The operator's loops are tiles, panels of output channels and input channels,
// rounded up to numbers with many divisors; blocks of tiles and panels need not divide anything.
//
// Invariant: a cut depends only on shape, program, instruction set and threads,
// and the bits of the result do not depend on it.
#pragma once

#include "runtime/cpu/tuning/operator_programs.h"
#include "runtime/cpu/winograd/winograd.h"

namespace tg::cpu {

class WinogradPrograms final : public OperatorPrograms {
public:
  /// Requires one group.
  WinogradPrograms(const WinogradShape& shape, int threads);
  /// For an operator that does not represent a convolution of a plan: tiles in one row.
  /// Returns null if its tile size is not supported.
  static std::unique_ptr<WinogradPrograms> of(const tune::Operator& op, int threads);

  const WinogradShape& shape() const { return shape_; }

  std::string key() const override;
  /// "1 x 64 x 56 x 56 to 64 in tiles of 4 x 4".
  std::string name() const override;
  /// Counts the products of transformed tiles alone.
  double flops() const override;
  tune::Program adapted(tune::Program program) const override;
  std::string why_not(const tune::Program& program) const override;
  tune::Extents choose_block(const tune::Nest& nest, int64_t points,
                             tune::BlockCost& cost) const override;
  std::optional<tune::ThreadShape> choose_threads(const tune::Extents& block,
                                                  int64_t threads) const override;
  std::optional<tune::Program> guess() const override;
  bool is_untuned(const tune::Program& program) const override { return cut(program) == untuned(); }
  Result<std::unique_ptr<Implementation>> implementation(const tune::Program* program,
                                                         Runs& runs) const override;

  /// Requires a legal program.
  WinogradCut cut(const tune::Program& program) const;
  WinogradCut untuned() const { return default_cut(shape_, threads()); }

private:
  WinogradPrograms(const WinogradShape& shape, tune::Operator op, int threads);
  int64_t tiles() const { return op().space[2]; }
  int64_t panels() const { return op().space[3] / kPanel; }
  bool may_part_channels() const { return threads() > 1 && panels() % threads() == 0; }
  tune::Program program_of(const WinogradCut& cut) const;

  WinogradShape shape_;
  int64_t least_parts_;
};

} // namespace tg::cpu
