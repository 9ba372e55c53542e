// Each step reports into the session's sink and hands its result on; options are translated here
// and nowhere else.
#include "compiler/driver/cli/pipeline.h"

#include "compiler/driver/cli/live_line.h"
#include "compiler/driver/cli/search_files.h"

#include "compiler/driver/cost_model.h"
#include "compiler/driver/devices.h"
#include "compiler/driver/measured_cost.h"
#include "compiler/driver/weights.h"
#include "compiler/driver/whole_runs.h"
#include "compiler/extract/cost/analytic.h"
#include "compiler/extract/cost/cost_table.h"
#include "compiler/ir/retype.h"
#include "compiler/optimizer/explanation.h"
#include "compiler/rules/from_ast.h"

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
  options.allow_tf32 = o.allow_tf32;
  options.cost_db = o.cost_db;
  return options;
}

Result<PrepareOptions> prepare_options(const Options& o, const Graph& model) {
  PrepareOptions options = prepare_options(o);
  if (o.weights.empty()) return options;
  TG_TRY(options.weights, open_weights(model, o.weights));
  return options;
}

namespace {

/// What `--without` leaves out.
void leave_out(const Options& o, PortfolioOptions& portfolio) {
  auto out = [&](llvm::StringRef word) { return llvm::is_contained(o.without, word); };
  portfolio.mcts.widen = !out("widening");
  portfolio.mcts.firing = !out("firing");
  portfolio.mcts.normalise = !out("normalising");
  portfolio.mcts.transpose = !out("transpositions");
  portfolio.use_priors = !out("priors");
  portfolio.use_stretches = !out("stretches");
  portfolio.use_repeats = !out("repeats");
  portfolio.use_restarts = !out("restarts");
  portfolio.use_thorough = !out("thorough");
  portfolio.use_focus = !out("focus");
  portfolio.use_saturation = !out("saturation");
  portfolio.use_tree = !out("tree");
}

/// Options of both tree searches.
void set_tree_options(const Options& o, OptimizeOptions& options) {
  PortfolioOptions& portfolio = options.portfolio;
  Pact24Options& pact = options.pact24;
  if (o.budget > 0) portfolio.mcts.budget = pact.budget = static_cast<int>(o.budget);
  if (o.depth > 0) portfolio.mcts.depth = pact.depth = static_cast<int>(o.depth);
  if (o.exploration >= 0) portfolio.mcts.exploration = pact.exploration = o.exploration;
  pact.reuse_tree = o.reuse_tree;
  if (o.budget > 0) options.local.budget = static_cast<size_t>(o.budget);
  options.local.alpha = o.alpha;
  portfolio.threads = thread_count(o.search_threads > 0 ? o.search_threads : o.threads);
  leave_out(o, portfolio);
  options.reward = llvm::StringSwitch<Reward>(o.reward)
                       .Case("greedy", Reward::Greedy)
                       .Case("ilp", Reward::Ilp)
                       .Default(Reward::GreedyShared);
  options.final_ilp = o.extract != "greedy";
}

} // namespace

OptimizeOptions optimize_options(const Options& o) {
  OptimizeOptions options;
  options.explain = o.explain || o.verify || o.command == "explain" || !o.trace.empty();
  options.search = *search_by_name(o.search);
  if (options.search == Search::Mcts && o.mcts_profile == "pact24") options.search = Search::Pact24;
  if (o.budget > 0) options.budget = static_cast<size_t>(o.budget);
  if (o.depth > 0) options.depth = static_cast<size_t>(o.depth);
  set_tree_options(o, options);
  SaturateOptions& explore = options.explore;
  explore.iterations = static_cast<int>(o.iterations);
  explore.multi_iterations = static_cast<int>(o.multi_iterations);
  explore.memory_limit_mb = static_cast<size_t>(memory_limit_bytes(o.memory_limit_mb) >> 20);
  explore.cycle_filter = llvm::StringSwitch<CycleFilter>(o.cycle_filter)
                             .Case("vanilla", CycleFilter::Vanilla)
                             .Case("none", CycleFilter::None)
                             .Default(CycleFilter::Efficient);
  explore.numerics = llvm::StringSwitch<Numerics>(o.numerics)
                         .Case("exact", Numerics::Exact)
                         .Case("all", Numerics::Risky)
                         .Case("lossy", Numerics::Lossy)
                         .Default(Numerics::Reassociates);
  explore.seed = o.seed;
  explore.compatible = o.backoff;
  ExtractOptions& extract = options.extract;
  extract.extractor = *extractor_by_name(o.extract);
  extract.max_weight_growth = o.max_weight_growth;
  extract.ilp.memory_limit_bytes = static_cast<uint64_t>(memory_limit_bytes(o.memory_limit_mb));
  extract.ilp.cycles = llvm::StringSwitch<IlpCycles>(o.ilp_cycles)
                           .Case("real", IlpCycles::Real)
                           .Case("int", IlpCycles::Int)
                           .Default(IlpCycles::None);
  set_limits(options, o.time_limit_s, o.node_limit, is_calibrated(o.cost));
  return options;
}

