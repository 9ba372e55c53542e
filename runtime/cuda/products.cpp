// Products of an executable by cuBLASLt: which steps, with which of the library's algorithms, timed
// on the operands as they lie when the plan is loaded.
#include "runtime/cuda/executable.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace tg::cuda {

namespace {

/// Scratch memory that one product may ask for; all share one block.
constexpr int64_t kMostWorkspace = int64_t{32} << 20;
/// Replays over which a candidate is timed: differences below their spread do not matter.
constexpr int kTimedSamples = 5;

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

/// One algorithm, once, on scratch memory; where there is none to spare it is believed.
Result<void> try_once(GpuDevice& device, Stream stream, const MatmulProblem& problem,
                      const MatmulPlan& plan, size_t candidate) {
  Address bytes = 0;
  (void)behind_each_other(problem, bytes);
  Scratch scratch(device);
  auto memory = scratch.get(static_cast<int64_t>(bytes) + plan.workspace_bytes(candidate),
                            problem.dtype, stream);
  if (!memory && memory.error().code == Code::memory_limit) return {};
  TG_TRY(Address at, std::move(memory));
  MatmulAddresses addresses = behind_each_other(problem, at);
  TG_CHECK(device.run_library(
      [&, addresses](void* raw) { return plan.run(candidate, addresses, raw); }, stream));
  return device.synchronise(stream);
}

} // namespace

/// Asks the library once for each distinct problem; what it refuses, planned or run, stays
/// generated.
bool CudaExecutable::can_multiply(const MatmulProblem& problem) {
  auto [it, fresh] = products_.try_emplace(problem);
  if (!fresh) return it->second.plan != nullptr;
  auto plan = libraries_.blas->plan(problem, kMostWorkspace);
  if (!plan) return false;
  Product product{std::move(*plan)};
  find_known_algorithm(problem, product);
  if (!runs(problem, product)) return false;
  it->second = std::move(product);
  return true;
}

/// Whether one does, the known one first: the library may refuse to run what it has proposed, or
/// what it once ran. Tried once in a process, since a search prices the same products again and
/// again.
bool CudaExecutable::runs(const MatmulProblem& problem, Product& product) {
  PlanDb* plans = libraries_.blas_plans.get();
  if (plans && plans->has_run(text(problem))) return true;
  auto try_candidate = [&](size_t candidate) -> Result<void> {
    TG_CHECK(try_once(*device_, stream_, problem, *product.plan, candidate));
    product.candidate = candidate;
    if (plans) plans->note_run(text(problem));
    return {};
  };
  Result<void> tried;
  if (product.known && (tried = try_candidate(product.candidate))) return true;
  if (product.known) plans->reject(text(problem), "it does not run: " + tried.error().message);
  product.known = false;
  for (size_t c = 0; c < product.plan->candidates(); ++c)
    if ((tried = try_candidate(c))) return true;
  if (plans)
    plans->reject(text(problem), "none of the library's algorithms runs: " + tried.error().message);
  return false;
}

void CudaExecutable::lower(const CompileOptions& options) {
  CanMultiply can = [this](const MatmulProblem& problem) {
    return libraries_.blas && can_multiply(problem);
  };
  LoweredPlan lowered = lower_products(plan_, can, options.allow_tf32);
  plan_ = std::move(lowered.plan);
  origin_ = compose(origin_, lowered.origin);
  problems_ = std::move(lowered.problems);
  std::set<MatmulProblem> used;
  for (const auto& problem : problems_)
    if (problem) used.insert(*problem);
  std::erase_if(products_, [&](const auto& product) { return !used.count(product.first); });
  for (const auto& [problem, product] : products_)
    for (size_t c = 0; c < product.plan->candidates(); ++c)
      memory_.workspace = std::max(memory_.workspace, product.plan->workspace_bytes(c));
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

/// Microseconds of one run, as it will run.
Result<double> CudaExecutable::time_product(const Launch& launch, size_t candidate) {
  TG_CHECK(run_product(launch, candidate)); // loads its kernel, which a capture must not
  GraphTiming how;
  how.samples = how.most_samples = kTimedSamples;
  TG_TRY(GraphTime time,
         GraphTimer(*device_, stream_).time([&] { return run_product(launch, candidate); }, how));
  return time.microseconds;
}

/// The algorithm that an earlier process found fastest, if the library still has it.
void CudaExecutable::find_known_algorithm(const MatmulProblem& problem, Product& product) {
  if (!libraries_.blas_plans) return;
  std::optional<PlanEntry> entry = libraries_.blas_plans->find(text(problem));
  if (!entry) return;
  std::optional<size_t> candidate = product.plan->find(entry->plan);
  product.known = candidate.has_value();
  if (candidate)
    product.candidate = *candidate;
  else
    libraries_.blas_plans->reject(text(problem), "the library does not offer it any more");
}

/// The fastest; where none can be timed the one that has run stays.
void CudaExecutable::choose_algorithm(const Launch& launch) {
  Product& product = products_.at(*launch.problem);
  if (product.known || product.plan->candidates() == 1) return;
  double least = std::numeric_limits<double>::infinity();
  for (size_t c = 0; c < product.plan->candidates(); ++c) {
    auto time = time_product(launch, c);
    if (!time || *time >= least) continue; // the library may refuse what it has proposed
    least = *time;
    product.candidate = c;
  }
  if (libraries_.blas_plans && std::isfinite(least))
    libraries_.blas_plans->store(text(*launch.problem),
                                 {product.plan->name(product.candidate), least});
}

/// Once for each distinct product, on the operands of the first that has it.
void CudaExecutable::choose_algorithm_of(const Launch& launch) {
  if (launch.problem && chosen_.insert(*launch.problem).second) choose_algorithm(launch);
}

void CudaExecutable::choose_algorithms() {
  for (const Launch& launch : launches_) choose_algorithm_of(launch);
}

} // namespace tg::cuda
