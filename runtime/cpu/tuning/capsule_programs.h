// The tuner's view of convolutions of capsules (CAP). Rows of a capsule are images,
// and columns and channels are channels, so the nest is that of a convolution
// in which some loops combine two loops, and a program has the meaning of the convolution's program
// (convolution_programs.h).
//
// Invariant: a factor of a combined loop is assigned to the channels as far as they
// have its primes, from the innermost level outwards, and the remainder to the capsules.
// So each program of the convolution is one of capsules.
#pragma once

#include "runtime/cpu/tuning/convolution_programs.h"

namespace tg::cpu {

class CapsulePrograms final : public OperatorPrograms {
public:
  /// Returns null if it is not a convolution of capsules, or if rounded-up channels cannot be
  /// divided among the capsules' columns.
  static std::unique_ptr<CapsulePrograms> of(const OwnConvolution& convolution, int threads,
                                             const tile::Caches& caches);
  /// For an operator that does not represent a convolution of a plan.
  /// Returns null if there is no code for it.
  static std::unique_ptr<CapsulePrograms> of(const tune::Operator& op, int threads,
                                             const tile::Caches& caches);

  const ConvolutionPrograms& flat() const { return *flat_; }
  /// Convert a program of capsules to the convolution's program, and back.
  tune::Program flattened(const tune::Program& program) const;
  tune::Program to_capsules(const tune::Program& program) const;

  std::string key() const override;
  std::string name() const override;
  double flops() const override { return flat_->flops(); }
  tune::Program adapted(tune::Program program) const override;
  std::string why_not(const tune::Program& program) const override;
  tune::Extents choose_block(const tune::Nest& nest, int64_t points,
                             tune::BlockCost& cost) const override;
  std::optional<tune::ThreadShape> choose_threads(const tune::Extents& block,
                                                  int64_t threads) const override;
  std::optional<tune::Program> guess() const override;
  bool is_untuned(const tune::Program& program) const override {
    return flat_->is_untuned(flattened(program));
  }
  Result<std::unique_ptr<Implementation>> implementation(const tune::Program* program,
                                                         Runs& runs) const override;

private:
  CapsulePrograms(std::unique_ptr<ConvolutionPrograms> flat, tune::Operator op, int threads)
      : OperatorPrograms(std::move(op), threads), flat_(std::move(flat)) {}
  bool has_loops(const tune::Program& program) const;

  std::unique_ptr<ConvolutionPrograms> flat_;
};

/// Returns the programs of a convolution of a plan: those of capsules if it is one.
std::unique_ptr<OperatorPrograms> programs_of_convolution(const OwnConvolution& convolution,
                                                          int threads, const tile::Caches& caches);
/// Returns the schedule of a program of programs_of_convolution(). Requires a legal program.
tile::ConvolutionSchedule schedule_of(const OperatorPrograms& programs,
                                      const tune::Program& program);

} // namespace tg::cpu
