// A backend whose steps have times that a test sets.
#pragma once

#include "compiler/pricing/measured_cost.h"
#include "runtime/ref/backend.h"

#include <llvm/ADT/StringMap.h>
#include <llvm/ADT/StringSet.h>

namespace tg {

class MadeUpTimer final : public StepTimer {
public:
  llvm::StringMap<double> times;       // by instance key; the default is by bytes
  llvm::StringMap<double> first_times; // of the first request, which is not steady
  llvm::StringSet<> refused;
  mutable size_t timed = 0;

  std::vector<Result<StepTime>> time(llvm::ArrayRef<StepSpec> steps,
                                     const MeasureOptions&) const override {
    std::vector<Result<StepTime>> out;
    for (const StepSpec& step : steps) {
      ++timed;
      std::string key = key_of(step);
      if (refused.count(key)) {
        out.push_back(error(Code::no_kernel, "refused"));
        continue;
      }
      StepTime time;
      time.microseconds = us(step, key);
      time.steady = !is_first(key);
      time.implementation = "made up";
      time.runs = 1;
      out.push_back(time);
      asked_.insert(key);
    }
    return out;
  }
  std::vector<Result<PlanPrice>> price(llvm::ArrayRef<const Plan*> plans,
                                       const MeasureOptions&) const override {
    return std::vector<Result<PlanPrice>>(plans.size(), PlanPrice{1, 1, 0});
  }
  std::string conditions(const MeasureOptions&) const override { return "made up"; }

private:
  static std::string key_of(const StepSpec& step) {
    Symbols symbols;
    llvm::SmallVector<ValueId, 4> attrs;
    for (const Value& value : step.attrs) attrs.push_back(symbols.value(value));
    llvm::SmallVector<TypeId, 5> operands;
    for (const TensorType& type : step.operands)
      operands.push_back(type.is_none() ? symbols.none_type() : symbols.type(type));
    return instance_key(symbols, {step.op, symbols.attrs(attrs), operands,
                                  symbols.type(step.result), step.weight_operands});
  }
  bool is_first(const std::string& key) const {
    return first_times.count(key) && !asked_.contains(key);
  }
  double us(const StepSpec& step, const std::string& key) const {
    if (is_first(key)) return first_times.lookup(key);
    if (auto said = times.find(key); said != times.end()) return said->second;
    double bytes = static_cast<double>(step.result.bytes());
    for (const TensorType& type : step.operands)
      if (!type.is_none()) bytes += static_cast<double>(type.bytes());
    return 1 + bytes / 1e4;
  }

  mutable llvm::StringSet<> asked_;
};

/// Compiles nothing.
class MadeUpBackend final : public Backend {
public:
  explicit MadeUpBackend(const MadeUpTimer& timer) : timer_(timer) {}
  std::string name() const override { return "made_up"; }
  std::string description() const override { return "a machine that is made up"; }
  bool supports(const Plan&, const PlanStep&) const override { return true; }
  Result<std::unique_ptr<Executable>> compile(const Plan&, const CompileOptions&) const override {
    return error(Code::no_kernel, "made up");
  }
  const StepTimer* step_timer() const override { return &timer_; }

private:
  const MadeUpTimer& timer_;
};

} // namespace tg
