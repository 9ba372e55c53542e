#include "runtime/cuda/executable.h"

#include "runtime/arena.h"
#include "runtime/execute.h"
#include "runtime/ref/kernels.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SetVector.h>
#include <llvm/Support/FormatVariadic.h>

#include <algorithm>
#include <cstring>

namespace tg::cuda {

namespace {

/// Blocks beyond this many for each multiprocessor wait anyway; the loop over the grid does it.
constexpr int64_t kBlocksPerMultiprocessor = 32;

/// Results of the load phase, computed on the host and dropped when nothing at load reads them.
class HostLoad {
public:
  HostLoad(const Plan& plan, const CompileOptions& options) : plan_(plan), options_(options) {}

  Result<const std::byte*> value(PlanValueId id) {
    auto it = memory_.find(id);
    if (it != memory_.end()) return static_cast<const std::byte*>(it->second.data());
    TG_TRY(Tensor tensor, materialise(plan_.values[id], options_));
    return static_cast<const std::byte*>((memory_[id] = std::move(tensor)).data());
  }

  Result<void> run(const PlanStep& step) {
    RefStep kernel(plan_, step, options_.externs.get());
    TG_TRY(Tensor result, Tensor::zeros(plan_.values[step.result].type));
    std::vector<const std::byte*> operands;
    for (PlanValueId id : step.operands) {
      const std::byte* operand = nullptr;
      if (id != kNoValue) {
        TG_TRY(operand, value(id));
      }
      operands.push_back(operand);
    }
    TG_CHECK(kernel.run_alone(operands, result.data()));
    memory_[step.result] = std::move(result);
    return {};
  }

