#include "runtime/cpu/executable.h"

#include "runtime/arena.h"
#include "runtime/cpu/contents_names.h"
#include "runtime/cpu/lowering/nan_guard.h"
#include "runtime/cpu/parallel.h"
#include "runtime/cpu/tile_schedules.h"

#include <algorithm>
#include <cstring>

namespace tg::cpu {

namespace {

template <typename T> void copy_strided(std::byte* to, const std::byte* from, const Loop& loop) {
  T* out = reinterpret_cast<T*>(to);
  const T* in = reinterpret_cast<const T*>(from);
  for (int64_t i = 0; i < loop.extent; ++i) out[i * loop.strides[0]] = in[i * loop.strides[1]];
}

/// Copies elements between two layouts of one shape: iterates over the outer loops,
/// with one strided copy each.
void copy_elements(std::byte* to, const Place& to_place, const std::byte* from,
                   const Place& from_place) {
  int64_t size = dtype_size(to_place.dtype);
  auto copy = size == 8   ? copy_strided<uint64_t>
              : size == 4 ? copy_strided<uint32_t>
              : size == 2 ? copy_strided<uint16_t>
                          : copy_strided<uint8_t>;
  auto outer = loops({&to_place, &from_place});
  Loop inner = outer.pop_back_val();
  llvm::SmallVector<int64_t, 4> at(outer.size(), 0);
  while (true) {
    copy(to, from, inner);
    size_t k = outer.size();
    for (; k > 0; --k) {
      const Loop& loop = outer[k - 1];
      bool more = ++at[k - 1] < loop.extent;
      int64_t steps = more ? 1 : 1 - loop.extent; // forward, or back to the first
      to += steps * loop.strides[0] * size;
      from += steps * loop.strides[1] * size;
      if (more) break;
      at[k - 1] = 0;
    }
    if (k == 0) return;
  }
}

Place plain_like(const Place& p) {
  return {kNoBuffer, 0, p.shape, contiguous_strides(p.shape), p.dtype};
}

bool in_arena(const Buffer& buffer) { return buffer.kind == Buffer::Kind::Arena; }

/// Returns the first and last op that touch each buffer; UINT32_MAX if there is none.
std::vector<BufferLife> lives(llvm::ArrayRef<Buffer> buffers, llvm::ArrayRef<Op> ops) {
  std::vector<BufferLife> lives(buffers.size(), {0, UINT32_MAX, UINT32_MAX});
  for (uint32_t i = 0; i < ops.size(); ++i)
    for (BufferId b : ops[i].buffers) {
      lives[b].bytes = buffers[b].bytes;
      if (lives[b].first == UINT32_MAX) lives[b].first = i;
      lives[b].last = i;
    }
  return lives;
}

constexpr int64_t kLarge = 1 << 20; // bytes from which buffers are shared or used in place

/// Returns memory for a large tensor: takes the first of `spare` that is large enough.
Tensor take_spare(std::vector<Tensor>& spare, int64_t bytes) {
  for (Tensor& tensor : spare)
    if (bytes >= kLarge && tensor.capacity() >= bytes) return std::exchange(tensor, Tensor());
  return {};
}

} // namespace

Result<std::unique_ptr<Executable>> CpuExecutable::make(const Plan& plan,
                                                        const CompileOptions& options,
                                                        Products products,
                                                        TileSchedules* schedules) {
  std::unique_ptr<CpuExecutable> executable(new CpuExecutable(plan));
  TG_CHECK(executable->load(options, products, schedules));
  return std::unique_ptr<Executable>(std::move(executable));
}

Result<void> CpuExecutable::load(const CompileOptions& options, Products products,
                                 TileSchedules* schedules) {
  TG_CHECK(check_externs(*plan_, options));
  externs_ = options.externs;
  stop_ = options.stop;
  OneLibraryThread one;
  TG_TRY(engine_, make_engine());
  TG_TRY(stream_, make_stream(engine_.get()));
  if (std::unique_ptr<PlanObserver> plan_observer =
          schedules ? schedules->observe_plan(std::max(1, options.threads)) : nullptr) {
    Lowering first(*plan_, options, engine_.get(), *pool_, products, plan_observer.get());
    TG_CHECK(first.run());
    plan_observer->seen();
  }
  Lowering l(*plan_, options, engine_.get(), *pool_, products, schedules);
  TG_CHECK(l.run());
  owned_.resize(l.buffers.size());
  tensors_.resize(l.buffers.size());
  offsets_.assign(l.buffers.size(), 0);
  addresses_.assign(l.buffers.size(), nullptr);
  TG_CHECK(reserve(l));
  TG_TRY(scratch_, allocate(std::max(l.load.scratch_bytes(), l.run_program.scratch_bytes())));
  TG_TRY(packed_, allocate(packed_bytes_));
  TG_CHECK(run_load_program(l));
  TG_CHECK(place_run_buffers(l));
  find_output_buffers(l);
  for (Op& op : l.run_program.ops)
    if (op.kernel) TG_CHECK(bind(op));
  places_ = std::move(l.places);
  program_ = std::move(l.run_program);
  for (const Op& op : program_.ops) guarded_ |= op.kernel && op.kernel->may_lose_nan();
  clock_ = StepClock(program_.ops.size());
  return {};
}

Result<void> CpuExecutable::reserve(const Lowering& l) {
  lasting_.assign(l.buffers.size(), false);
  std::vector<BufferLife> life = lives(l.buffers, l.run_program.ops);
  auto end = static_cast<uint32_t>(l.run_program.ops.size());
  auto keep = [&](PlanValueId value) {
    BufferId b = l.places[value].buffer;
    if (life[b].first == UINT32_MAX) life[b] = {l.buffers[b].bytes, 0, 0};
    life[b].last = end;
  };
  for (const PlanOutput& output : plan_->outputs) keep(output.value);
  for (PlanValueId input : plan_->inputs) keep(input);

  std::vector<BufferLife> temporaries;
  std::vector<BufferId> ids;
  memory_ = {};
  int64_t only_at_load = 0;
  for (BufferId b = 0; b < l.buffers.size(); ++b) lasting_[b] = life[b].first != UINT32_MAX;
  TG_CHECK(name_shared(l));
  for (BufferId b = 0; b < l.buffers.size(); ++b) {
    if (in_arena(l.buffers[b])) {
      if (!lasting_[b]) continue;
      temporaries.push_back(life[b]);
      ids.push_back(b);
      continue;
    }
    bool input = l.buffers[b].kind == Buffer::Kind::Input;
    if (lasting_[b] && l.buffers[b].kind == Buffer::Kind::Load && shared_keys_[b].empty()) {
      offsets_[b] = packed_bytes_;
      packed_bytes_ = add_bytes(packed_bytes_, align_up(l.buffers[b].bytes));
    }
    int64_t& sum = input ? memory_.io : lasting_[b] ? memory_.weights : only_at_load;
    sum = add_bytes(sum, align_up(l.buffers[b].bytes));
  }
  ArenaPlan arena = plan_arena(temporaries);
  for (size_t i = 0; i < ids.size(); ++i) offsets_[ids[i]] = arena.offsets[i];
  memory_.arena = arena.bytes;
  memory_.workspace = std::max(l.load.scratch_bytes(), l.run_program.scratch_bytes());
  // The arena is allocated after the load phase.
  MemoryUse most = memory_;
  most.weights = add_bytes(most.weights, std::max<int64_t>(0, only_at_load - memory_.arena));
  return check_memory(*plan_, most, l.options.memory_limit_bytes);
}

Result<void> CpuExecutable::name_shared(const Lowering& l) {
  shared_keys_.assign(l.buffers.size(), "");
  shared_.assign(l.buffers.size(), nullptr);
  if (!l.options.shared) return {};
  for (BufferId b = 0; b < l.buffers.size(); ++b) {
    const Buffer& buffer = l.buffers[b];
    if (buffer.kind != Buffer::Kind::Weight || buffer.bytes < kLarge) continue;
    const PlanValue& value = plan_->values[buffer.source];
    if (value.kind != PlanValue::Kind::Weight) continue;
    TG_TRY(shared_keys_[b], name_of_weight(value, l.options));
  }
  return name_packed(l);
}

Result<void> CpuExecutable::name_packed(const Lowering& l) {
  std::vector<int> uses(l.buffers.size());
  for (const Op& op : l.load.ops)
    for (BufferId b : op.buffers) ++uses[b];
  std::vector<const Op*> packings;
  std::vector<bool> computed(l.buffers.size()); // from weights, and large
  for (const Op& op : l.load.ops) {
    if (op.recipe.empty()) continue;
    BufferId from = op.buffers[0], to = op.buffers[1];
    bool alone = l.buffers[to].kind == Buffer::Kind::Load && uses[to] == 1;
    if (!alone || !lasting_[to]) continue;
    packings.push_back(&op);
    if (l.buffers[from].kind == Buffer::Kind::Load && l.buffers[from].bytes >= kLarge)
      computed[from] = true;
  }
  std::vector<std::string> names = shared_keys_;
  if (llvm::is_contained(computed, true)) {
    TG_TRY(std::vector<std::string> of_computed, names_of_contents(l, computed));
    for (BufferId b = 0; b < names.size(); ++b)
      if (computed[b]) names[b] = std::move(of_computed[b]);
  }
  for (const Op* op : packings) // of any size: the weight then need not be loaded
    if (const std::string& from = names[op->buffers[0]]; !from.empty())
      shared_keys_[op->buffers[1]] = from + '\n' + op->recipe;
  return {};
}

std::vector<bool> CpuExecutable::needed_at_load(const Lowering& l) {
  std::vector<bool> needed(l.load.ops.size()), read = lasting_;
  for (size_t i = l.load.ops.size(); i-- > 0;) {
    const Op& op = l.load.ops[i];
    needed[i] = !is_made(l, op) && llvm::any_of(op.buffers, [&](BufferId b) {
      return read[b] && l.buffers[b].kind != Buffer::Kind::Weight;
    });
    if (needed[i])
      for (BufferId b : op.buffers) read[b] = true;
  }
  return needed;
}

bool CpuExecutable::is_made(const Lowering& l, const Op& op) {
  if (op.recipe.empty() || shared_keys_[op.buffers[1]].empty()) return false;
  BufferId to = op.buffers[1];
  shared_[to] = l.options.shared->find(shared_keys_[to]);
  addresses_[to] = shared_[to].get();
  return shared_[to] != nullptr;
}

Result<void> CpuExecutable::ensure(const Lowering& l, BufferId b) {
  const Buffer& buffer = l.buffers[b];
  if (addresses_[b] || in_arena(buffer)) return {};
  if (!shared_keys_[b].empty()) return ensure_shared(l, b);
  if (buffer.kind == Buffer::Kind::Load && lasting_[b]) {
    addresses_[b] = packed_.get() + offsets_[b];
    return {};
  }
  if (buffer.kind != Buffer::Kind::Weight) {
    TG_TRY(owned_[b], allocate(buffer.bytes));
    addresses_[b] = owned_[b].get();
    return {};
  }
  PlanValue value = plan_->values[buffer.source];
  if (buffer.bytes < value.type.bytes()) value.type.shape = {1}; // a constant that is one number
  TG_TRY(Tensor weight, materialise(value, l.options, spare_for(b)));
  tensors_[b] = std::make_shared<Tensor>(std::move(weight));
  addresses_[b] = read_only(*tensors_[b]);
  return {};
}

Result<void> CpuExecutable::ensure_shared(const Lowering& l, BufferId b) {
  const Buffer& buffer = l.buffers[b];
  shared_[b] = l.options.shared->find(shared_keys_[b]);
  if (!shared_[b] && buffer.kind == Buffer::Kind::Weight) {
    TG_TRY(Tensor weight, materialise(plan_->values[buffer.source], l.options, spare_for(b)));
    tensors_[b] = std::make_shared<Tensor>(std::move(weight));
    shared_[b] = SharedWeights::Contents(tensors_[b], read_only(*tensors_[b]));
    l.options.shared->add(shared_keys_[b], shared_[b], buffer.bytes);
  } else if (!shared_[b]) {
    TG_TRY(AlignedBuffer memory, allocate(buffer.bytes));
    shared_[b] = SharedWeights::Contents(memory.release(), FreeAligned());
  }
  addresses_[b] = shared_[b].get();
  return {};
}

Result<void> CpuExecutable::run_load_program(Lowering& l) {
  std::vector<BufferLife> life = lives(l.buffers, l.load.ops);
  std::vector<bool> needed = needed_at_load(l);
  for (uint32_t i = 0; i < l.load.ops.size(); ++i) {
    Op& op = l.load.ops[i];
    TG_CHECK(check_stop(stop_));
    if (op.kernel && needed[i] && !is_made(l, op)) {
      for (BufferId b : op.buffers) TG_CHECK(ensure(l, b));
      TG_CHECK(bind(op));
      TG_CHECK(op.kernel->run_exact(stream_.get()));
      if (!op.recipe.empty() && !shared_keys_[op.buffers[1]].empty())
        l.options.shared->add(shared_keys_[op.buffers[1]], shared_[op.buffers[1]],
                              l.buffers[op.buffers[1]].bytes);
    }
    for (BufferId b : op.buffers)
      if (!lasting_[b] && life[b].last == i) release(b);
  }
  spare_ = {};
  return {};
}

void CpuExecutable::release(BufferId b) {
  owned_[b].reset();
  shared_[b].reset();
  addresses_[b] = nullptr;
  std::shared_ptr<Tensor> weight = std::exchange(tensors_[b], nullptr);
  bool last = weight.use_count() == 1; // no other executable reads it
  if (last && weight->capacity() > spare_.capacity()) spare_ = std::move(*weight);
}

Result<void> CpuExecutable::place_run_buffers(const Lowering& l) {
  TG_TRY(arena_, allocate(memory_.arena));
  for (BufferId b = 0; b < l.buffers.size(); ++b) {
    if (!lasting_[b]) continue;
    if (in_arena(l.buffers[b]))
      addresses_[b] = arena_.get() + offsets_[b];
    else
      TG_CHECK(ensure(l, b));
  }
  return {};
}

Result<void> CpuExecutable::bind(Op& op) const {
  Addresses to = addresses();
  TG_CHECK(op.kernel->bind(to));
  if (!to.mistyped) return {};
  return error(Code::internal, "{0} {1} ({2}) computes in f32 on operands of another dtype",
               op.name, op.result, op.implementation);
}

Result<void> CpuExecutable::bind_inputs(llvm::ArrayRef<Tensor> inputs) {
  return bind_views(views_of(inputs));
}

Result<void> CpuExecutable::bind_views(llvm::ArrayRef<TensorView> inputs) {
  TG_CHECK(check_inputs(*plan_, inputs));
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Place& place = places_[plan_->inputs[i]];
    bind(place, plain_like(place), inputs[i].data, inputs[i].type->bytes());
  }
  return {};
}

