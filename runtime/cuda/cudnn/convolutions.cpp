// Steps of an executable by cuDNN (steps.h): the plan prepared, the calls made.
#include "runtime/cuda/cudnn/conv_lowering.h"
#include "runtime/cuda/executable.h"

#include <algorithm>
#include <cstring>

namespace tg::cuda {

namespace {

/// Scratch memory that one plan of the library may ask for; all share one block.
constexpr int64_t kMostWorkspace = int64_t{64} << 20;

} // namespace

/// Winograd's convolutions become plain ones; with cuDNN, layouts are chosen and calls planned.
void CudaExecutable::prepare_convolutions(const CompileOptions& options, CubinCache& cache,
                                          ScratchTimer& timer) {
  EditedPlan plain = lower_winograd(plan_);
  plan_ = std::move(plain.plan);
  origin_ = std::move(plain.origin);
  if (!libraries_.dnn) return;
  int64_t limit = options.memory_limit_bytes;
  DnnLimits limits;
  limits.workspace_bytes = limit > 0 ? std::min(kMostWorkspace, limit / 4) : kMostWorkspace;
  limits.allow_tf32 = options.allow_tf32;
  DnnTuner tuner(timer, *libraries_.dnn, libraries_.dnn_plans.get(), limits);
  DnnSteps steps(tuner, [&](const Plan& plan, const Group& group, const StridesOf& strides) {
    return time_generated(timer, cache, plan, group, strides);
  });
  LaidOutPlan laid = steps.prepare(plan_);
  plan_ = std::move(laid.edited.plan);
  origin_ = compose(origin_, laid.edited.origin);
  channels_last_ = std::move(laid.channels_last);
  layout_conversions_ = laid.conversions;
  StridesOf strides = strides_of(plan_, channels_last_);
  for (const PlanStep& step : plan_.steps) {
    if (step.phase != Phase::Run) continue;
    std::string why;
    if (auto call = steps.call(plan_, step, strides, why))
      dnn_calls_[step.result] = std::move(*call);
    else if (!why.empty())
      not_by_library_[step.result] = why;
  }
  for (const auto& [result, call] : dnn_calls_)
    memory_.workspace = std::max(memory_.workspace, call.plan->workspace_bytes());
}

/// Bytes of zeros that the library reads in place of a bias that there is not.
int64_t CudaExecutable::zero_bytes() const {
  int64_t bytes = 0;
  for (const auto& [result, call] : dnn_calls_)
    for (PlanValueId id : call.values)
      if (id == kZeros) bytes = std::max(bytes, plan_.values[result].type.shape[1] * int64_t{4});
  return bytes;
}

Result<void> CudaExecutable::run_dnn(const DnnCall& call) {
  DnnAddresses at;
  for (PlanValueId id : call.values)
    at.push_back(id == kNoValue ? 0 : id == kZeros ? zeros_ : addresses_[root_[id]]);
  return device_->run_library([plan = call.plan, at = std::move(at), workspace = workspace_](
                                  void* stream) { return plan->run(at, workspace, stream); },
                              stream_);
}

/// The elements of a value as it lies on the device; empty where it lies plainly.
std::vector<std::byte> CudaExecutable::laid_out(PlanValueId value, const std::byte* from) const {
  std::vector<std::byte> moved;
  if (value >= channels_last_.size() || !channels_last_[value]) return moved;
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
