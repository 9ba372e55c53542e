#include "runtime/cuda/cudnn_tune.h"

#include "runtime/convert.h"
#include "runtime/tensor.h"

#include <algorithm>
#include <limits>

namespace tg::cuda {

namespace {

/// Replays over which a candidate is timed: differences below their spread do not matter.
constexpr int kTimedSamples = 5;
/// Random numbers that scratch memory is filled with, over and over.
constexpr int64_t kPatternElements = 1 << 16;
constexpr int64_t kAddressAlignment = 256;

int64_t aligned(int64_t bytes) {
  return (std::max<int64_t>(bytes, 1) + kAddressAlignment - 1) & ~(kAddressAlignment - 1);
}

/// Of a tensor's memory, as its strides span it.
int64_t bytes_of(const DnnTensor& tensor) {
  if (tensor.is_virtual || tensor.value) return 0;
  int64_t last = 1;
  for (size_t i = 0; i < tensor.dims.size(); ++i) last += (tensor.dims[i] - 1) * tensor.strides[i];
  return aligned(last * dtype_size(tensor.dtype));
}

/// Of all that a plan of the graph touches.
int64_t bytes_of(const DnnGraph& graph, const DnnPlan& plan) {
  int64_t bytes = aligned(plan.workspace_bytes());
  for (const DnnTensor& tensor : graph.tensors) bytes += bytes_of(tensor);
  return bytes;
}

/// The graph's tensors behind each other, and the workspace.
Result<void> run_on(GpuDevice& device, const DnnGraph& graph, const DnnPlan& plan, Address scratch,
                    Stream stream) {
  DnnAddresses at;
  for (const DnnTensor& tensor : graph.tensors) {
    int64_t own = bytes_of(tensor);
    at.push_back(own ? scratch : 0);
    scratch += static_cast<Address>(own);
  }
  return device.run_library([&plan, at, scratch](void* s) { return plan.run(at, scratch, s); },
                            stream);
}

} // namespace

Scratch::~Scratch() {
  if (memory_) (void)device_.release(memory_);
}

Result<Address> Scratch::get(int64_t bytes, DType dtype, Stream stream) {
  if (bytes <= bytes_ && dtype == dtype_) return memory_;
  if (bytes > bytes_) {
    if (memory_) TG_CHECK(device_.release(std::exchange(memory_, 0)));
    bytes_ = 0;
    TG_TRY(memory_, device_.allocate(bytes));
    bytes_ = bytes;
  }
  TG_TRY(Tensor pattern, Tensor::zeros({DType::F32, {kPatternElements}}));
  auto* numbers = reinterpret_cast<float*>(pattern.data());
  for (int64_t i = 0; i < kPatternElements; ++i)
    numbers[i] = static_cast<float>(i * 40503 % 65521) / 32768 - 1;
  TG_TRY(Tensor typed, Tensor::zeros({dtype, {kPatternElements}}));
  convert(DType::F32, pattern.data(), dtype, typed.data(), kPatternElements);
  TG_CHECK(fill_with(device_, memory_, bytes_, typed, stream));
  TG_CHECK(device_.synchronise(stream)); // the pattern goes away
  dtype_ = dtype;
  return memory_;
}

const DnnChoice& DnnTuner::best(const DnnGraph& graph) {
  auto [it, fresh] = choices_.try_emplace(graph.text());
  if (fresh) it->second = find(graph);
  return it->second;
}

DnnChoice DnnTuner::find(const DnnGraph& graph) {
  DnnChoice choice;
  std::string key = (limits_.allow_tf32 ? "tf32 " : "") + graph.text();
  if (restore(graph, key, choice)) return choice;
  auto plans = dnn_.plans(graph, limits_);
  if (!plans) {
    choice.why = plans.error().message;
    return choice;
  }
  double least = std::numeric_limits<double>::infinity();
  bool unmeasurable = false;
  for (std::unique_ptr<DnnPlan>& plan : *plans) {
    auto time = this->time(graph, *plan);
    if (!time) { // the library may refuse what it has proposed
      choice.why = time.error().message;
      unmeasurable |= time.error().code == Code::memory_limit;
    }
    if (!time || *time >= least) continue;
    least = choice.microseconds = *time;
    choice.plan = std::move(plan);
  }
  if (!choice.plan && unmeasurable) choice.plan = std::move(plans->front());
  if (choice.plan && least < std::numeric_limits<double>::infinity() && plans_)
    plans_->store(key, {choice.plan->text(), choice.microseconds});
  return choice;
}

bool DnnTuner::restore(const DnnGraph& graph, const std::string& key, DnnChoice& choice) {
  if (!plans_) return false;
  std::optional<PlanEntry> entry = plans_->find(key);
  if (!entry) return false;
  auto plan = dnn_.restore(graph, entry->plan);
  if (!plan || (*plan)->workspace_bytes() > limits_.workspace_bytes) {
    plans_->reject(key, plan ? "it wants more workspace than the limit" : plan.error().message);
    return false;
  }
  auto memory = scratch_.get(bytes_of(graph, **plan), graph.tensors[0].dtype, stream_);
  if (memory) { // else it is believed, as where none can be measured
    auto ran = run_on(device_, graph, **plan, *memory, stream_);
    if (ran) ran = device_.synchronise(stream_);
    if (!ran) {
      plans_->reject(key, "it does not run: " + ran.error().message);
      return false;
    }
  }
  choice.plan = std::move(*plan);
  choice.microseconds = entry->microseconds;
  return true;
}

Result<double> DnnTuner::time(const DnnGraph& graph, const DnnPlan& plan) {
  return time(bytes_of(graph, plan), graph.tensors[0].dtype, [&](Address scratch, Stream stream) {
    return run_on(device_, graph, plan, scratch, stream);
  });
}

Result<double> DnnTuner::time(int64_t bytes, DType dtype,
                              const std::function<Result<void>(Address, Stream)>& work) {
  TG_TRY(Address scratch, scratch_.get(bytes, dtype, stream_));
  TG_CHECK(work(scratch, stream_)); // loads what it needs, which a capture must not
  GraphTiming how;
  how.samples = how.most_samples = kTimedSamples;
  TG_TRY(GraphTime time, timer_.time([&] { return work(scratch, stream_); }, how));
  return time.microseconds;
}

} // namespace tg::cuda