void CpuExecutable::bind(const Place& to, const Place& from, const std::byte* elements,
                         int64_t bytes) {
  if (is_plain(to) && is_plain(from))
    std::memcpy(addresses().bytes(to), elements, static_cast<size_t>(bytes));
  else
    copy_elements(addresses().bytes(to), to, elements, from);
}

/// Copies each input from its source, once. If outputs become inputs, copies all of them first.
Result<void> CpuExecutable::bind_next(llvm::ArrayRef<TensorView> inputs,
                                      llvm::ArrayRef<std::optional<size_t>> outputs) {
  auto place_of_output = [&](size_t i) { return places_[plan_->outputs[i].value]; };
  for (const std::optional<size_t>& output : outputs)
    for (PlanValueId input : plan_->inputs)
      if (output && place_of_output(*output).buffer == places_[input].buffer)
        return Executable::bind_next(inputs, outputs);
  TG_CHECK(check_next(*plan_, inputs, outputs));
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Place& to = places_[plan_->inputs[i]];
    Place from = outputs[i] ? place_of_output(*outputs[i]) : plain_like(to);
    bind(to, from, outputs[i] ? addresses().bytes(from) : inputs[i].data,
         plan_->values[plan_->inputs[i]].type.bytes());
  }
  return {};
}

Result<void> CpuExecutable::run_once() { return run_once(nullptr); }

