#include "runtime/execute.h"

#include "runtime/content_name.h"
#include "runtime/convert.h"
#include "runtime/random.h"

#include <llvm/Support/FormatVariadic.h>

#include <algorithm>
#include <cassert>
#include <cstring>

namespace tg {

Result<void> check_next(const Plan& plan, llvm::ArrayRef<TensorView> inputs,
                        llvm::ArrayRef<std::optional<size_t>> outputs) {
  assert(inputs.size() == outputs.size() && "each input requires an entry in outputs");
  std::vector<TensorView> views(inputs.begin(), inputs.end());
  for (size_t i = 0; i < views.size(); ++i)
    if (outputs[i]) views[i] = {&plan.values[plan.outputs[*outputs[i]].value].type, nullptr};
  return check_inputs(plan, views);
}

Result<AlignedBuffer> allocate(int64_t bytes) {
  AlignedBuffer buffer = allocate_aligned(bytes);
  if (!buffer) return error(Code::memory_limit, "cannot allocate {0} bytes", bytes);
  return buffer;
}

Result<void> check_stop(const StopToken& stop) {
  if (stop.asked()) return error(Code::limit_no_answer, "the run was stopped before it finished");
  return {};
}

Result<Tensor> contents_of(const PlanValue& value, const CompileOptions& options, Tensor spare) {
  TG_CHECK(check_stop(options.stop));
  if (value.kind == PlanValue::Kind::Constant) {
    TG_TRY(Tensor tensor, Tensor::zeros(value.type));
    auto count = static_cast<int64_t>(value.constant.size() + value.exact.size());
    narrow(value.type.dtype, value.constant.data(), tensor.data(),
           static_cast<int64_t>(value.constant.size()));
    if (!value.exact.empty()) // of i64
      std::memcpy(tensor.data(), value.exact.data(), value.exact.size() * sizeof(int64_t));
    // One number fills the whole tensor, unless it is empty.
    std::byte* first = tensor.data();
    int64_t size = dtype_size(value.type.dtype);
    for (int64_t i = count; i < value.type.elements(); ++i)
      std::memcpy(first + i * size, first, static_cast<size_t>(size));
    return tensor;
  }
  if (!options.weights)
    return random_weight(value.name, value.type, value.init, options.seed, options.threads,
                         std::move(spare));
  TG_TRY(Tensor tensor, options.weights(value));
  if (!(tensor.type() == value.type))
    return error(Code::bad_data_file, "the weight `{0}` is {1} in the model and {2} in the file",
                 value.name, value.type.text(), tensor.type().text());
  return tensor;
}

Result<Tensor> materialise(const PlanValue& value, const CompileOptions& options, Tensor spare) {
  if (value.kind != PlanValue::Kind::Constant && !options.weights)
    return contents_of(value, options, std::move(spare));
  TG_TRY(Tensor tensor, contents_of(value, options));
  const std::byte* elements = std::as_const(tensor).data();
  if (reinterpret_cast<uintptr_t>(elements) % kAlignment == 0) return tensor;
  TG_TRY(Tensor copy, Tensor::in_place_of(std::move(spare), tensor.type()));
  std::memcpy(copy.data(), elements, static_cast<size_t>(tensor.bytes()));
  return copy;
}

Result<std::string> name_of_weight(const PlanValue& value, const CompileOptions& options) {
  std::string text = value.type.text();
  if (!options.weights)
    return llvm::formatv("{0}\n{1}\n{2}\nseed {3}", value.name, text, value.init, options.seed)
        .str();
  if (options.shared->naming() == SharedWeights::Naming::Paths)
    return llvm::formatv("{0}\n{1}", value.name, text).str();
  TG_TRY(Tensor tensor, options.weights(value));
  llvm::StringRef elements(reinterpret_cast<const char*>(tensor.data()),
                           static_cast<size_t>(tensor.bytes()));
  return text + "\n" + content_name(elements);
}

// --- shared weights -----------------------------------------------------------------------------

std::shared_ptr<SharedWeights> SharedWeights::of_process() {
  static std::mutex mutex;
  static std::weak_ptr<SharedWeights> shared;
  std::lock_guard lock(mutex);
  std::shared_ptr<SharedWeights> now = shared.lock();
  if (!now) shared = now = std::make_shared<SharedWeights>(Naming::Contents);
  return now;
}

SharedWeights::Contents SharedWeights::find(llvm::StringRef key) const {
  std::lock_guard lock(mutex_);
  auto found = made_.find(key);
  return found == made_.end() ? nullptr : found->second.contents.lock();
}

void SharedWeights::add(llvm::StringRef key, const Contents& contents, int64_t bytes) {
  std::lock_guard lock(mutex_);
  made_[key] = {contents, bytes};
  if (made_.size() >= forget_at_) forget_released();
}

void SharedWeights::forget_released() {
  llvm::SmallVector<std::string> released;
  for (const auto& one : made_)
    if (one.second.contents.expired()) released.push_back(one.first().str());
  for (const std::string& key : released) made_.erase(key);
  forget_at_ = std::max<size_t>(64, 2 * made_.size());
}

int64_t SharedWeights::bytes() const {
  std::lock_guard lock(mutex_);
  int64_t sum = 0;
  for (const auto& one : made_)
    if (!one.second.contents.expired()) sum += one.second.bytes;
  return sum;
}

std::byte* read_only(const Tensor& tensor) { return const_cast<std::byte*>(tensor.data()); }

std::vector<TensorView> views_of(llvm::ArrayRef<Tensor> tensors) {
  std::vector<TensorView> views;
  for (const Tensor& tensor : tensors) views.push_back({&tensor.type(), tensor.data()});
  return views;
}

Result<void> check_inputs(const Plan& plan, llvm::ArrayRef<Tensor> inputs) {
  return check_inputs(plan, views_of(inputs));
}

Result<void> check_inputs(const Plan& plan, llvm::ArrayRef<TensorView> inputs) {
  if (inputs.size() != plan.inputs.size())
    return error(Code::bad_input_value, "the number of inputs of `{0}` is {1}, got {2}", plan.model,
                 plan.inputs.size(), inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i)
    TG_CHECK(check_input(plan.values[plan.inputs[i]], *inputs[i].type));
  return {};
}

Result<void> check_input(const PlanValue& input, const TensorType& got) {
  if (got == input.type) return {};
  return error(Code::bad_input_value, "the input `{0}` must be {1}, got {2}", input.name,
               input.type.text(), got.text());
}

Result<void> check_externs(const Plan& plan, const CompileOptions& options) {
  for (const PlanStep& step : plan.steps) {
    if (step.op != OpKind::Extern) continue;
    const std::string &name = step.attrs[0].text, &signature = step.attrs[1].text;
    if (options.externs && options.externs->find(name, signature)) continue;
    bool other = options.externs && options.externs->has_name(name);
    return error(Code::no_kernel, "the `extern op` `{0}` has no kernel", name)
        .note(other ? "a kernel of that name is registered for a different type than " + signature
                    : "register kernels through the C++ API (examples/embed)");
  }
  return {};
}

OpWork step_work(const Plan& plan, const PlanStep& step) {
  Symbols symbols; // op_work takes ids of them
  llvm::SmallVector<TypeId, 4> operands;
  for (PlanValueId id : step.operands)
    operands.push_back(id == kNoValue ? symbols.none_type() : symbols.type(plan.values[id].type));
  llvm::SmallVector<ValueId, 4> attrs;
  for (const Value& value : step.attrs) attrs.push_back(symbols.value(value));
  return op_work(symbols, step.op, symbols.attrs(attrs), operands,
                 symbols.type(plan.values[step.result].type));
}

MemoryUse resident_bytes(const Plan& plan) {
  MemoryUse use;
  for (const PlanValue& value : plan.values) {
    bool io = value.kind == PlanValue::Kind::Input || value.is_output;
    bool held = value.kind == PlanValue::Kind::Weight || value.kind == PlanValue::Kind::Constant;
    int64_t bytes = align_up(value.type.bytes());
    if (io) use.io = add_bytes(use.io, bytes);
    if (held) use.weights = add_bytes(use.weights, bytes);
  }
  return use;
}

Result<void> check_memory(const Plan& plan, const MemoryUse& use, int64_t limit_bytes) {
  int64_t total = add_bytes(add_bytes(use.weights, use.arena), add_bytes(use.workspace, use.io));
  if (limit_bytes == 0 || total <= limit_bytes) return {};
  auto mib = [](int64_t bytes) { return (bytes + (1 << 20) - 1) >> 20; };
  return error(Code::memory_limit, "`{0}` needs {1} MiB, but the limit is {2} MiB", plan.model,
               mib(total), mib(limit_bytes))
      .note(llvm::formatv("weights {0} MiB, temporaries {1} MiB, workspace {2} MiB, inputs and "
                          "outputs {3} MiB",
                          mib(use.weights), mib(use.arena), mib(use.workspace), mib(use.io)));
}

double StepClock::median_us(size_t step) const {
  std::vector<double> sorted = samples_[step];
  if (sorted.empty()) return 0;
  auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  return *middle;
}

} // namespace tg
