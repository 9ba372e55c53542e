// Products of an executable by cuBLASLt: which steps, and the calls made.
#include "runtime/cuda/executable.h"

#include <algorithm>

namespace tg::cuda {

void CudaExecutable::lower(const CompileOptions& options, CubinCache& cache, ScratchTimer& timer) {
  std::optional<MatmulTuner> tuner;
  if (libraries_.blas)
    tuner.emplace(timer, *libraries_.blas, libraries_.blas_plans.get(),
                  [&](const Plan& plan, const Group& group, const StridesOf& strides) {
                    return time_generated(timer, cache, plan, group, strides);
                  });
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
    memory_.workspace =
        std::max(memory_.workspace, product.plan->workspace_bytes(product.candidate));
}

/// Of products that are generated though the library has them: why.
void CudaExecutable::note_rivals(const MatmulTuner& tuner, bool allow_tf32) {
  for (size_t s = 0; s < plan_.steps.size(); ++s) {
    PlanStep step = plan_.steps[s];
    if (problems_[s] || step.op != OpKind::Matmul) continue;
    if (step.attrs[0].text != "relu") step.attrs[0] = Value::of_enum("none"); // else it is cut off
    auto problem = matmul_problem(plan_, step, {}, allow_tf32);
    const MatmulChoice* choice = problem ? tuner.known(*problem) : nullptr;
    if (choice && !choice->why.empty()) not_by_library_[step.result] = choice->why;
  }
}

MatmulAddresses CudaExecutable::product_addresses(const Launch& launch) const {
  const PlanStep& step = plan_.steps[launch.unit.group.steps[0]];
  auto at = [&](PlanValueId id) { return id == kNoValue ? 0 : addresses_[root_[id]]; };
  return {at(step.operands[0]), at(step.operands[1]), at(step.operands[2]),
          at(step.operands[3]), at(step.result),      workspace_};
}

Result<void> CudaExecutable::run_product(const Launch& launch) {
  const MatmulChoice& product = products_.at(*launch.problem);
  return device_->run_library(
      [plan = product.plan, candidate = product.candidate, addresses = product_addresses(launch)](
          void* stream) { return plan->run(candidate, addresses, stream); },
      stream_);
}

} // namespace tg::cuda