Result<std::vector<size_t>> CpuExecutable::run_watching_denormals() {
  std::vector<size_t> denormals;
  TG_CHECK(run_once(&denormals));
  return denormals;
}

// Inputs are never overwritten, so a run can be repeated. It does not depend on the numbers
// in earlier runs.
Result<void> CpuExecutable::run_once(std::vector<size_t>* denormals) {
  OneLibraryThread one;
  (void)take_invalid_flag();
  TG_CHECK(run_program(false, denormals));
  if (!guarded_ || !take_invalid_flag()) return {};
  ++repeated_runs_;
  if (denormals) denormals->clear();
  TG_CHECK(run_program(true, denormals));
  (void)take_invalid_flag();
  return {};
}

Result<void> CpuExecutable::run_program(bool exact, std::vector<size_t>* denormals) {
  clock_.start();
  for (size_t i = 0; i < program_.ops.size(); ++i) {
    Op& op = program_.ops[i];
    TG_CHECK(check_stop(stop_));
    if (op.kernel) {
      if (denormals) (void)take_denormal_flag();
      if (exact) {
        TG_CHECK(op.kernel->run_exact(stream_.get()));
      } else if (dnnl_status_t s = op.kernel->run(stream_.get()); s != dnnl_success) {
        return device_error(s, op.name);
      }
      if (denormals && take_denormal_flag()) denormals->push_back(i);
    }
    clock_.stop(i);
  }
  return {};
}

