// Operators of a plan on a device that computes times, and the state that an earlier run
// or another process left.
#pragma once

#include "runtime/tune/plan_session.h"

#include "tests/unit/tune/read_operator.h"
#include "tests/unit/tune/synthetic_device.h"

#include <map>

namespace tg::tune {

using Store = std::map<std::string, KeptProgram>;

class SyntheticPlan final : public PlanDevice {
public:
  SyntheticPlan(std::initializer_list<const char*> operators, Store& store) : store_(store) {
    for (const char* one : operators) {
      PlanOperator op{one, one};
      if (Result<Operator> read = read_operator(one))
        op.op = *read;
      else
        op.why_not = "no kernel for it";
      operators_.push_back(op);
    }
  }
  /// Adds an operator with another key that is equal for the tuner.
  void add_alike(const char* key, const char* op) {
    operators_.push_back({key, key, *read_operator(op)});
  }

  std::string name() const override { return "synthetic"; }
  DeviceLimits limits() const override { return {}; }
  bool stopped() const override { return device_.measured >= stop_after; }
  std::optional<double> measure(const Program& program) override {
    return device_.measure(program);
  }

  llvm::ArrayRef<PlanOperator> operators() const override { return operators_; }
  void begin(size_t) override {}
  std::optional<KeptProgram> compare(size_t, llvm::ArrayRef<Program> programs,
                                     const CompareLimit& limit) override {
    ++compared;
    std::optional<KeptProgram> best;
    for (const Program& program : programs)
      if (double us = *SyntheticDevice().measure(program); !best || us < best->best.microseconds)
        best = KeptProgram{{program, us}, untuned_us, 0, us < untuned_us};
    if (best) best->decided = comparison_us <= limit.most_us;
    return best;
  }
  double peak_flops() override { return 1; }
  std::optional<KeptProgram> kept(size_t op) override {
    auto found = store_.find(operators_[op].key);
    return found == store_.end() ? std::nullopt : std::optional<KeptProgram>(found->second);
  }
  void keep(size_t op, const KeptProgram& found) override { store_[operators_[op].key] = found; }
  std::vector<Program> kept_programs() override {
    std::vector<Program> all;
    for (const auto& [key, found] : store_) all.push_back(found.best.program);
    return all;
  }

  std::string why_not(const Program& program, const Nest& nest) const override {
    if (alone && program.op == alone->op && program != *alone) return "another one is";
    return PlanDevice::why_not(program, nest);
  }
  Extents choose_block(const Operator& op, const Nest& nest, int64_t points,
                       BlockCost& cost) const override {
    ++blocks_chosen;
    return PlanDevice::choose_block(op, nest, points, cost);
  }
  int64_t measured() const { return device_.measured; }
  double enough_us(const Operator& op) const override {
    auto found = enough_of.find(text(op));
    return found == enough_of.end() ? enough : found->second;
  }
  std::optional<Program> guess(const Operator& op) const override {
    auto found = guesses.find(text(op));
    return found == guesses.end() ? guessed : found->second;
  }
  double library_us(size_t op) override {
    ++library_asked;
    return 100.0 * static_cast<double>(op + 1);
  }
  bool is_untuned(size_t, const Program& program) override { return program == untuned; }
  double enough_now_us(const Operator& op) override {
    return enough_now > 0 ? enough_now : enough_us(op);
  }
  double untuned_us = 1e9, enough = 0, enough_now = 0;
  int compared = 0, library_asked = 0;
  mutable int blocks_chosen = 0;
  double comparison_us = 0; // time of a comparison
  std::optional<Program> untuned;
  std::optional<Program> guessed;          // for operators without one of their own
  std::map<std::string, Program> guesses;  // by the operator's text
  std::map<std::string, double> enough_of; // for operators with one of their own
  std::optional<Program> alone;            // the only legal program of its operator
  int64_t stop_after = INT64_MAX;

private:
  Store& store_;
  std::vector<PlanOperator> operators_;
  SyntheticDevice device_;
};

/// Searches every operator in full.
class InFull final : public ReuseBaseline {
public:
  ReusePlan plan(const OperatorGraph& graph, llvm::ArrayRef<double>, double) const override {
    return plan_reuse(graph, Selection::Full);
  }
  double reuse_trials() const override { return 1; }
  StepTrials reuse(const Operator&, llvm::ArrayRef<Measured>, Device&) const override { return {}; }
  void adjust(FullSearchOptions&) const override {}
};

} // namespace tg::tune
