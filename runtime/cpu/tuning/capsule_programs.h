// Convolutions of capsules as the tuner sees them (CAP): rows of a capsule are images, columns and
// channels are channels, so the nest is that of a convolution whose loops are two each, and a
// program means what that of the convolution means (convolution_programs.h).
//
// Invariant: a factor of a loop that is two falls to the channels as far as they have its primes,
// from the innermost level outwards, and the rest to the capsules: so each program of the
// convolution is one of capsules.
#pragma once

#include "runtime/cpu/tuning/convolution_programs.h"

namespace tg::cpu {

class CapsulePrograms final : public OperatorPrograms {
public:
  /// Null where it is no convolution of capsules, or channels that are rounded up do not fall to
  /// their columns.
  static std::unique_ptr<CapsulePrograms> of(const OwnConvolution& convolution, int threads,
                                             const tile::Caches& caches);
  /// Of an operator that stands for no convolution of a plan. Null where there is no code for it.
  static std::unique_ptr<CapsulePrograms> of(const tune::Operator& op, int threads,
                                             const tile::Caches& caches);

  const ConvolutionPrograms& flat() const { return *flat_; }
  /// The program of the convolution that a program of capsules means, and the other way round.
  tune::Program flattened(const tune::Program& program) const;
  tune::Program parted(const tune::Program& program) const;

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
  Result<std::unique_ptr<Way>> way(const tune::Program* program, Runs& runs) const override;

private:
  CapsulePrograms(std::unique_ptr<ConvolutionPrograms> flat, tune::Operator op, int threads)
      : OperatorPrograms(std::move(op), threads), flat_(std::move(flat)) {}
  bool has_loops(const tune::Program& program) const;

  std::unique_ptr<ConvolutionPrograms> flat_;
};

/// The programs of a convolution of a plan: of capsules where it says so.
std::unique_ptr<OperatorPrograms> programs_of_convolution(const OwnConvolution& convolution,
                                                          int threads, const tile::Caches& caches);
/// What a program of programs_of_convolution() means. Requires that nothing speaks against it.
tile::ConvolutionSchedule schedule_of(const OperatorPrograms& programs,
                                      const tune::Program& program);

} // namespace tg::cpu
