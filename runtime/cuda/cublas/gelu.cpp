#include "runtime/cuda/cublas/lower_products.h"

#include "runtime/ref/kernels.h"
#include "runtime/tensor.h"

#include <llvm/ADT/STLExtras.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>

namespace tg::cuda {

namespace {

constexpr size_t kMostSteps = 12;
/// Points from -kReach to kReach, then a few beyond, in pairs of both signs,
/// to detect a bound there. kNear is the tolerance, relative for large values:
/// f32 rounds each operator.
constexpr int64_t kNearPoints = 97;
constexpr double kReach = 6, kNear = 1e-5;
constexpr double kFar[] = {6.5, 8, 16, 64, 1e3, 6e4, 1e9};
constexpr int64_t kPoints = kNearPoints + 2 * std::size(kFar);

double gelu_tanh(double x) {
  return 0.5 * x * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
}

std::optional<double> number(const PlanValue& v) {
  if (v.kind != PlanValue::Kind::Constant || v.constant.empty()) return std::nullopt;
  bool equal = llvm::all_of(v.constant, [&](double x) { return x == v.constant[0]; });
  return equal ? std::optional(v.constant[0]) : std::nullopt;
}

/// Runs the steps over the points instead of their tensors.
class Trial {
public:
  Trial(const Plan& plan, PlanValueId from) : plan_(plan) {
    Tensor& points = point(from);
    for (int64_t i = 0; i < kNearPoints; ++i)
      floats(points)[i] =
          static_cast<float>(kReach * (2 * static_cast<double>(i) / (kNearPoints - 1) - 1));
    for (int64_t i = kNearPoints; i < kPoints; ++i) {
      int64_t far = i - kNearPoints;
      floats(points)[i] = static_cast<float>(far % 2 == 0 ? kFar[far / 2] : -kFar[far / 2]);
    }
  }

  /// Returns false if the step reads other values, if its kind has no value at a point,
  /// or if there is not enough memory.
  bool run(const PlanStep& step) {
    Plan small;
    PlanStep own = step;
    std::vector<const std::byte*> operands;
    for (PlanValueId& id : own.operands) {
      if (!at_.count(id)) {
        std::optional<double> value = number(plan_.values[id]);
        if (!value) return false;
        for (int64_t i = 0; i < kPoints; ++i) floats(point(id))[i] = static_cast<float>(*value);
      }
      operands.push_back(at_.at(id).data());
      id = add(small);
    }
    Tensor& result = point(step.result);
    own.result = add(small);
    small.steps = {own};
    return RefStep(small, small.steps[0]).run_alone(operands, result.data()).ok();
  }

  bool is_gelu(PlanValueId from, PlanValueId to) {
    const float *x = floats(point(from)), *y = floats(point(to));
    for (int64_t i = 0; i < kPoints; ++i) {
      double want = gelu_tanh(x[i]);
      if (!(std::abs(y[i] - want) <= kNear * std::max(1.0, std::abs(want)))) return false;
    }
    return true;
  }

private:
  static float* floats(Tensor& tensor) { return reinterpret_cast<float*>(tensor.data()); }
  static PlanValueId add(Plan& plan) {
    plan.values.emplace_back().type = {DType::F32, {kPoints}};
    return static_cast<PlanValueId>(plan.values.size() - 1);
  }
  Tensor& point(PlanValueId id) {
    auto it = at_.find(id);
    if (it == at_.end())
      it = at_.emplace(id, std::move(*Tensor::zeros({DType::F32, {kPoints}}))).first;
    return it->second;
  }

  const Plan& plan_;
  std::map<PlanValueId, Tensor> at_;
};

bool computes_points(const Plan& plan, const PlanStep& step, const TensorType& type) {
  const OpInfo& info = op_info(step.op);
  bool pointwise = info.has(Trait::Pointwise) || step.op == OpKind::FusedMap;
  return pointwise && step.phase == Phase::Run && plan.values[step.result].type == type &&
         !llvm::is_contained(step.operands, kNoValue);
}

/// Returns true if only steps of the set read the computed values, except `last`.
bool closed(const Plan& plan, const FunctionSteps& found, const std::set<PlanValueId>& values,
            llvm::ArrayRef<std::vector<PlanStepId>> readers) {
  return llvm::all_of(values, [&](PlanValueId id) {
    return id == found.result ||
           (!plan.values[id].is_output && llvm::all_of(readers[id], [&](PlanStepId reader) {
             return llvm::is_contained(found.steps, reader);
           }));
  });
}

} // namespace

std::optional<FunctionSteps> find_gelu_tanh(const Plan& plan, PlanValueId from,
                                            llvm::ArrayRef<std::vector<PlanStepId>> readers) {
  if (readers[from].empty() || plan.values[from].is_output) return std::nullopt;
  FunctionSteps found;
  std::set<PlanValueId> values = {from};
  std::set<PlanStepId> open(readers[from].begin(), readers[from].end());
  Trial trial(plan, from);
  while (!open.empty() && found.steps.size() < kMostSteps) {
    PlanStepId s = *open.begin(); // its operands are computed before it
    open.erase(open.begin());
    const PlanStep& step = plan.steps[s];
    if (!computes_points(plan, step, plan.values[from].type) || !trial.run(step))
      return std::nullopt;
    found.steps.push_back(s);
    found.result = step.result;
    values.insert(step.result);
    open.insert(readers[step.result].begin(), readers[step.result].end());
    if (closed(plan, found, values, readers) && trial.is_gelu(from, step.result)) return found;
  }
  return std::nullopt;
}

} // namespace tg::cuda
