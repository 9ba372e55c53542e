// What a run consists of and how long each part takes: every distinct unit timed as the search
// prices it, and the whole, so that the sum of prices can be held against it. Nothing is put
// between the units of a run: gaps that no run has would show.
#include "runtime/cuda/tuning/pricing.h"

#include "runtime/execute.h"

#include <llvm/Support/FormatVariadic.h>

namespace tg::cuda {

namespace {

const char* schedule_name(Schedule schedule) {
  switch (schedule) {
  case Schedule::Map: return "map";
  case Schedule::Rows: return "rows";
  case Schedule::Columns: return "columns";
  case Schedule::Serial: return "serial";
  case Schedule::Tiles: return "tiles";
  }
  return "";
}

/// "cuda:map:v4:t256", "cuda:rows:v4:t128:r32:k2", "cuda:tiles:64x64x16:4x4": what may be tuned.
std::string tunables_text(const KernelRow& row) {
  const Tunables& t = row.tunables;
  if (row.schedule == Schedule::Tiles)
    return llvm::formatv("cuda:tiles:{0}x{1}x{2}:{3}x{4}", t.tile_rows, t.tile_columns, t.depth,
                         t.own_rows, t.own_columns);
  std::string text =
      llvm::formatv("cuda:{0}:v{1}:t{2}", schedule_name(row.schedule), t.vector, t.threads);
  if (row.schedule == Schedule::Rows || row.schedule == Schedule::Columns)
    text += llvm::formatv(":r{0}:k{1}", t.row_threads, t.kept);
  return text;
}

std::string use_text(const KernelRow& row) {
  std::string text = llvm::formatv("{0} x {1} threads", row.blocks, row.tunables.threads);
  auto add = [&](int count, const char* what) {
    if (count > 0) text += llvm::formatv(", {0} {1}", count, what);
  };
  add(row.use.registers, "registers");
  add(row.use.shared_bytes, "B shared");
  add(row.use.stack_bytes, "B stack");
  return text;
}

} // namespace

void CudaExecutable::profile(bool on) {
  profile_ = {};
  profile_.on = on;
}

/// What is launched, with its shapes: a library's operation, or the kernel's name.
std::string CudaExecutable::unit_key(const Launch& launch) const {
  if (launch.dnn) return launch.dnn->text;
  return launch.problem ? text(*launch.problem) : table_[launch.row].name;
}

/// Of all that one unit touches, each once.
int64_t CudaExecutable::scratch_bytes(const Launch& launch) const {
  std::set<PlanValueId> seen;
  int64_t bytes = 0;
  for (PlanValueId value : launch.values)
    if (seen.insert(root_[value]).second)
      bytes = add_bytes(bytes, device_bytes(plan_.values[root_[value]].type));
  return bytes;
}

/// The unit runs on that memory from now on.
void CudaExecutable::lend(Launch& launch, Address scratch) {
  std::set<PlanValueId> seen;
  launch.parameters.clear();
  for (PlanValueId value : launch.values) {
    PlanValueId root = root_[value];
    if (seen.insert(root).second) {
      addresses_[root] = scratch;
      scratch += static_cast<Address>(device_bytes(plan_.values[root].type));
    }
    launch.parameters.push_back(addresses_[root]);
  }
}

Result<void> CudaExecutable::fill_scratch(const Launch& launch, Address scratch,
                                          const PatternOf& pattern) {
  std::set<PlanValueId> seen;
  for (PlanValueId value : launch.values) {
    const TensorType& type = plan_.values[root_[value]].type;
    if (!seen.insert(root_[value]).second) continue;
    TG_TRY(const Tensor* numbers, pattern(type.dtype));
    TG_CHECK(fill_with(*device_, scratch, type.bytes(), *numbers, stream_));
    scratch += static_cast<Address>(device_bytes(type));
  }
  return {};
}

Result<void> CudaExecutable::measure_profile() {
  profile_.measured = true;
  GraphTiming how;
  how.cold = run_bytes_ > device_->l2_bytes();
  TG_TRY(profile_.launches, time_launches(*this, device_, how));
  GraphTimer timer(*device_, stream_);
  TG_TRY(GraphTime whole, timer.time([this] { return enqueue_all(plain_io_); }, {}));
  profile_.whole_us = whole.microseconds;
  if (!plain_io_) return {};
  TG_TRY(GraphTime in, timer.time([this] { return enqueue_inputs(); }, {}));
  TG_TRY(GraphTime out, timer.time([this] { return enqueue_outputs(); }, {}));
  profile_.inputs = in.microseconds;
  profile_.outputs = out.microseconds;
  return {};
}

StepInfo CudaExecutable::step_info(size_t i) const {
  const Launch& each = launches_[i];
  StepInfo info;
  info.step = origin_[each.unit.group.steps.back()];
  for (PlanStepId s : each.unit.group.steps) {
    const PlanStep& step = plan_.steps[s];
    info.name += info.name.empty() ? "" : "+";
    info.name +=
        step.op == OpKind::Extern ? step.attrs[0].text : std::string(op_info(step.op).name);
    info.flops += step_work(plan_, plan_.steps[s]).flops;
  }
  info.result = plan_.values[each.unit.group.results[0]].type.text();
  info.implementation = "view";
  if (each.problem) {
    const MatmulChoice& product = products_.at(*each.problem);
    info.implementation =
        llvm::formatv("cublaslt:{0} of {1}", product.candidate + 1, product.plan->candidates());
    info.workspace_bytes = product.plan->workspace_bytes(product.candidate);
  }
  if (each.dnn) {
    PlanValueId result = each.unit.group.results[0];
    bool last = result < channels_last_.size() && channels_last_[result];
    info.implementation = "cudnn:" + each.dnn->plan->engine() + (last ? ":nhwc" : ":nchw");
    info.workspace_bytes = each.dnn->plan->workspace_bytes();
  }
  if (each.unit.kind == Unit::Kind::Generated) {
    const KernelRow& row = table_[each.row];
    info.implementation = tunables_text(row);
    info.uses = use_text(row);
    for (PlanStepId s : each.unit.group.steps)
      if (auto it = not_by_library_.find(plan_.steps[s].result); it != not_by_library_.end())
        info.implementation += " (" + it->second + ")";
  }
  for (PlanValueId value : each.values)
    info.bytes += static_cast<double>(plan_.values[value].type.bytes());
  if (i < profile_.launches.size()) info.measured_us = profile_.launches[i];
  return info;
}

StepInfo CudaExecutable::port_info(const char* name, llvm::ArrayRef<Port> ports,
                                   double microseconds) const {
  StepInfo info;
  info.name = name;
  info.implementation = "pinned";
  for (const Port& port : ports) info.bytes += static_cast<double>(port.bytes);
  info.measured_us = microseconds;
  return info;
}

/// While profiling, copies of inputs and outputs are listed, too: they are part of the whole.
std::vector<StepInfo> CudaExecutable::steps() const {
  std::vector<StepInfo> infos;
  bool ports = profile_.measured && plain_io_;
  if (ports) infos.push_back(port_info("inputs", inputs_.each, profile_.inputs));
  for (size_t i = 0; i < launches_.size(); ++i) infos.push_back(step_info(i));
  if (ports) infos.push_back(port_info("outputs", outputs_.each, profile_.outputs));
  return infos;
}

} // namespace tg::cuda