std::function<void(size_t, size_t)> progress_line(Session& session, const char* what) {
  if (session.options.quiet || session.options.json || !session.color) return {};
  return [&err = session.err, what](size_t done, size_t total) {
    err << "\r\x1b[K" << what << ": " << done << " of " << total;
    if (done == total) err << "\r\x1b[K";
    err.flush();
  };
}

namespace {

/// An explanation tells what rewriting does, also where this machine gains nothing by it; the demo
/// is there to be looked at.
WholeRunPolicy whole_runs(const Options& o, const PrepareOptions& run) {
  bool wanted = o.command != "explain" || is_measured(o.cost);
  return {{o.cost, wanted, static_cast<size_t>(o.finalists), o.command != "bench demo"}, run};
}

Result<Optimized> optimize_with(Session& session, const Graph& source, llvm::ArrayRef<Rule> rules) {
  const Options& o = session.options;
  TG_TRY(Graph as_run, retype(source, o.dtype));
  TG_TRY(std::unique_ptr<CostModel> costs, cost_model(session, as_run));
  RecordingCost recorder(*costs);
  std::optional<RetypedCost> narrow, narrow_analytic;
  CostModel& prices = in_dtype(o.dtype, recorder, narrow);
  TG_TRY(PrepareOptions run, prepare_options(o, source));
  run.backend = backend_of_costs(o.cost);
  run.dtype = o.dtype;
  run.stop = session.stop;
  bool measured = is_measured(o.cost);
  WholeRunPolicy runs = whole_runs(o, run);
  TG_TRY(std::unique_ptr<CostModel> analytic, make_analytic_cost(profile_of_backend(run.backend)));
  CostModel& second_opinion = in_dtype(o.dtype, *analytic, narrow_analytic);
  OptimizeOptions options = optimize_options(o);
  options.stop = session.stop;
  options.search_share = o.verify ? 0.5 : o.command == "explain" ? 0.75 : 1;
  options.kernels = true;
  options.groups = o.groups == "on" || (o.groups == "auto" && (measured || is_calibrated(o.cost)));
  runs.set(options);
  std::optional<FilePriors> priors;
  if (!o.priors.empty()) {
    TG_TRY(PriorTable table, read_priors(o.priors));
    priors.emplace(std::move(table));
    options.portfolio.priors = &*priors;
  }
  SearchTrace trace;
  if (!o.trace.empty()) options.trace = &trace;
  auto optimized = [&] { // operators that are timed have a line of their own
    LiveLine line(session, options.explore.time_limit_s, !measured);
    options.portfolio.progress = line.teller();
    return optimize(source, rules, prices, options, runs.runner(),
                    measured ? &second_opinion : nullptr);
  };
  TG_TRY(Optimized result, optimized());
  if (runs.turned_off() && result.report.changed)
    result.report.notes.push_back("no whole runs (--finalists 0): the prices alone decide");
  if (o.groups == "on" && !recorder.groups())
    result.report.notes.push_back("these costs have no prices of groups: --groups does nothing");
  if (!o.save_costs.empty()) TG_CHECK(save_cost_table(recorder.table(), o.save_costs));
  if (!o.save_priors.empty()) TG_CHECK(write_priors(session, result.report.learned, o.save_priors));
  if (!o.trace.empty()) TG_CHECK(write_trace(session, trace, source, result, rules));
  return result;
}

} // namespace

