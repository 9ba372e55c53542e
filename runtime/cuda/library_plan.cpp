#include "runtime/cuda/library_plan.h"

#include "runtime/cuda/cublas/lower_products.h"
#include "runtime/cuda/cudnn/conv_lowering.h"

#include <algorithm>
#include <cstring>

namespace tg::cuda {

namespace {

/// The maximum scratch memory of one cuDNN plan; all share one block.
constexpr int64_t kMostWorkspace = int64_t{64} << 20;

} // namespace

void LibraryPlan::prepare(const CompileOptions& options, ScratchTimer& timer,
                          const TimeGenerated& generated) {
  prepare_convolutions(options, timer, generated);
  prepare_products(options, timer, generated);
}

void LibraryPlan::prepare_convolutions(const CompileOptions& options, ScratchTimer& timer,
                                       const TimeGenerated& generated) {
  EditedPlan pieces = expand_operators(plan_), plain = lower_winograd(pieces.plan);
  plan_ = std::move(plain.plan);
  origin_ = compose(pieces.origin, plain.origin);
  if (!libraries_.dnn) return;
  int64_t limit = options.memory_limit_bytes;
  DnnLimits limits;
  limits.workspace_bytes = limit > 0 ? std::min(kMostWorkspace, limit / 4) : kMostWorkspace;
  limits.allow_tf32 = options.allow_tf32;
  DnnTuner tuner(timer, *libraries_.dnn, libraries_.dnn_plans.get(), limits);
  DnnSteps steps(tuner, generated);
  PlanWithLayouts laid = steps.prepare(plan_);
  plan_ = std::move(laid.edited.plan);
  origin_ = compose(origin_, laid.edited.origin);
  channels_last_ = std::move(laid.channels_last);
  layout_conversions_ = laid.conversions;
  StridesOf lie = strides();
  for (const PlanStep& step : plan_.steps) {
    if (step.phase != Phase::Run) continue;
    std::string why;
    if (auto call = steps.call(plan_, step, lie, why))
      calls_[step.result] = std::move(*call);
    else if (!why.empty())
      not_by_library_[step.result] = why;
  }
  for (const auto& [result, call] : calls_)
    workspace_bytes_ = std::max(workspace_bytes_, call.plan->workspace_bytes());
}

void LibraryPlan::prepare_products(const CompileOptions& options, ScratchTimer& timer,
                                   const TimeGenerated& generated) {
  std::optional<MatmulTuner> tuner;
  if (libraries_.blas)
    tuner.emplace(timer, *libraries_.blas, libraries_.blas_plans.get(), generated);
  CanMultiply can = [&](const MatmulProblem& problem) {
    return tuner && tuner->best(problem).plan;
  };
  LoweredPlan lowered = lower_products(plan_, can, options.allow_tf32);
  plan_ = std::move(lowered.plan);
  origin_ = compose(origin_, lowered.origin);
  problems_ = std::move(lowered.problems);
  if (!tuner) return;
  note_rivals(*tuner, options.allow_tf32);
  for (const auto& problem : problems_)
    if (problem) products_.try_emplace(*problem, tuner->best(*problem));
  for (const auto& [problem, product] : products_)
    workspace_bytes_ = std::max(workspace_bytes_, product.plan->workspace_bytes(product.candidate));
}

/// Records why products are generated although the library supports them.
void LibraryPlan::note_rivals(const MatmulTuner& tuner, bool allow_tf32) {
  for (size_t s = 0; s < plan_.steps.size(); ++s) {
    PlanStep step = plan_.steps[s];
    if (problems_[s] || step.op != OpKind::Matmul) continue;
    if (step.attrs[0].text != "relu")
      step.attrs[0] = Value::of_enum("none"); // else it is split off
    auto problem = matmul_problem(plan_, step, {}, allow_tf32);
    const MatmulChoice* choice = problem ? tuner.known(*problem) : nullptr;
    if (choice && !choice->why.empty()) not_by_library_[step.result] = choice->why;
  }
}

llvm::StringRef LibraryPlan::why_generated(PlanValueId result) const {
  auto it = not_by_library_.find(result);
  return it == not_by_library_.end() ? llvm::StringRef() : it->second;
}

int64_t LibraryPlan::zero_bytes() const {
  int64_t bytes = 0;
  for (const auto& [result, call] : calls_)
    for (PlanValueId id : call.values)
      if (id == kZeros) bytes = std::max(bytes, plan_.values[result].type.shape[1] * int64_t{4});
  return bytes;
}

std::vector<std::byte> LibraryPlan::laid_out(PlanValueId value, const std::byte* from) const {
  std::vector<std::byte> moved;
  if (!channels_last(value)) return moved;
  const TensorType& type = plan_.values[value].type;
  auto size = static_cast<size_t>(dtype_size(type.dtype));
  moved.resize(static_cast<size_t>(type.bytes()));
  const Shape& shape = type.shape;
  Shape strides = channels_last_strides(shape);
  for (int64_t n = 0; n < shape[0]; ++n)
    for (int64_t c = 0; c < shape[1]; ++c)
      for (int64_t h = 0; h < shape[2]; ++h)
        for (int64_t w = 0; w < shape[3]; ++w, from += size)
          std::memcpy(moved.data() + size * static_cast<size_t>(n * strides[0] + c * strides[1] +
                                                                h * strides[2] + w * strides[3]),
                      from, size);
  return moved;
}

} // namespace tg::cuda
