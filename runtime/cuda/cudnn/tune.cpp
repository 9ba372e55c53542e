#include "runtime/cuda/cudnn/tune.h"

#include <algorithm>
#include <limits>

namespace tg::cuda {

namespace {

/// Returns the bytes of a tensor's memory, as spanned by its strides.
int64_t bytes_of(const DnnTensor& tensor) {
  if (tensor.is_virtual || tensor.value) return 0;
  int64_t last = 1;
  for (size_t i = 0; i < tensor.dims.size(); ++i) last += (tensor.dims[i] - 1) * tensor.strides[i];
  return device_bytes(last * dtype_size(tensor.dtype));
}

/// Returns the bytes that a plan of the graph touches.
int64_t bytes_of(const DnnGraph& graph, const DnnPlan& plan) {
  int64_t bytes = device_bytes(plan.workspace_bytes());
  for (const DnnTensor& tensor : graph.tensors) bytes += bytes_of(tensor);
  return bytes;
}

/// Returns the work on the graph's tensors at consecutive addresses, followed by the workspace.
ScratchTimer::Work work_of(const DnnGraph& graph, const DnnPlan& plan) {
  return [&graph, &plan](GpuDevice& device, Address scratch, Stream stream) {
    DnnAddresses at;
    for (const DnnTensor& tensor : graph.tensors) {
      int64_t own = bytes_of(tensor);
      at.push_back(own ? scratch : 0);
      scratch += static_cast<Address>(own);
    }
    return device.run_library([&plan, at, scratch](void* s) { return plan.run(at, scratch, s); },
                              stream);
  };
}

} // namespace

const DnnChoice& DnnTuner::best(const DnnGraph& graph) {
  auto [it, fresh] = choices_.try_emplace(graph.text());
  if (fresh) it->second = find(graph);
  return it->second;
}

DnnChoice DnnTuner::find(const DnnGraph& graph) {
  DnnChoice choice;
  std::string key =
      timer_.conditions() + std::string(limits_.allow_tf32 ? "tf32 " : "") + graph.text();
  std::string refused = "refused within " + std::to_string(limits_.workspace_bytes) + " " + key;
  if (restore(graph, key, choice)) return choice;
  if (auto entry = plans_ ? plans_->find(refused) : std::nullopt) {
    choice.why = entry->plan;
    return choice;
  }
  auto plans = dnn_.plans(graph, limits_);
  if (!plans) { // the library takes a while to find out
    choice.why = plans.error().message;
    if (plans_ && plans.error().code == Code::no_kernel && timer_.device_answers())
      plans_->store(refused, {choice.why, 0});
    return choice;
  }
  double least = std::numeric_limits<double>::infinity();
  bool unmeasurable = false;
  for (std::unique_ptr<DnnPlan>& plan : *plans) {
    auto time =
        timer_.time(bytes_of(graph, *plan), graph.tensors[0].dtype, work_of(graph, *plan), least);
    if (!time) { // the library may refuse its own proposal
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
    plans_->reject(key, plan ? "it needs more workspace than the limit" : plan.error().message);
    return false;
  }
  auto ran = timer_.run(bytes_of(graph, **plan), graph.tensors[0].dtype, work_of(graph, **plan));
  if (!ran && ran.error().code != Code::memory_limit) { // otherwise it is trusted, as below
    if (timer_.device_answers()) plans_->reject(key, "it does not run: " + ran.error().message);
    return false;
  }
  choice.plan = std::move(*plan);
  choice.microseconds = entry->microseconds;
  return true;
}

} // namespace tg::cuda