Result<std::unique_ptr<CostModel>> cost_model(Session& session, const Graph& source) {
  const Options& o = session.options;
  CostModelOptions options;
  options.spec = o.cost;
  options.cost_db = o.cost_db;
  options.cache = o.cost_cache == "hot"    ? CacheState::Hot
                  : o.cost_cache == "cold" ? CacheState::Cold
                                           : CacheState::AsNetwork;
  options.allow_tf32 = o.allow_tf32;
  options.threads = static_cast<int>(o.threads);
  options.memory_limit_bytes = memory_limit_bytes(o.memory_limit_mb);
  // What is not timed by then has no price: under a time limit whole runs come after it.
  constexpr double kShareOfTiming = 0.55;
  options.stop = session.stop.within(kShareOfTiming * session.stop.seconds_left());
  options.progress = progress_line(session, "timing operators");
  return make_cost_model(options, source);
}

TrustOptions trust_options(Session& session) {
  const Options& o = session.options;
  TrustOptions options;
  options.threads = static_cast<int>(o.threads);
  options.cache = o.rule_cache.empty() ? default_rule_cache() : o.rule_cache;
  options.stop = session.stop;
  options.isolated = true;
  options.progress = progress_line(session, "verifying rules");
  return options;
}

std::optional<Optimized> optimize_model(Session& session, const Graph& source,
                                        llvm::ArrayRef<Rule> declared, std::vector<Rule>* used) {
  const Options& o = session.options;
  std::optional<std::vector<Rule>> rules =
      load_rules(session.sources, library(), o.rules, session.sink);
  if (!rules) return std::nullopt;
  rules->insert(rules->end(), declared.begin(), declared.end());
  if (!o.trust_rules)
    if (auto trusted = require_trusted(*rules, trust_options(session)); !trusted) {
      session.sink.report(std::move(trusted.error()));
      return std::nullopt;
    }
  Result<Optimized> result = optimize_with(session, source, *rules);
  if (!result) {
    session.sink.report(result.error());
    return std::nullopt;
  }
  if (used) *used = std::move(*rules);
  return std::move(*result);
}

std::optional<OptimizedModel> load_and_optimize(Session& session) {
  session.interruptible = std::make_unique<Interruptible>();
  std::optional<Graph> source = load(session);
  if (!source) return std::nullopt;
  std::vector<Rule> rules;
  std::optional<Optimized> result = optimize_model(session, *source, {}, &rules);
  if (!result) return std::nullopt;
  return OptimizedModel{std::move(*source), std::move(*result), std::move(rules)};
}

namespace {

/// What --verify found, where it found no fault.
std::string verified_text(const Equivalence& equivalence, size_t steps) {
  std::string chain =
      llvm::formatv("; {0} step{1} held against the rules", steps, steps == 1 ? "" : "s");
  if (!equivalence.equal())
    return llvm::formatv("not decided whether it equals its source: {0}{1}", equivalence.undecided,
                         chain);
  switch (equivalence.method) {
  case Equivalence::Method::Identical: return "verified: the result is its source, node for node";
  case Equivalence::Method::Field:
    return llvm::formatv(
        "verified: equal to its source at {0} point{3} modulo random primes, error bound "
        "2^{1:f1}{2}",
        equivalence.points, equivalence.log2_error, chain, equivalence.points == 1 ? "" : "s");
  case Equivalence::Method::Float64: break;
  }
  return llvm::formatv("verified in float64 alone: taken for arbitrary functions, relu, exp and "
                       "their like make `{0}` differ{1}",
                       equivalence.field_difference, chain);
}

} // namespace

Verification verify_result(Session& session, const Graph& source, Optimized& result,
                           llvm::ArrayRef<Rule> rules) {
  const Options& o = session.options;
  if (!o.verify) return Verification::Passed;
  StopToken stop = session.stop.with_memory().with_grace(kGraceOfVerification);
  EquivalenceOptions options;
  options.seed = o.seed;
  options.threads = thread_count(o.threads);
  options.stop = [stop] { return stop.asked(); };
  options.memory_limit_bytes = static_cast<uint64_t>(memory_limit_bytes(o.memory_limit_mb));
  Result<void> confirmed = confirm_chain(result, rules, source, stop);
  if (!confirmed && confirmed.error().code == Code::limit_no_answer) {
    result.report.notes.push_back("not verified: " + confirmed.error().message);
    return Verification::Undecided;
  }
  if (!confirmed) {
    session.sink.report(std::move(confirmed.error()));
    return Verification::Failed;
  }
  Result<Equivalence> equal = verify_optimized(source, result, rules, options);
  if (!equal) {
    session.sink.report(std::move(equal.error()));
    return Verification::Failed;
  }
  result.report.notes.push_back(verified_text(*equal, result.chain->steps.size()));
  return equal->equal() ? Verification::Passed : Verification::Undecided;
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