  void drop(PlanValueId id) { memory_.erase(id); }

private:
  const Plan& plan_;
  const CompileOptions& options_;
  std::map<PlanValueId, Tensor> memory_;
};

/// As the search counts what a network touches (measured_cost.h), which decides how cold its prices
/// are.
int64_t run_bytes(const Plan& plan) {
  int64_t bytes = 0;
  for (const PlanValue& value : plan.values) {
    bool made = value.kind == PlanValue::Kind::Temporary;
    const PlanStep* step = made ? &plan.steps[value.defined_by] : nullptr;
    if (step && (step->phase == Phase::Load || op_info(step->op).has(Trait::View))) continue;
    bytes = add_bytes(bytes, value.type.bytes());
  }
  return bytes;
}

} // namespace

Result<std::unique_ptr<CudaExecutable>> CudaExecutable::make(const Plan& plan,
                                                             const CompileOptions& options,
                                                             std::shared_ptr<GpuDevice> device,
                                                             CubinCache& cache,
                                                             ExecutableLibraries libraries) {
  std::unique_ptr<CudaExecutable> executable(
      new CudaExecutable(plan, std::move(device), std::move(libraries)));
  TG_CHECK(executable->load(options, cache));
  return executable;
}

/// Everything but memory.
Result<void> CudaExecutable::prepare(const CompileOptions& options, CubinCache& cache, bool cold) {
  TG_CHECK(check_externs(plan_, options));
  plain_io_ = options.io_layout == IoLayout::Plain;
  ScratchTimer timer(*device_, stream_, cold);
  prepare_convolutions(options, cache, timer);
  lower(options, cache, timer);
  TG_CHECK(choose_kernels(cache));
  place_values();
  return add_up_memory(options);
}

void CudaExecutable::set_parameters() {
  for (Launch& launch : launches_) {
    launch.parameters.clear();
    for (PlanValueId value : launch.values) launch.parameters.push_back(addresses_[root_[value]]);
  }
}

Result<void> CudaExecutable::load(const CompileOptions& options, CubinCache& cache) {
  run_bytes_ = run_bytes(plan_);
  TG_TRY(stream_, device_->make_stream());
  TG_CHECK(prepare(options, cache, run_bytes_ > device_->l2_bytes()));
  TG_CHECK(reserve());
  TG_CHECK(make_ports());
  TG_CHECK(load_weights(options));
  set_parameters();
  TG_CHECK(enqueue_all(plain_io_)); // what loads kernels when they first run must not in a capture
  TG_CHECK(device_->synchronise(stream_));
  return capture();
}

Result<void> CudaExecutable::choose_kernels(CubinCache& cache) {
  StridesOf strides = strides_of(plan_, channels_last_);
  TG_TRY(std::vector<Unit> units, fuse(plan_, strides, [&](const PlanStep& s) {
           return problem_of(s).has_value() || call_of(s) != nullptr;
         }));
  for (Unit& unit : units) {
    Launch launch;
    launch.unit = std::move(unit);
    if (launch.unit.kind == Unit::Kind::Generated) {
      std::string why;
      auto kernel = generate(plan_, launch.unit.group, strides, why);
      if (!kernel)
        return error(Code::no_kernel, "`{0}` has no kernel on cuda: {1}",
                     op_info(plan_.steps[launch.unit.group.steps[0]].op).name, why);
      TG_TRY(launch.row, kernel_row(*kernel, cache, launch.function));
      for (const KernelParameter& p : kernel->parameters) launch.values.push_back(p.value);
    }
    if (launch.unit.kind == Unit::Kind::Library) {
      const PlanStep& step = plan_.steps[launch.unit.group.steps[0]];
      launch.problem = problem_of(step);
      launch.dnn = call_of(step);
      for (PlanValueId id : step.operands)
        if (id != kNoValue) launch.values.push_back(id);
      launch.values.push_back(step.result);
    }
    launches_.push_back(std::move(launch));
  }
  return {};
}

std::vector<Unit> CudaExecutable::units() const {
  std::vector<Unit> units;
  for (const Launch& launch : launches_) units.push_back(launch.unit);
  return units;
}

Result<uint32_t> CudaExecutable::kernel_row(Kernel& kernel, CubinCache& cache, Function& function) {
  KernelSource source = kernel_source(kernel);
  auto it = known_.find(source.name);
  if (it == known_.end()) {
    std::string text = prelude_text(Target::Cuda) + function_text(source, Target::Cuda);
    TG_TRY(Cubin cubin, cache.get(text, device_->architecture()));
    TG_TRY(Function loaded, device_->load(cubin, source.name));
    KernelRow row{source.name, kernel.schedule, kernel.tunables, 1, {}, 0};
    row.blocks =
        std::min(kernel.full_blocks(), device_->multiprocessors() * kBlocksPerMultiprocessor);
    auto use = kernel_use(cubin, source.name);
    if (!use) use = device_->use(loaded);
    if (use) row.use = *use;
    it = known_.try_emplace(source.name, static_cast<uint32_t>(table_.size()), loaded).first;
    table_.push_back(std::move(row));
  }
  function = it->second.second;
  ++table_[it->second.first].uses;
  return it->second.first;
}

bool CudaExecutable::resident(PlanValueId value) const {
  const PlanValue& v = plan_.values[value];
  return v.kind == PlanValue::Kind::Weight || v.kind == PlanValue::Kind::Constant ||
         (v.kind == PlanValue::Kind::Temporary && plan_.steps[v.defined_by].phase == Phase::Load);
}

CudaExecutable::Block CudaExecutable::block_of(PlanValueId root) const {
  if (plan_.values[root].kind == PlanValue::Kind::Input) return Block::Inputs;
  return resident(root) ? Block::Weights : Block::Arena;
}

/// Views share the memory of what they view.
void CudaExecutable::find_roots() {
  root_.resize(plan_.values.size());
  for (PlanValueId id = 0; id < root_.size(); ++id) root_[id] = id;
  for (const Launch& launch : launches_) {
    if (launch.unit.kind != Unit::Kind::View) continue;
    const PlanStep& step = plan_.steps[launch.unit.group.steps[0]];
    root_[step.result] = root_[step.operands[0]];
  }
}

/// Several outputs that a run makes lie behind each other, so that one copy fetches them.
std::vector<PlanValueId> CudaExecutable::outputs_together() const {
  llvm::SmallSetVector<PlanValueId, 4> made;
  for (const PlanOutput& output : plan_.outputs) {
    PlanValueId value = root_[output.value];
    if (block_of(value) == Block::Arena) made.insert(value);
  }
  if (made.size() < 2) return {};
  return {made.begin(), made.end()};
}

/// What does not stay has lifetimes over units, but for outputs that lie together.
void CudaExecutable::place_values() {
  find_roots();
  offsets_.assign(plan_.values.size(), -1);
  std::vector<PlanValueId> together = outputs_together();
  std::vector<BufferLife> lives;
  std::map<PlanValueId, size_t> life_of;
  auto touch = [&](PlanValueId value, uint32_t unit) {
    value = root_[value];
    if (block_of(value) != Block::Arena) {
      offsets_[value] = 0; // wanted on the device
      return;
    }
    if (llvm::is_contained(together, value)) return;
    auto [it, fresh] = life_of.try_emplace(value, lives.size());
    if (fresh) lives.push_back({device_bytes(plan_.values[value].type), unit, unit});
    lives[it->second].last = unit;
  };
  for (uint32_t u = 0; u < launches_.size(); ++u) {
    const Unit& unit = launches_[u].unit;
    if (unit.kind == Unit::Kind::View) touch(plan_.steps[unit.group.steps[0]].operands[0], u);
    for (PlanValueId value : launches_[u].values) touch(value, u);
  }
  for (const PlanOutput& output : plan_.outputs)
    touch(output.value, static_cast<uint32_t>(launches_.size()));
  ArenaPlan arena = plan_arena(lives);
  for (const auto& [value, life] : life_of) offsets_[value] = arena.offsets[life];
  memory_.arena = arena.bytes;
  for (PlanValueId value : together) {
    offsets_[value] = memory_.arena;
    memory_.arena = add_bytes(memory_.arena, device_bytes(plan_.values[value].type));
  }
}

/// Where what stays lies among its kind, and whether all fits.
Result<void> CudaExecutable::add_up_memory(const CompileOptions& options) {
  for (PlanValueId id = 0; id < plan_.values.size(); ++id) {
    if (root_[id] != id || offsets_[id] < 0 || !resident(id)) continue;
    offsets_[id] = memory_.weights;
    memory_.weights = add_bytes(memory_.weights, device_bytes(plan_.values[id].type));
  }
  for (PlanValueId id : plan_.inputs)
    memory_.io = add_bytes(memory_.io, device_bytes(plan_.values[id].type));
  if (int64_t zeros = zero_bytes())
    memory_.workspace =
        add_bytes((memory_.workspace + kDeviceAlignment - 1) & -kDeviceAlignment, zeros);
  addresses_.assign(plan_.values.size(), 0);
  int64_t limit = options.memory_limit_bytes;
  if (limit <= 0 || limit > device_->memory_bytes()) limit = device_->memory_bytes();
  return check_memory(plan_, memory_, limit);
}

Result<void> CudaExecutable::reserve_workspace() {
  TG_TRY(workspace_, device_->allocate(memory_.workspace));
  int64_t zeros = zero_bytes();
  if (zeros == 0) return {};
  zeros_ = workspace_ + static_cast<Address>(memory_.workspace - zeros);
  return device_->fill(zeros_, 0, zeros, stream_);
}

Result<void> CudaExecutable::reserve() {
  TG_TRY(Address weights, device_->allocate(memory_.weights));
  TG_TRY(Address arena, device_->allocate(memory_.arena));
  TG_TRY(Address inputs, device_->allocate(memory_.io));
  TG_CHECK(reserve_workspace());
  for (PlanValueId id = 0; id < plan_.values.size(); ++id)
    if (root_[id] == id && offsets_[id] >= 0 && plan_.values[id].kind != PlanValue::Kind::Input)
      addresses_[id] = (resident(id) ? weights : arena) + static_cast<Address>(offsets_[id]);
  for (PlanValueId id : plan_.inputs) {
    addresses_[id] = inputs;
    inputs += static_cast<Address>(device_bytes(plan_.values[id].type));
  }
  return {};
}

Result<void> CudaExecutable::upload(PlanValueId value, const std::byte* from) {
  std::vector<std::byte> moved = laid_out(value, from);
  if (!moved.empty()) from = moved.data();
  TG_CHECK(device_->copy_in(addresses_[value], from, plan_.values[value].type.bytes(), stream_));
  return device_->synchronise(stream_); // `from` goes away
}

Result<void> CudaExecutable::load_weights(const CompileOptions& options) {
  HostLoad host(plan_, options);
  auto wanted = [&](PlanValueId id) { return addresses_[id] != 0 && resident(id); };
  for (PlanStepId s = 0; s < plan_.steps.size(); ++s) {
    const PlanStep& step = plan_.steps[s];
    if (step.phase != Phase::Load) continue;
    TG_CHECK(host.run(step));
    for (PlanValueId id : step.operands)
      if (id != kNoValue && plan_.values[id].last_use == s && !wanted(id)) host.drop(id);
  }
  for (PlanValueId id = 0; id < plan_.values.size(); ++id) {
    if (!wanted(id)) continue;
    TG_TRY(const std::byte* from, host.value(id));
    TG_CHECK(upload(id, from));
    host.drop(id);
  }
  return {};
}

/// Pinned memory for values, laid out as they lie on the device: values that lie behind each other
/// in one block there do so here, and are one transfer.
Result<CudaExecutable::Ports> CudaExecutable::make_ports(llvm::ArrayRef<PlanValueId> values) {
  Ports ports;
  int64_t bytes = 0;
  for (PlanValueId value : values) bytes = add_bytes(bytes, device_bytes(plan_.values[value].type));
  TG_TRY(std::byte * pinned, device_->allocate_pinned(bytes));
  std::memset(pinned, 0, static_cast<size_t>(bytes));
  for (PlanValueId value : values) {
    Address device = addresses_[root_[value]];
    int64_t own = device_bytes(plan_.values[value].type);
    Block block = block_of(root_[value]);
    Transfer* last = ports.transfers.empty() ? nullptr : &ports.transfers.back();
    if (last && last->block == block && last->device + static_cast<Address>(last->bytes) == device)
      last->bytes += own;
    else
      ports.transfers.push_back({device, pinned, own, block});
    ports.each.push_back({value, pinned, plan_.values[value].type.bytes()});
    pinned += own;
  }
  return ports;
}

Result<void> CudaExecutable::make_ports() {
  std::vector<PlanValueId> results;
  for (const PlanOutput& output : plan_.outputs) results.push_back(output.value);
  TG_TRY(inputs_, make_ports(plan_.inputs));
  TG_TRY(outputs_, make_ports(results));
  return {};
}

Result<void> CudaExecutable::launch(const Launch& launch) {
  if (launch.unit.kind == Unit::Kind::View) return {};
  if (launch.dnn) return run_dnn(*launch.dnn);
  if (launch.problem) return run_product(launch);
  const KernelRow& row = table_[launch.row];
  return device_->launch(launch.function, row.blocks, row.tunables.threads, launch.parameters,
                         stream_);
}

Result<void> CudaExecutable::enqueue_inputs() {
  for (const Transfer& each : inputs_.transfers)
    TG_CHECK(device_->copy_in(each.device, each.host, each.bytes, stream_));
  return {};
}

Result<void> CudaExecutable::enqueue_outputs() {
  for (const Transfer& each : outputs_.transfers)
    TG_CHECK(device_->copy_out(each.host, each.device, each.bytes, stream_));
  return {};
}

Result<void> CudaExecutable::enqueue_all(bool with_ports) {
  if (with_ports) TG_CHECK(enqueue_inputs());
  for (const Launch& each : launches_) TG_CHECK(launch(each));
  return with_ports ? enqueue_outputs() : Result<void>();
}

Result<void> CudaExecutable::capture() {
  TG_CHECK(device_->begin_capture(stream_));
  Result<void> enqueued = enqueue_all(plain_io_);
  auto graph = device_->end_capture(stream_); // in any case: the stream must not stay captured
  if (!enqueued) return enqueued;
  if (!graph) return std::move(graph.error());
  graph_ = *graph;
  return {};
}

Result<void> CudaExecutable::bind_inputs(llvm::ArrayRef<Tensor> inputs) {
  TG_CHECK(check_inputs(plan_, inputs));
  TG_CHECK(device_->synchronise(stream_)); // no run reads them any more
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Port& port = inputs_.each[i];
    std::memcpy(port.pinned, inputs[i].data(), static_cast<size_t>(port.bytes));
    if (!plain_io_) TG_CHECK(upload(port.value, port.pinned));
  }
  return {};
}

Result<void> CudaExecutable::run_once() {
  if (profile_.on && !profile_.measured) TG_CHECK(measure_profile());
  TG_CHECK(enqueue());
  return device_->synchronise(stream_);
}

Result<std::vector<Tensor>> CudaExecutable::outputs() const {
  std::vector<Tensor> outputs;
  for (const Port& port : outputs_.each) {
    if (!plain_io_) {
      TG_CHECK(device_->copy_out(port.pinned, addresses_[root_[port.value]], port.bytes, stream_));
      TG_CHECK(device_->synchronise(stream_));
    }
    TG_TRY(Tensor tensor, Tensor::zeros(plan_.values[port.value].type));
    std::memcpy(tensor.data(), port.pinned, static_cast<size_t>(port.bytes));
    outputs.push_back(std::move(tensor));
  }
  return outputs;
}

} // namespace tg::cuda
