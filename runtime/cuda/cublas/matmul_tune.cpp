#include "runtime/cuda/cublas/matmul_tune.h"

#include <llvm/Support/FormatVariadic.h>

#include <cmath>
#include <limits>
#include <utility>

namespace tg::cuda {

namespace {

/// The maximum scratch memory of one product; all products share one block.
constexpr int64_t kMostWorkspace = int64_t{32} << 20;

/// Returns the bytes spanned by a matrix with its batch, as stored.
Address span(const MatmulProblem& p, const MatrixLayout& how, int64_t rows, int64_t columns) {
  if (how.transposed) std::swap(rows, columns);
  int64_t elements = (p.batch - 1) * how.stride + (rows - 1) * how.leading + columns;
  return static_cast<Address>(device_bytes({p.dtype, {elements}}));
}

/// Assigns consecutive addresses to operands, result and workspace;
/// `at` ends at the start of the workspace.
MatmulAddresses consecutive_addresses(const MatmulProblem& p, Address& at) {
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

/// Returns the bytes that one algorithm touches.
int64_t bytes_of(const MatmulProblem& problem, const MatmulPlan& plan, size_t candidate) {
  Address bytes = 0;
  (void)consecutive_addresses(problem, bytes);
  return static_cast<int64_t>(bytes) + plan.workspace_bytes(candidate);
}

ScratchTimer::Work work_of(const MatmulProblem& problem, const MatmulPlan& plan, size_t candidate) {
  return [&problem, &plan, candidate](GpuDevice& device, Address scratch, Stream stream) {
    MatmulAddresses addresses = consecutive_addresses(problem, scratch);
    return device.run_library(
        [&plan, candidate, addresses](void* raw) { return plan.run(candidate, addresses, raw); },
        stream);
  };
}

/// The problem as a plan of one step, with the strides of its values.
struct ProductPlan {
  Plan plan;
  std::vector<Shape> lies; // strides by value
};

ProductPlan plan_of(const MatmulProblem& p) {
  ProductPlan made;
  PlanStep step;
  step.op = OpKind::Matmul;
  step.attrs = {Value::of_enum(p.relu ? "relu" : "none")};
  auto value = [&](Shape shape, Shape strides) {
    PlanValue v;
    v.kind = PlanValue::Kind::Input;
    v.type = {p.dtype, std::move(shape)};
    made.plan.values.push_back(std::move(v));
    made.lies.push_back(std::move(strides));
    return static_cast<PlanValueId>(made.lies.size() - 1);
  };
  auto matrix = [&](int64_t rows, int64_t columns, const MatrixLayout& how) {
    return value({rows, columns}, how.transposed ? Shape{1, how.leading} : Shape{how.leading, 1});
  };
  step.operands = {matrix(p.m, p.k, p.x), matrix(p.k, p.n, p.y),
                   p.bias ? value({p.n}, {1}) : kNoValue,
                   p.residual ? matrix(p.m, p.n, p.result) : kNoValue};
  step.result = matrix(p.m, p.n, p.result);
  PlanValue& result = made.plan.values[step.result];
  result.kind = PlanValue::Kind::Temporary;
  result.defined_by = 0;
  result.is_output = result.pinned = true;
  made.plan.outputs = {{"y", step.result}};
  made.plan.steps = {std::move(step)};
  return made;
}

} // namespace

const MatmulChoice& MatmulTuner::best(const MatmulProblem& problem) {
  auto [it, fresh] = choices_.try_emplace(problem);
  if (fresh) it->second = find(problem);
  return it->second;
}

const MatmulChoice* MatmulTuner::known(const MatmulProblem& problem) const {
  auto it = choices_.find(problem);
  return it == choices_.end() ? nullptr : &it->second;
}

MatmulChoice MatmulTuner::find(const MatmulProblem& problem) {
  MatmulChoice choice;
  auto plan = blas_.plan(problem, kMostWorkspace);
  if (!plan) return choice;
  choice.plan = std::move(*plan);
  if (!restore(problem, choice) && !measure(problem, choice)) return {};
  if (choice.microseconds > 0) choice.why = rival(problem, choice.microseconds);
  if (!choice.why.empty()) choice.plan = nullptr;
  return choice;
}

/// Restores the algorithm that an earlier process found fastest,
/// if the library still has it and runs it. Tried once per process,
/// because a search prices the same products again and again.
bool MatmulTuner::restore(const MatmulProblem& problem, MatmulChoice& choice) {
  std::string key = key_of(problem);
  std::optional<PlanEntry> entry = plans_ ? plans_->find(key) : std::nullopt;
  if (!entry) return false;
  std::optional<size_t> candidate = choice.plan->find(entry->plan);
  if (!candidate) {
    plans_->reject(key, "the library no longer offers it");
    return false;
  }
  choice.candidate = *candidate;
  choice.microseconds = entry->microseconds;
  if (plans_->has_run(key)) return true;
  auto ran = timer_.run(bytes_of(problem, *choice.plan, *candidate), problem.dtype,
                        work_of(problem, *choice.plan, *candidate));
  if (!ran && ran.error().code != Code::memory_limit) { // otherwise it is trusted, as below
    if (timer_.device_answers()) plans_->reject(key, "it does not run: " + ran.error().message);
    return false;
  }
  plans_->note_run(key);
  return true;
}

/// Chooses the fastest algorithm that runs; if there is no memory for timing,
/// the library's first choice.
bool MatmulTuner::measure(const MatmulProblem& problem, MatmulChoice& choice) {
  std::string key = key_of(problem), why;
  double least = std::numeric_limits<double>::infinity();
  bool unmeasurable = false;
  for (size_t c = 0; c < choice.plan->candidates(); ++c) {
    auto time = timer_.time(bytes_of(problem, *choice.plan, c), problem.dtype,
                            work_of(problem, *choice.plan, c), least);
    if (!time) { // the library may refuse its own proposal
      why = time.error().message;
      unmeasurable |= time.error().code == Code::memory_limit;
    }
    if (!time || *time >= least) continue;
    least = choice.microseconds = *time;
    choice.candidate = c;
  }
  if (std::isinf(least)) {
    if (plans_ && !unmeasurable && timer_.device_answers())
      plans_->reject(key, "none of the library's algorithms runs: " + why);
    return unmeasurable;
  }
  if (plans_) {
    plans_->store(key, {choice.plan->name(choice.candidate), least});
    plans_->note_run(key);
  }
  return true;
}

/// Returns the reason why the library does not run a product of few rows; "" if it does.
std::string MatmulTuner::rival(const MatmulProblem& problem, double library) {
  if (!has_few_rows(problem)) return "";
  ProductPlan product = plan_of(problem);
  auto time = generated_(product.plan, Group{{0}, {product.plan.steps[0].result}},
                         [&](PlanValueId id) { return product.lies[id]; });
  if (!time || *time * kClearlyFaster > library) return "";
  return llvm::formatv("{0:f1} us, cuBLASLt {1:f1} us", *time, library);
}

} // namespace tg::cuda
