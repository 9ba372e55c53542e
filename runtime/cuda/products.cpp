// Products of an executable by cuBLASLt: which steps, with which of the library's algorithms.
#include "runtime/cuda/executable.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace tg::cuda {

namespace {

/// Scratch memory that one product may ask for; all share one block.
constexpr int64_t kMostWorkspace = int64_t{32} << 20;

/// Bytes of a matrix with its batch, as it lies.
Address span(const MatmulProblem& p, const MatrixLayout& how, int64_t rows, int64_t columns) {
  if (how.transposed) std::swap(rows, columns);
  int64_t elements = (p.batch - 1) * how.stride + (rows - 1) * how.leading + columns;
  return static_cast<Address>(device_bytes({p.dtype, {elements}}));
}

/// Operands, result and workspace behind each other; `at` ends where the workspace begins.
MatmulAddresses behind_each_other(const MatmulProblem& p, Address& at) {
  auto take = [&](Address bytes) { return std::exchange(at, at + bytes); };
  Address result = span(p, p.result, p.m, p.n);
  MatmulAddresses addresses;
  addresses.x = take(span(p, p.x, p.m, p.k));
  addresses.y = take(span(p, p.y, p.k, p.n));
  addresses.bias = take(static_cast<Address>(device_bytes({p.dtype, {p.n}})));
  addresses.residual = take(result);
  addresses.result = take(result);
  addresses.workspace = at;
  return addresses;
}

/// Of all that one algorithm touches.
int64_t bytes_of(const MatmulProblem& problem, const MatmulPlan& plan, size_t candidate) {
  Address bytes = 0;
  (void)behind_each_other(problem, bytes);
  return static_cast<int64_t>(bytes) + plan.workspace_bytes(candidate);
}

ScratchTimer::Work work_of(const MatmulProblem& problem, const MatmulPlan& plan, size_t candidate) {
  return [&problem, &plan, candidate](GpuDevice& device, Address scratch, Stream stream) {
    MatmulAddresses addresses = behind_each_other(problem, scratch);
    return device.run_library(
        [&plan, candidate, addresses](void* raw) { return plan.run(candidate, addresses, raw); },
        stream);
  };
}

} // namespace

/// Asks the library once for each distinct problem; what it refuses, planned or run, stays
/// generated, and so does what is no slower so.
bool CudaExecutable::can_multiply(const MatmulProblem& problem, CubinCache& cache,
                                  ScratchTimer& timer) {
  auto [it, fresh] = products_.try_emplace(problem);
  Product& product = it->second;
  if (!fresh) return product.plan != nullptr;
  auto plan = libraries_.blas->plan(problem, kMostWorkspace);
  if (!plan) return false;
  product.plan = std::move(*plan);
  bool runs =
      restore_algorithm(problem, product, timer) || choose_algorithm(problem, product, timer);
  if (runs && product.microseconds > 0)
    product.why_not = rival_of(problem, product.microseconds, cache, timer);
  if (!runs || !product.why_not.empty()) product.plan = nullptr;
  return product.plan != nullptr;
}

/// The algorithm that an earlier process found fastest, if the library still has it, and runs it:
/// tried once in a process, since a search prices the same products again and again.
bool CudaExecutable::restore_algorithm(const MatmulProblem& problem, Product& product,
                                       ScratchTimer& timer) {
  PlanDb* plans = libraries_.blas_plans.get();
  std::string key = timer.conditions() + text(problem);
  std::optional<PlanEntry> entry = plans ? plans->find(key) : std::nullopt;
  if (!entry) return false;
  std::optional<size_t> candidate = product.plan->find(entry->plan);
  if (!candidate) {
    plans->reject(key, "the library does not offer it any more");
    return false;
  }
  product.candidate = *candidate;
  product.microseconds = entry->microseconds;
  if (plans->has_run(key)) return true;
  auto ran = timer.run(bytes_of(problem, *product.plan, *candidate), problem.dtype,
                       work_of(problem, *product.plan, *candidate));
  if (!ran && ran.error().code != Code::memory_limit) { // else it is believed, as below
    if (timer.device_answers()) plans->reject(key, "it does not run: " + ran.error().message);
    return false;
  }
  plans->note_run(key);
  return true;
}

