#include "runtime/cuda/prepared_plan.h"

#include "runtime/execute.h"

#include <llvm/Support/FormatVariadic.h>

namespace tg::cuda {

namespace {

const char* schedule_name(KernelSchedule schedule) {
  switch (schedule) {
  case KernelSchedule::Map: return "map";
  case KernelSchedule::Rows: return "rows";
  case KernelSchedule::Columns: return "columns";
  case KernelSchedule::Serial: return "serial";
  case KernelSchedule::Tiles: return "tiles";
  }
  return "";
}

/// Formats the tunables: "cuda:map:v4:t256", "cuda:rows:v4:t128:r32:k2", "cuda:tiles:64x64x16:4x4".
std::string tunables_text(const KernelRow& row) {
  const Tunables& t = row.tunables;
  std::string text;
  if (row.schedule == KernelSchedule::Tiles) {
    text = llvm::formatv("cuda:tiles:{0}x{1}x{2}:{3}x{4}", t.tile_rows, t.tile_columns, t.depth,
                         t.own_rows, t.own_columns);
    return t.splits > 1 ? text + ":s" + std::to_string(t.splits) : text;
  }
  text = llvm::formatv("cuda:{0}:v{1}:t{2}", schedule_name(row.schedule), t.vector, t.threads);
  if (row.schedule == KernelSchedule::Rows || row.schedule == KernelSchedule::Columns)
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

// --- preparing -----------------------------------------------------------------------------------

Result<std::unique_ptr<PreparedPlan>>
PreparedPlan::make(const Plan& plan, const CompileOptions& options,
                   std::shared_ptr<GpuDevice> device, CubinCache& cache,
                   ExecutableLibraries libraries, Stream stream, bool cold) {
  std::unique_ptr<PreparedPlan> prepared(
      new PreparedPlan(plan, std::move(device), std::move(libraries), stream));
  TG_CHECK(prepared->prepare(options, cache, cold));
  return prepared;
}

Result<void> PreparedPlan::prepare(const CompileOptions& options, CubinCache& cache, bool cold) {
  TG_CHECK(check_externs(plan(), options));
  for (const PlanValue& value : plan().values)
    if (value.type.dtype == DType::F64)
      return error(Code::no_kernel, "f64 has no kernels on cuda, but a value has the type {0}",
                   value.type.text())
          .suggest(
              "use `--backend cpu` or `--backend ref`, or convert the value to f32 with `cast`");
  ScratchTimer timer(*device_, stream_, cold);
  steps_.prepare(options, timer,
                 [&](const Plan& plan, const Group& group, const StridesOf& strides) {
                   return kernels_.time(timer, cache, steps_.timings(), plan, group, strides);
                 });
  TG_CHECK(choose_kernels(cache));
  place_values();
  int64_t limit = options.memory_limit_bytes;
  if (limit <= 0 || limit > device_->memory_bytes()) limit = device_->memory_bytes();
  return memory_.add_up(limit, steps_.workspace_bytes(), steps_.zero_bytes());
}

Result<void> PreparedPlan::choose_kernels(CubinCache& cache) {
  StridesOf strides = steps_.strides();
  TG_TRY(std::vector<Unit> units, fuse(plan(), strides, [&](const PlanStep& s) {
           return steps_.problem_of(s).has_value() || steps_.call_of(s) != nullptr;
         }));
  for (Unit& unit : units) {
    TG_TRY(Launch launch, launch_of(std::move(unit), strides, cache));
    launches_.push_back(std::move(launch));
  }
  return {};
}

Result<Launch> PreparedPlan::launch_of(Unit unit, const StridesOf& strides, CubinCache& cache) {
  Launch launch;
  launch.unit = std::move(unit);
  const PlanStep& step = plan().steps[launch.unit.group.steps[0]];
  if (launch.unit.kind == Unit::Kind::Generated) {
    std::string why;
    auto kernel = generate(plan(), launch.unit.group, strides, why);
    if (!kernel)
      return error(Code::no_kernel, "`{0}` has no kernel on cuda: {1}", op_info(step.op).name, why);
    TG_TRY(launch.row, kernels_.row(*kernel, cache));
    for (const KernelParameter& p : kernel->parameters) launch.values.push_back(p.value);
  }
  if (launch.unit.kind == Unit::Kind::Library) {
    launch.problem = steps_.problem_of(step);
    launch.dnn = steps_.call_of(step);
    for (PlanValueId id : step.operands)
      if (id != kNoValue) launch.values.push_back(id);
    launch.values.push_back(step.result);
  }
  return launch;
}

void PreparedPlan::place_values() {
  std::vector<UnitValues> units;
  for (const Launch& launch : launches_) {
    UnitValues& unit = units.emplace_back();
    unit.values = launch.values;
    unit.view = launch.unit.kind == Unit::Kind::View;
    if (!unit.view) continue;
    const PlanStep& step = plan().steps[launch.unit.group.steps[0]];
    unit.viewed = step.operands[0];
    unit.result = step.result;
  }
  memory_.place(units);
}

Result<void> PreparedPlan::reserve() {
  TG_CHECK(memory_.reserve(*device_));
  TG_CHECK(reserve_workspace());
  set_parameters();
  return {};
}

void PreparedPlan::set_parameters() {
  for (Launch& launch : launches_) set_parameters(launch);
}

void PreparedPlan::set_parameters(Launch& launch) {
  launch.parameters.clear();
  for (PlanValueId value : launch.values) launch.parameters.push_back(memory_.address(value));
}

// --- launching -----------------------------------------------------------------------------------

Result<void> PreparedPlan::launch(const Launch& launch) const {
  if (launch.unit.kind == Unit::Kind::View) return {};
  if (launch.dnn) return run_dnn(*launch.dnn);
  if (launch.problem) return run_product(launch);
  return kernels_.launch(launch.row, launch.parameters, stream_);
}

Result<void> PreparedPlan::run_dnn(const DnnCall& call) const {
  DnnAddresses at;
  for (PlanValueId id : call.values)
    at.push_back(id == kNoValue ? 0 : id == kZeros ? memory_.zeros() : memory_.address(id));
  return device_->run_library(
      [plan = call.plan, at = std::move(at), workspace = memory_.workspace()](void* stream) {
        return plan->run(at, workspace, stream);
      },
      stream_);
}

Result<void> PreparedPlan::run_product(const Launch& launch) const {
  const MatmulChoice& product = steps_.product(*launch.problem);
  const PlanStep& step = plan().steps[launch.unit.group.steps[0]];
  auto at = [&](PlanValueId id) { return id == kNoValue ? 0 : memory_.address(id); };
  MatmulAddresses addresses = {at(step.operands[0]), at(step.operands[1]), at(step.operands[2]),
                               at(step.operands[3]), at(step.result),      memory_.workspace()};
  return device_->run_library([plan = product.plan, candidate = product.candidate, addresses](
                                  void* stream) { return plan->run(candidate, addresses, stream); },
                              stream_);
}

// --- on scratch memory ---------------------------------------------------------------------------

void PreparedPlan::use_scratch(size_t launch, Address scratch) {
  memory_.use_scratch(launches_[launch].values, scratch);
  set_parameters(launches_[launch]);
}

Result<void> PreparedPlan::fill_scratch(const Launch& launch, Address scratch,
                                        const PatternOf& pattern) const {
  return memory_.on_scratch(launch.values, scratch,
                            [&](PlanValueId value, Address at) -> Result<void> {
                              const TensorType& type = plan().values[value].type;
                              TG_TRY(const Tensor* numbers, pattern(type.dtype));
                              return fill_with(*device_, at, type.bytes(), *numbers, stream_);
                            });
}

// --- reports of units ----------------------------------------------------------------------------

std::string PreparedPlan::key(const Launch& launch) const {
  if (launch.dnn) return launch.dnn->text;
  return launch.problem ? text(*launch.problem) : kernels_[launch.row].name;
}

StepInfo PreparedPlan::info(const Launch& launch) const {
  StepInfo info;
  info.step = steps_.origin(launch.unit.group.steps.back());
  for (PlanStepId s : launch.unit.group.steps) {
    const PlanStep& step = plan().steps[s];
    info.name += info.name.empty() ? "" : "+";
    info.name +=
        step.op == OpKind::Extern ? step.attrs[0].text : std::string(op_info(step.op).name);
    info.flops += step_work(plan(), step).flops;
  }
  info.result = plan().values[launch.unit.group.results[0]].type.text();
  describe(launch, info);
  for (PlanValueId value : launch.values)
    info.bytes += static_cast<double>(plan().values[value].type.bytes());
  return info;
}

/// Describes the implementation of a launch.
void PreparedPlan::describe(const Launch& launch, StepInfo& info) const {
  info.implementation = "view";
  if (launch.problem) {
    const MatmulChoice& product = steps_.product(*launch.problem);
    info.implementation =
        llvm::formatv("cublaslt:{0} of {1}", product.candidate + 1, product.plan->candidates());
    info.workspace_bytes = product.plan->workspace_bytes(product.candidate);
  }
  if (launch.dnn) {
    bool last = steps_.channels_last(launch.unit.group.results[0]);
    info.implementation = "cudnn:" + launch.dnn->plan->engine() + (last ? ":nhwc" : ":nchw");
    info.workspace_bytes = launch.dnn->plan->workspace_bytes();
  }
  if (launch.unit.kind != Unit::Kind::Generated) return;
  info.implementation = tunables_text(kernels_[launch.row]);
  info.uses = use_text(kernels_[launch.row]);
  for (PlanStepId s : launch.unit.group.steps)
    if (llvm::StringRef why = steps_.why_generated(plan().steps[s].result); !why.empty())
      info.implementation += " (" + why.str() + ")";
}

} // namespace tg::cuda
