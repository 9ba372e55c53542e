// Products of an executable by cuBLASLt: which steps, with which of the library's algorithms, timed
// on the operands as they lie when the plan is loaded.
#include "runtime/cuda/executable.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tg::cuda {

namespace {

/// Scratch memory that one product may ask for; all share one block.
constexpr int64_t kMostWorkspace = int64_t{32} << 20;
/// Runs over which a candidate is timed, and rounds of which the best counts.
constexpr int kTimedRuns = 10, kTimedRounds = 3;

} // namespace

const MatmulProblem* CudaExecutable::product_of(const PlanStep& step) {
  std::optional<MatmulProblem> problem = matmul_problem(plan_, step);
  if (!blas_ || !problem) return nullptr;
  auto [it, fresh] = products_.try_emplace(*problem);
  if (fresh) // what the library refuses stays generated
    if (auto plan = blas_->plan(*problem, kMostWorkspace)) it->second.plan = std::move(*plan);
  if (!it->second.plan) return nullptr;
  for (size_t c = 0; c < it->second.plan->candidates(); ++c)
    memory_.workspace = std::max(memory_.workspace, it->second.plan->workspace_bytes(c));
  return &it->first;
}

MatmulAddresses CudaExecutable::product_addresses(const Launch& launch) const {
  const PlanStep& step = plan_.steps[launch.unit.group.steps[0]];
  auto at = [&](PlanValueId id) { return id == kNoValue ? 0 : addresses_[root_[id]]; };
  return {at(step.operands[0]), at(step.operands[1]), at(step.operands[2]),
          at(step.operands[3]), at(step.result),      workspace_};
}

Result<void> CudaExecutable::run_product(const Launch& launch, size_t candidate) {
  const MatmulPlan* plan = products_.at(*launch.problem).plan.get();
  MatmulAddresses addresses = product_addresses(launch);
  return device_->run_library([=](void* stream) { return plan->run(candidate, addresses, stream); },
                              stream_);
}

/// Microseconds of one run; the first warms up and is not counted.
Result<double> CudaExecutable::time_product(const Launch& launch, size_t candidate) {
  while (events_.size() < 2) {
    TG_TRY(Event event, device_->make_event());
    events_.push_back(event);
  }
  TG_CHECK(run_product(launch, candidate));
  double least = std::numeric_limits<double>::infinity();
  for (int round = 0; round < kTimedRounds; ++round) {
    TG_CHECK(device_->record(events_[0], stream_));
    for (int i = 0; i < kTimedRuns; ++i) TG_CHECK(run_product(launch, candidate));
    TG_CHECK(device_->record(events_[1], stream_));
    TG_CHECK(device_->synchronise(stream_));
    TG_TRY(double time, device_->microseconds(events_[0], events_[1]));
    least = std::min(least, time / kTimedRuns);
  }
  return least;
}

/// Once for each distinct product, on the operands of the first that has it.
Result<void> CudaExecutable::choose_algorithms() {
  std::set<MatmulProblem> done;
  for (const Launch& launch : launches_) {
    if (!launch.problem || !done.insert(*launch.problem).second) continue;
    Product& product = products_.at(*launch.problem);
    size_t candidates = product.plan->candidates();
    double least = std::numeric_limits<double>::infinity();
    for (size_t c = 0; candidates > 1 && c < candidates; ++c) {
      auto time = time_product(launch, c);
      if (!time && c + 1 == candidates && std::isinf(least)) return std::move(time.error());
      if (!time || *time >= least) continue; // the library may refuse what it has proposed
      least = *time;
      product.candidate = c;
    }
  }
  return {};
}

} // namespace tg::cuda