Result<std::vector<Tensor>> CpuExecutable::outputs() const {
  std::vector<Tensor> outputs;
  std::vector<std::byte*> to;
  for (const PlanOutput& output : plan_->outputs) {
    TG_TRY(Tensor tensor, Tensor::zeros(plan_->values[output.value].type));
    outputs.push_back(std::move(tensor));
    to.push_back(outputs.back().data());
  }
  TG_CHECK(copy_outputs(to));
  return outputs;
}

Result<void> CpuExecutable::copy_outputs(llvm::ArrayRef<std::byte*> to) const {
  for (size_t i = 0; i < to.size(); ++i) copy_output(i, to[i]);
  return {};
}

void CpuExecutable::copy_output(size_t output, std::byte* to) const {
  PlanValueId value = plan_->outputs[output].value;
  const Place& place = places_[value];
  const std::byte* from = addresses().bytes(place);
  if (is_plain(place))
    std::memcpy(to, from, static_cast<size_t>(plan_->values[value].type.bytes()));
  else
    copy_elements(to, plain_like(place), from, place);
}

// --- in the memory of callers
// ---------------------------------------------------------------------

void CpuExecutable::find_output_buffers(const Lowering& l) {
  for (const PlanOutput& output : plan_->outputs) {
    const Place& place = l.places[output.value];
    const Buffer& buffer = l.buffers[place.buffer];
    bool whole = is_plain(place) && place.offset == 0 &&
                 buffer.bytes == plan_->values[output.value].type.bytes();
    bool large = in_arena(buffer) && buffer.bytes >= kLarge;
    bool known = llvm::is_contained(output_buffers_, place.buffer);
    output_buffers_.push_back(large && whole && !known ? std::optional(place.buffer)
                                                       : std::nullopt);
  }
}

