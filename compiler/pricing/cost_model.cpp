// Makes a model from a choice; the models themselves are in compiler/extract and measured_cost.h.
#include "compiler/pricing/cost_model.h"

#include "compiler/api/backends/backends.h"
#include "compiler/api/backends/prepare.h"
#include "compiler/extract/cost/cost_table.h"
#include "compiler/pricing/calibrated_cost.h"
#include "compiler/pricing/measured_cost.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>

#include <functional>

namespace tg {

using Source = CostSpec::Source;

CostSpec resolved(const CostSpec& spec) {
  if (spec.source != Source::Default) return spec;
  if (spec.backend) return CostSpec::calibrated(*spec.backend);
  return find_backend(tangram::kDefaultBackend) ? CostSpec::calibrated() : CostSpec::analytic();
}

bool is_measured(const CostSpec& spec) { return spec.source == Source::Measured; }

bool is_calibrated(const CostSpec& spec) { return resolved(spec).source == Source::Calibrated; }

bool is_timed(const CostSpec& spec) { return is_measured(spec) || is_calibrated(spec); }

bool is_compared_with_source(const CostSpec& spec) {
  bool estimates = resolved(spec).source == Source::Analytic && spec.name.empty();
  return is_timed(spec) || estimates;
}

tangram::Backend backend_of_costs(const CostSpec& spec) {
  bool timed = is_timed(spec);
  return timed && spec.backend ? *spec.backend : tangram::kDefaultBackend;
}

std::string profile_of_backend(llvm::StringRef backend) {
  const BackendRow* row = find_backend(backend);
  return row ? row->profile.str() : "";
}

namespace {

/// The analytic model of a device whose backend fuses when it loads a graph.
class GroupedAnalyticCost final : public AnalyticCost {
public:
  GroupedAnalyticCost(const DeviceProfile& device, const BackendRow& backend)
      : AnalyticCost(device, backend.patterns()), groups_(backend.groups(*this)) {}
  GroupPricer* groups() override { return groups_.get(); }

private:
  std::unique_ptr<GroupPricer> groups_;
};

Result<std::unique_ptr<CostModel>> make_analytic(llvm::StringRef profile) {
  const DeviceProfile* device = find_device_profile(profile);
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

/// Returns false if a row of this build says so; make_backend() reports backends that the
/// build lacks.
bool can_be_timed(llvm::StringRef backend) {
  const BackendRow* row = find_backend(backend);
  return !row || row->is_timed();
}

std::string timed_backends() { return backend_names(std::mem_fn(&BackendRow::is_timed)); }

} // namespace

Result<std::unique_ptr<CostModel>> make_cost_model(const CostModelOptions& options,
                                                   const Graph& graph) {
  CostSpec spec = resolved(options.spec);
  if (spec.source == Source::Analytic) return make_analytic(spec.name);
  if (spec.source == Source::Table) {
    TG_TRY(std::unique_ptr<TableCost> table, make_table_cost(spec.name));
    return std::unique_ptr<CostModel>(std::move(table));
  }
  std::string backend(tangram::word(backend_of_costs(spec)));
  if (!can_be_timed(backend))
    return error(Code::usage, "costs are measured on {0}, not on `{1}`", timed_backends(), backend);
  TG_TRY(std::unique_ptr<MeasuredCost> measured, make_measured(backend, options, graph));
  if (is_measured(spec)) return std::unique_ptr<CostModel>(std::move(measured));
  const DeviceProfile* device = find_device_profile(profile_of_backend(backend));
  return std::unique_ptr<CostModel>(std::make_unique<CalibratedCost>(std::move(measured), *device));
}

namespace {

Result<CostSpec> parse_timed(Source source, llvm::StringRef backend, llvm::StringRef option) {
  CostSpec spec{source, tangram::from_word<tangram::Backend>(backend), {}};
  if (backend.empty() || (spec.backend && can_be_timed(backend))) return spec;
  return error(Code::usage, "`{0}` measures on {1}, not on `{2}`", option, timed_backends(),
               backend);
}

Result<CostSpec> parse_analytic(llvm::StringRef device) {
  if (device.empty() || find_device_profile(device)) return CostSpec::analytic(device.str());
  auto name = [](const DeviceProfile& profile) { return profile.name; };
  return error(Code::usage, "unknown device profile `{0}`; the profiles are {1}", device,
               llvm::join(llvm::map_range(device_profiles(), name), ", "));
}

} // namespace

Result<CostSpec> parse_cost_spec(llvm::StringRef text, llvm::StringRef option) {
  auto [kind, detail] = text.split(':');
  if (kind == "analytic") return parse_analytic(detail);
  if (kind == "measured") return parse_timed(Source::Measured, detail, option);
  if (kind == "calibrated") return parse_timed(Source::Calibrated, detail, option);
  if (kind == "file" && !detail.empty()) return CostSpec::table(detail.str());
  return error(Code::usage,
               "`{0}` requires calibrated[:BACKEND], analytic[:PROFILE], measured[:BACKEND] or "
               "file:TABLE, not `{1}`",
               option, text);
}

} // namespace tg

namespace tangram {

std::optional<CostSpec> CostSpec::from_text(std::string_view text) {
  tg::Result<CostSpec> spec = tg::parse_cost_spec(text, "cost");
  if (!spec) return std::nullopt;
  return *spec;
}

std::string CostSpec::text() const {
  std::string on = backend ? ":" + std::string(word(*backend)) : "";
  switch (source) {
  case Source::Default: return "";
  case Source::Calibrated: return "calibrated" + on;
  case Source::Measured: return "measured" + on;
  case Source::Analytic: return name.empty() ? "analytic" : "analytic:" + name;
  case Source::Table: return "file:" + name;
  }
  return "";
}

} // namespace tangram
