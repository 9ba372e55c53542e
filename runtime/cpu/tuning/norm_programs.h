// The tuner's view of norms: the operator of a norm (FRB), and the schedule of norm/norms.h
// of each program. DECISIONS.md of runtime/tune has the mapping as a table.
//
// Invariant: a schedule depends only on shape, program and instruction set.
#pragma once

#include "runtime/cpu/norm/norms.h"
#include "runtime/cpu/tuning/operator_programs.h"

namespace tg::cpu {

class NormPrograms final : public OperatorPrograms {
public:
  NormPrograms(const NormShape& shape, int threads);
  /// For an operator that does not represent a norm of a plan: its loops unchanged,
  /// with dense rows.
  NormPrograms(const tune::Operator& op, int threads);

  std::string key() const override;
  /// "64 norms of 50176".
  std::string name() const override;
  double flops() const override;
  tune::Program adapted(tune::Program program) const override;
  std::string why_not(const tune::Program& program) const override;
  /// Its sketches have no tiles.
  tune::Extents choose_block(const tune::Nest&, int64_t, tune::BlockCost&) const override {
    return {};
  }
  std::optional<tune::ThreadShape> choose_threads(const tune::Extents&, int64_t) const override {
    return std::nullopt;
  }
  std::optional<tune::Program> guess() const override;
  bool is_untuned(const tune::Program& program) const override {
    return schedule(program) == untuned();
  }
  Result<std::unique_ptr<Implementation>> implementation(const tune::Program* program,
                                                         Runs& runs) const override;

  /// Requires a legal program.
  NormSchedule schedule(const tune::Program& program) const;
  NormSchedule untuned() const { return default_norm_schedule(shape_); }

private:
  bool occupies_threads(const NormSchedule& schedule) const;

  NormShape shape_;
  int64_t lanes_;
};

} // namespace tg::cpu
