// Each step reports into the session's sink and hands its result on; options are translated here
// and nowhere else.
#include "compiler/driver/cli/pipeline.h"

#include "compiler/driver/cost_model.h"
#include "compiler/driver/measured_cost.h"
#include "compiler/egraph/rule_from_ast.h"
#include "compiler/extract/analytic.h"
#include "compiler/extract/cost_table.h"

#include <llvm/ADT/StringSwitch.h>

#include <cmath>

namespace tg::cli {

std::optional<Graph> load(Session& session) {
  const Options& o = session.options;
  return load_model(session.sources, o.files.front(), {o.model, o.set}, session.sink);
}

PrepareOptions prepare_options(const Options& o) {
  PrepareOptions options;
  options.backend = o.backend;
  options.threads = static_cast<int>(o.threads);
  options.memory_limit_bytes = memory_limit_bytes(o.memory_limit_mb);
  options.seed = o.seed;
  return options;
}

OptimizeOptions optimize_options(const Options& o) {
  OptimizeOptions options;
  options.search = llvm::StringSwitch<Search>(o.search)
                       .Case("none", Search::None)
                       .Case("random", Search::Random)
                       .Default(Search::Saturate);
  options.budget = static_cast<size_t>(o.budget);
  options.depth = static_cast<size_t>(o.depth);
  SaturateOptions& explore = options.explore;
  explore.iterations = static_cast<int>(o.iterations);
  explore.multi_iterations = static_cast<int>(o.multi_iterations);
  explore.node_limit = static_cast<size_t>(o.node_limit);
  explore.time_limit_s = o.time_limit_s;
  explore.memory_limit_mb = static_cast<size_t>(memory_limit_bytes(o.memory_limit_mb) >> 20);
  explore.cycle_filter = llvm::StringSwitch<CycleFilter>(o.cycle_filter)
                             .Case("vanilla", CycleFilter::Vanilla)
                             .Case("none", CycleFilter::None)
                             .Default(CycleFilter::Efficient);
  explore.numerics = llvm::StringSwitch<Numerics>(o.numerics)
                         .Case("exact", Numerics::Exact)
                         .Case("all", Numerics::Risky)
                         .Default(Numerics::Reassociates);
  explore.seed = o.seed;
  explore.compatible = o.backoff;
  ExtractOptions& extract = options.extract;
  extract.extractor = *extractor_by_name(o.extract);
  extract.max_weight_growth = o.max_weight_growth;
  extract.ilp.time_limit_s = o.time_limit_s;
  extract.ilp.memory_limit_bytes = static_cast<uint64_t>(memory_limit_bytes(o.memory_limit_mb));
  extract.ilp.cycles = llvm::StringSwitch<IlpCycles>(o.ilp_cycles)
                           .Case("real", IlpCycles::Real)
                           .Case("int", IlpCycles::Int)
                           .Default(IlpCycles::None);
  return options;
}

namespace {

/// A line on a terminal that counts operators as they are timed, and goes away when it is done.
std::function<void(size_t, size_t)> progress_line(Session& session) {
  if (session.options.quiet || session.options.json || !session.color) return {};
  return [&err = session.err](size_t done, size_t total) {
    err << "\r\x1b[Ktiming operators: " << done << " of " << total;
    if (done == total) err << "\r\x1b[K";
    err.flush();
  };
}

Result<Optimized> optimize_with(Session& session, const Graph& source, llvm::ArrayRef<Rule> rules) {
  const Options& o = session.options;
  CostModelOptions cost_options;
  cost_options.spec = o.cost;
  cost_options.cost_db = o.cost_db;
  cost_options.threads = static_cast<int>(o.threads);
  cost_options.memory_limit_bytes = memory_limit_bytes(o.memory_limit_mb);
  cost_options.progress = progress_line(session);
  TG_TRY(std::unique_ptr<CostModel> costs, make_cost_model(cost_options, source));
  RecordingCost recorder(*costs);
  PrepareOptions run = prepare_options(o);
  run.backend = "cpu";
  BackendFinalists finalists(run);
  TG_TRY(std::unique_ptr<CostModel> analytic, make_analytic_cost("cpu"));
  TG_TRY(Optimized result, optimize(source, rules, recorder, optimize_options(o),
                                    is_measured(o.cost) ? &finalists : nullptr, analytic.get()));
  if (!o.save_costs.empty()) TG_CHECK(save_cost_table(recorder.table(), o.save_costs));
  return result;
}

} // namespace

std::optional<Optimized> optimize_model(Session& session, const Graph& source) {
  const Options& o = session.options;
  std::optional<std::vector<Rule>> rules =
      load_rules(session.sources, library(), o.rules, session.sink);
  if (!rules) return std::nullopt;
  Result<Optimized> result = optimize_with(session, source, *rules);
  if (!result) {
    session.sink.report(result.error());
    return std::nullopt;
  }
  return std::move(*result);
}

void write_number(llvm::json::OStream& json, llvm::StringRef name, double value) {
  if (std::isfinite(value))
    json.attribute(name, value);
  else
    json.attribute(name, nullptr);
}

std::string difference_text(double difference) {
  if (difference == 0) return "0";
  if (!std::isfinite(difference)) return "not finite";
  return llvm::formatv("{0:e1}", difference);
}

} // namespace tg::cli
