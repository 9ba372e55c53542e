// The row of the backend `cuda`: its libraries, and prices of its launches.
#include "compiler/api/backends/backends.h"
#include "compiler/api/backends/cuda_groups.h"
#include "compiler/emit/plan_from_graph.h"
#include "runtime/cuda/backend.h"
#include "runtime/cuda/cudnn/attention.h"
#include "runtime/cuda/device/libraries.h"
#include "runtime/cuda/grouping.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/Support/FormatVariadic.h>

namespace tg {

namespace {

llvm::StringRef label(cuda::Tried tried) {
  switch (tried) {
  case cuda::Tried::Not: return " (untested)";
  case cuda::Tried::Planned: return " (planned only)";
  case cuda::Tried::Compiled: return " (compiled only)";
  case cuda::Tried::OnGpu: return "";
  }
  return "";
}

void add_tried_versions(DeviceReport& report) {
  for (const cuda::TriedVersion& tried : cuda::tried_versions()) {
    std::string name = (cuda::library_name(tried.library) + " " + tried.version).str();
    if (tried.how == cuda::Tried::OnGpu) report.on_gpu.push_back(name);
    if (tried.how == cuda::Tried::Compiled) report.compiled_only.push_back(name);
    if (tried.how == cuda::Tried::Planned) report.planned_only.push_back(name);
  }
  report.untested = {"CUDA 11.8", "CUDA 12", "cuDNN 8.9", "other versions of cuDNN 9",
                     "GPUs other than the H100"};
}

void report_cuda(DeviceReport& report) {
  add_tried_versions(report);
  cuda::Installation installation = cuda::find_installation();
  std::vector<std::pair<std::string, std::string>> versions, problems;
  for (const cuda::FoundLibrary& library : installation.libraries)
    if (library.problem.empty())
      versions.emplace_back(cuda::library_name(library.library),
                            library.version + label(library.tried).str());
    else
      problems.emplace_back(cuda::library_name(library.library), library.problem);
  for (const cuda::Gpu& gpu : installation.gpus) {
    if (!installation.problem.empty()) break;
    std::string name =
        llvm::formatv("{0}, {1}, {2} multiprocessors, {3} MiB", gpu.name, gpu.architecture(),
                      gpu.multiprocessors, gpu.memory_bytes >> 20);
    if (llvm::StringRef(gpu.target).startswith("compute_"))
      name += ", kernels compiled by the driver from PTX for " + gpu.target + " (newer than NVRTC)";
    report.usable.push_back({"cuda", name, versions, problems});
  }
  if (!installation.problem.empty())
    report.missing.push_back({"cuda", installation.problem, versions, problems});
}

// --- prices of groups (cuda_groups.h) -----------------------------------------------------------

/// Rooflines of a plan's operators.
class PlanRooflines {
public:
  explicit PlanRooflines(const AnalyticCost& costs) : costs_(costs) {}

  Roofline of(const Plan& plan, const PlanStep& step) {
    if (cuda::is_attention(step)) return attention(plan, step);
    auto type = [&](PlanValueId id) {
      return id == kNoValue ? TensorType{} : plan.values[id].type;
    };
    llvm::SmallVector<TensorType, 5> operands;
    for (PlanValueId id : step.operands) operands.push_back(type(id));
    return of(step.op, step.attrs, operands, type(step.result));
  }

  /// Returns the roofline of transposing an image to the other layout or back.
  Roofline transpose(const TensorType& type) {
    const Shape& d = type.shape;
    return of(OpKind::Transpose, {Value::of_ints({0, 2, 3, 1})}, {type},
              {type.dtype, {d[0], d[2], d[3], d[1]}});
  }
  double transpose_us(const TensorType& type) { return costs_.together(transpose(type)); }

  /// Returns the library's overhead around a convolution of channels-first images. In half types
  /// its matrix-unit engines support only channels last, so it transposes inputs and outputs.
  double layout_change_us(const Plan& plan, const PlanStep& convolution, bool channels_last) {
    const TensorType& result = plan.values[convolution.result].type;
    if (channels_last || dtype_size(result.dtype) != 2) return 0;
    return transpose_us(plan.values[convolution.operands[0]].type) + transpose_us(result);
  }

private:
  Roofline of(OpKind op, llvm::ArrayRef<Value> attrs, llvm::ArrayRef<TensorType> operands,
              const TensorType& result) {
    llvm::SmallVector<TypeId, 5> types;
    for (const TensorType& type : operands)
      types.push_back(type.is_none() ? symbols_.none_type() : symbols_.type(type));
    llvm::SmallVector<ValueId, 4> values;
    for (const Value& value : attrs) values.push_back(symbols_.value(value));
    return costs_.roofline(symbols_, {op, symbols_.attrs(values), types, symbols_.type(result), 0});
  }

  /// Returns the roofline of two products and a softmax, without storing the scores.
  Roofline attention(const Plan& plan, const PlanStep& step) {
    cuda::AttentionSizes n = cuda::sizes_of_attention(step);
    DType dtype = plan.values[step.result].type.dtype;
    TensorType q{dtype, {n.batch, n.heads, n.queries, n.width}};
    TensorType k{dtype, {n.batch, n.heads, n.width, n.keys}};
    TensorType v{dtype, {n.batch, n.heads, n.keys, n.width}};
    TensorType scores{dtype, {n.batch, n.heads, n.queries, n.keys}};
    Value none = Value::of_enum("none");
    Roofline work = of(OpKind::Matmul, {none}, {q, k, {}, {}}, scores);
    work.compute_us += of(OpKind::Softmax, {Value::of_int(3)}, {scores}, scores).compute_us +
                       of(OpKind::Matmul, {none}, {scores, v, {}, {}}, q).compute_us;
    return work;
  }