/// The fastest that runs; where there is no memory to time any, the library's own first choice.
bool CudaExecutable::choose_algorithm(const MatmulProblem& problem, Product& product,
                                      ScratchTimer& timer) {
  PlanDb* plans = libraries_.blas_plans.get();
  std::string key = timer.conditions() + text(problem);
  double least = std::numeric_limits<double>::infinity();
  bool unmeasurable = false;
  std::string why;
  for (size_t c = 0; c < product.plan->candidates(); ++c) {
    auto time = timer.time(bytes_of(problem, *product.plan, c), problem.dtype,
                           work_of(problem, *product.plan, c), least);
    if (!time) { // the library may refuse what it has proposed
      why = time.error().message;
      unmeasurable |= time.error().code == Code::memory_limit;
    }
    if (!time || *time >= least) continue;
    least = product.microseconds = *time;
    product.candidate = c;
  }
  if (std::isinf(least)) {
    if (plans && !unmeasurable && timer.device_answers())
      plans->reject(key, "none of the library's algorithms runs: " + why);
    return unmeasurable;
  }
  if (plans) {
    plans->store(key, {product.plan->name(product.candidate), least});
    plans->note_run(key);
  }
  return true;
}

void CudaExecutable::lower(const CompileOptions& options, CubinCache& cache, ScratchTimer& timer) {
  CanMultiply can = [&](const MatmulProblem& problem) {
    return libraries_.blas && can_multiply(problem, cache, timer);
  };
  LoweredPlan lowered = lower_products(plan_, can, options.allow_tf32);
  plan_ = std::move(lowered.plan);
  origin_ = compose(origin_, lowered.origin);
  problems_ = std::move(lowered.problems);
  note_rivals(options.allow_tf32);
  std::set<MatmulProblem> used;
  for (const auto& problem : problems_)
    if (problem) used.insert(*problem);
  std::erase_if(products_, [&](const auto& product) { return !used.count(product.first); });
  for (const auto& [problem, product] : products_)
    memory_.workspace =
        std::max(memory_.workspace, product.plan->workspace_bytes(product.candidate));
}

/// Of products that are generated though the library has them: why.
void CudaExecutable::note_rivals(bool allow_tf32) {
  for (size_t s = 0; s < plan_.steps.size(); ++s) {
    PlanStep step = plan_.steps[s];
    if (problems_[s] || step.op != OpKind::Matmul) continue;
    if (step.attrs[0].text != "relu") step.attrs[0] = Value::of_enum("none"); // else it is cut off
    auto it = products_.end();
    if (auto problem = matmul_problem(plan_, step, {}, allow_tf32)) it = products_.find(*problem);
    if (it != products_.end() && !it->second.why_not.empty())
      not_by_library_[step.result] = it->second.why_not;
  }
}

MatmulAddresses CudaExecutable::product_addresses(const Launch& launch) const {
  const PlanStep& step = plan_.steps[launch.unit.group.steps[0]];
  auto at = [&](PlanValueId id) { return id == kNoValue ? 0 : addresses_[root_[id]]; };
  return {at(step.operands[0]), at(step.operands[1]), at(step.operands[2]),
          at(step.operands[3]), at(step.result),      workspace_};
}

Result<void> CudaExecutable::run_product(const Launch& launch) {
  const Product& product = products_.at(*launch.problem);
  return device_->run_library([plan = product.plan.get(), candidate = product.candidate,
                               addresses = product_addresses(launch)](
                                  void* stream) { return plan->run(candidate, addresses, stream); },
                              stream_);
}

} // namespace tg::cuda