Result<void> CpuExecutable::use(llvm::ArrayRef<std::pair<BufferId, std::byte*>> memory) {
  for (auto [buffer, address] : memory) addresses_[buffer] = address;
  auto meant = [&](BufferId b) {
    return llvm::any_of(memory, [b](const auto& m) { return m.first == b; });
  };
  for (Op& op : program_.ops)
    if (op.kernel && llvm::any_of(op.buffers, meant)) TG_CHECK(bind(op));
  return {};
}

Result<std::vector<Tensor>> CpuExecutable::run(llvm::ArrayRef<Tensor> inputs,
                                               std::vector<Tensor> spare) {
  TG_CHECK(check_inputs(*plan_, inputs));
  std::vector<std::pair<BufferId, std::byte*>> elsewhere, own;
  auto move = [&](BufferId buffer, std::byte* address) {
    elsewhere.emplace_back(buffer, address), own.emplace_back(buffer, addresses_[buffer]);
  };
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Place& place = places_[plan_->inputs[i]];
    std::byte* elements = read_only(inputs[i]);
    bool aligned = reinterpret_cast<uintptr_t>(elements) % kAlignment == 0;
    if (inputs[i].is_borrowed() && aligned && inputs[i].bytes() >= kLarge && is_plain(place))
      move(place.buffer, elements);
    else
      bind(place, plain_like(place), elements, inputs[i].bytes());
  }
  std::vector<Tensor> outputs;
  for (size_t i = 0; i < plan_->outputs.size(); ++i) {
    const TensorType& type = plan_->values[plan_->outputs[i].value].type;
    TG_TRY(Tensor tensor, Tensor::in_place_of(take_spare(spare, type.bytes()), type));
    outputs.push_back(std::move(tensor));
    if (output_buffers_[i]) move(*output_buffers_[i], outputs[i].data());
  }
  Result<void> ran = use(elsewhere);
  if (ran) ran = run_once();
  for (size_t i = 0; ran && i < outputs.size(); ++i)
    if (!output_buffers_[i]) copy_output(i, outputs[i].data());
  TG_CHECK(use(own));
  TG_CHECK(std::move(ran));
  return outputs;
}

std::vector<StepInfo> CpuExecutable::steps() const {
  std::vector<StepInfo> infos;
  for (size_t i = 0; i < program_.ops.size(); ++i) {
    const Op& op = program_.ops[i];
    infos.push_back({.step = op.step,
                     .name = op.name,
                     .result = op.result,
                     .implementation = op.implementation,
                     .flops = op.flops,
                     .bytes = op.bytes,
                     .workspace_bytes = op.scratch_bytes,
                     .measured_us = clock_.median_us(i)});
  }
  return infos;
}

} // namespace tg::cpu