  const AnalyticCost& costs_;
  Symbols symbols_;
};

class AnalyticGroups final : public GroupPricer {
public:
  explicit AnalyticGroups(const AnalyticCost& costs)
      : costs_(costs), prices_(assumed_prices(costs)), rooflines_(costs) {}

  std::vector<GroupPrice> price(llvm::ArrayRef<const Graph*> graphs) override {
    std::vector<GroupPrice> prices;
    for (const Graph* graph : graphs) {
      Result<cuda::GroupedPlan> grouped = cuda::group_plan(plan_from_graph(*graph), prices_);
      prices.push_back(grouped ? price(*grouped) : GroupPrice());
    }
    return prices;
  }

private:
  GroupPrice price(const cuda::GroupedPlan& grouped) {
    GroupPrice price{0, 0};
    for (const cuda::Unit& unit : grouped.units) {
      if (unit.kind == cuda::Unit::Kind::View) continue;
      ++price.groups;
      price.microseconds += costs_.together(roofline(grouped, unit));
      const PlanStep& step = grouped.plan.steps[unit.group.steps[0]];
      if (unit.kind == cuda::Unit::Kind::Library && step.op == OpKind::Conv2d)
        price.microseconds += rooflines_.layout_change_us(
            grouped.plan, step, is_stored_channels_last(grouped, step.result));
    }
    return price;
  }

  static bool is_stored_channels_last(const cuda::GroupedPlan& grouped, PlanValueId id) {
    return id < grouped.channels_last.size() && grouped.channels_last[id];
  }

  Roofline roofline(const cuda::GroupedPlan& grouped, const cuda::Unit& unit) {
    Roofline work;
    for (PlanStepId s : unit.group.steps) {
      bool as_before = unit.kind == cuda::Unit::Kind::Library;
      const Plan& plan = as_before ? grouped.before : grouped.plan;
      const PlanStep& step = plan.steps[as_before ? grouped.origin[s] : s];
      Roofline own = rooflines_.of(plan, step);
      work.compute_us += own.compute_us;
      if (turns(grouped, step))
        own.byte_share = rooflines_.transpose(plan.values[step.result].type).byte_share;
      if (!op_info(step.op).has(Trait::View))
        work.byte_share = std::min(work.byte_share, own.byte_share);
    }
    work.bytes = traffic(grouped.plan, unit.group);
    return work;
  }

  static bool turns(const cuda::GroupedPlan& grouped, const PlanStep& step) {
    return step.op == OpKind::Identity && is_stored_channels_last(grouped, step.operands[0]) !=
                                              is_stored_channels_last(grouped, step.result);
  }

  /// Returns the bytes of the results and of the inputs from outside. For a slice or a gather only
  /// the piece counts, also through views (op_work, over several operators).
  static double traffic(const Plan& plan, const cuda::Group& group) {
    auto bytes = [&](PlanValueId id) { return static_cast<double>(plan.values[id].type.bytes()); };
    double total = 0;
    llvm::DenseMap<PlanValueId, double> needed;
    for (PlanValueId result : group.results) total += needed[result] = bytes(result);
    for (PlanStepId s : llvm::reverse(group.steps)) {
      const PlanStep& step = plan.steps[s];
      bool piece = step.op == OpKind::Slice || step.op == OpKind::Gather;
      bool part = piece || op_info(step.op).has(Trait::View);
      double of_result = needed.lookup(step.result);
      for (PlanValueId id : step.operands) {
        if (id == kNoValue) continue;
        double& so_far = needed[id];
        so_far = std::min(bytes(id), so_far + (part ? of_result : bytes(id)));
      }
    }
    for (PlanValueId operand : cuda::operands_of(plan, group)) total += needed.lookup(operand);
    return total;
  }

  const AnalyticCost& costs_;
  cuda::AssumedPrices prices_;
  PlanRooflines rooflines_;
};

} // namespace

cuda::AssumedPrices assumed_prices(const AnalyticCost& costs) {
  auto rooflines = std::make_shared<PlanRooflines>(costs);
  return {[rooflines, &costs](const Plan& plan, const PlanStep& step, bool last) {
            return costs.together(rooflines->of(plan, step)) +
                   rooflines->layout_change_us(plan, step, last);
          },
          [rooflines](const TensorType& type) { return rooflines->transpose_us(type); }};
}

std::unique_ptr<GroupPricer> make_cuda_groups(const AnalyticCost& costs) {
  return std::make_unique<AnalyticGroups>(costs);
}

const BackendRow& cuda_backend_row() {
  static const BackendRow row = {
      .name = "cuda",
      .make = [](const BackendRequest& request) { return make_cuda_backend(request.cost_db); },
      .report = report_cuda,
      .tf32 = true,
      .streams = true,
      .profile = "h200",
      .patterns = cuda_patterns,
      .groups = make_cuda_groups,
  };
  return row;
}

} // namespace tg
