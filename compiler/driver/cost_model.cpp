// Takes the spec apart; the models themselves are in compiler/extract and measured_cost.h.
#include "compiler/driver/cost_model.h"

#include "compiler/driver/backends.h"
#include "compiler/driver/calibrated_cost.h"
#include "compiler/driver/measured_cost.h"
#include "compiler/driver/prepare.h"
#include "compiler/extract/cost/cost_table.h"

namespace tg {

bool is_measured(llvm::StringRef spec) { return spec.split(':').first == "measured"; }

bool is_calibrated(llvm::StringRef spec) { return spec.split(':').first == "calibrated"; }

bool meets_source(llvm::StringRef spec) {
  return is_measured(spec) || is_calibrated(spec) || spec == "analytic";
}

std::string backend_of_costs(llvm::StringRef spec) {
  bool timed = is_measured(spec) || is_calibrated(spec);
  llvm::StringRef named = timed ? spec.split(':').second : "";
  return named.empty() ? "cpu" : named.str();
}

std::string default_cost_spec() { return find_backend("cpu") ? "calibrated" : "analytic"; }

std::string profile_of_backend(llvm::StringRef backend) {
  const BackendRow* row = find_backend(backend);
  return row && !row->profile.empty() ? row->profile.str() : "cpu";
}

namespace {

/// Of a device whose backend fuses when it loads a graph.
class GroupedAnalyticCost final : public AnalyticCost {
public:
  GroupedAnalyticCost(const DeviceProfile& device, const BackendRow& backend)
      : AnalyticCost(device, backend.patterns()), groups_(backend.groups(*this)) {}
  GroupPricer* groups() override { return groups_.get(); }

private:
  std::unique_ptr<GroupPricer> groups_;
};

Result<std::unique_ptr<CostModel>> make_analytic(llvm::StringRef profile) {
  const DeviceProfile* device = find_device_profile(profile.empty() ? "cpu" : profile);
  const BackendRow* backend = device ? backend_of_profile(*device) : nullptr;
  if (!backend) return make_analytic_cost(profile);
  if (!backend->groups) return make_analytic_cost(profile, backend->patterns());
  return std::unique_ptr<CostModel>(std::make_unique<GroupedAnalyticCost>(*device, *backend));
}

Result<std::unique_ptr<MeasuredCost>> make_measured(const std::string& backend_name,
                                                    const CostModelOptions& options,
                                                    const Graph& graph) {
  TG_TRY(std::unique_ptr<Backend> backend, make_backend(backend_name, options.cost_db));
  MeasuredCostOptions measured;
  measured.cost_db = options.cost_db;
  measured.threads = thread_count(options.threads);
  measured.network_bytes = network_bytes(graph);
  measured.memory_limit_bytes = options.memory_limit_bytes;
  measured.cache = options.cache;
  measured.allow_tf32 = options.allow_tf32;
  measured.stop = options.stop;
  measured.progress = options.progress;
  return std::make_unique<MeasuredCost>(std::move(backend), std::move(measured));
}

} // namespace

Result<std::unique_ptr<CostModel>> make_cost_model(const CostModelOptions& options,
                                                   const Graph& graph) {
  auto [kind, detail] = llvm::StringRef(options.spec).split(':');
  if (kind == "analytic") return make_analytic(detail);
  if (kind == "measured" || kind == "calibrated") {
    std::string backend = backend_of_costs(options.spec);
    TG_TRY(std::unique_ptr<MeasuredCost> measured, make_measured(backend, options, graph));
    if (kind == "measured") return std::unique_ptr<CostModel>(std::move(measured));
    const DeviceProfile* device = find_device_profile(profile_of_backend(backend));
    return std::unique_ptr<CostModel>(
        std::make_unique<CalibratedCost>(std::move(measured), *device));
  }
  if (kind == "file" && !detail.empty()) {
    TG_TRY(std::unique_ptr<TableCost> table, make_table_cost(detail));
    return std::unique_ptr<CostModel>(std::move(table));
  }
  return error(Code::usage, "no cost model `{0}`", options.spec)
      .suggest("there are calibrated[:cpu|:cuda], analytic[:PROFILE], measured[:cpu|:cuda] and "
               "file:TABLE");
}

} // namespace tg
