// Implements optimize_model.h, in the order of the steps.
#include "compiler/api/optimize_model.h"

#include "compiler/api/backends/backends.h"
#include "compiler/api/backends/devices.h"
#include "compiler/api/files/json_files.h"
#include "compiler/api/files/model.h"
#include "compiler/api/files/onnx_export.h"
#include "compiler/api/own_search.h"
#include "compiler/api/policy_file.h"
#include "compiler/api/public_types.h"
#include "compiler/api/verify/rule_trust.h"
#include "compiler/api/verify/verify_rules.h"
#include "compiler/emit/plan_from_graph.h"
#include "compiler/extract/cost/analytic.h"
#include "compiler/extract/cost/cost_table.h"
#include "compiler/ir/retype.h"
#include "compiler/ir/to_text.h"
#include "compiler/optimizer/explanation.h"
#include "compiler/optimizer/retyped_cost.h"
#include "compiler/pricing/cost_model.h"
#include "compiler/pricing/export_cost.h"
#include "compiler/report/report_json.h"
#include "compiler/rules/from_ast.h"
#include "compiler/trial/time_notes.h"
#include "compiler/trial/whole_runs.h"
#include "lang/core/support/data_file.h"
#include "runtime/tune/kernel_report.h"

#include <llvm/ADT/StringExtras.h>

namespace tg {

using Public = tangram::OptimizeOptions;

// --- the options --------------------------------------------------------------------------------

namespace {

template <class T, class Limits>
Result<void> check_field(const char*, const T&, const T&, const Limits&) {
  return {};
}

/// The default may be outside of the range: the option was not given.
template <class T>
Result<void> check_field(const char* name, const T& value, const T& normal,
                         const tangram::fields::Range& range) {
  auto number = static_cast<double>(value);
  if (value == normal || (number >= range.low && number <= range.high)) return {};
  return error(Code::usage, "`{0}` requires a number from {1} to {2}, not {3}", name,
               number_text(range.low), number_text(range.high), number_text(number));
}

template <class E>
Result<void> check_field(const char* name, const E& value, const E&,
                         const tangram::fields::Of<E>& all) {
  llvm::SmallVector<llvm::StringRef, 4> words;
  llvm::StringRef(all.only).split(words, '|', -1, /*KeepEmpty=*/false);
  llvm::StringRef word = tangram::word(value);
  if (words.empty() || llvm::is_contained(words, word)) return {};
  return error(Code::usage, "`{0}` requires one of {1}, not `{2}`", name, llvm::join(words, ", "),
               word);
}

} // namespace

Result<void> check_options(const Public& options) {
  using namespace tangram::fields;
  const Public normal;
#define TG_OPTION(...)
#define TG_ALSO(...)
#define TG_SEARCH_OPTION(field, flag, value_name, kind, value, limits, ...)                        \
  TG_CHECK(check_field(#field, options.field, normal.field, limits));
#include "compiler/api/options.def"
  return {};
}

Result<void> check_run_dtype(tangram::DType dtype) {
  tangram::OptimizeOptions options;
  options.dtype = dtype;
  return check_options(options);
}

namespace {

/// Turns off the parts that `without` lists.
void apply_ablations(const Public& o, PortfolioOptions& portfolio) {
  using Part = tangram::SearchPart;
  auto in = [&](Part part) { return !llvm::is_contained(o.without, part); };
  portfolio.mcts.firing = in(Part::Firing);
  portfolio.use_priors = in(Part::Priors);
  portfolio.use_segments = in(Part::Segments);
  portfolio.use_repeats = in(Part::Repeats);
  portfolio.use_thorough = in(Part::Thorough);
  portfolio.use_focus = in(Part::Focus);
  portfolio.use_saturation = in(Part::Saturation);
  portfolio.use_tree = in(Part::Tree);
}

/// Sets the options of searches that try actions one after the other.
void set_tree_options(const Public& o, OptimizeOptions& options) {
  PortfolioOptions& portfolio = options.portfolio;
  if (o.budget > 0) {
    options.budget = options.local.budget = static_cast<size_t>(o.budget);
    portfolio.mcts.budget = static_cast<int>(o.budget);
  }
  if (o.depth > 0) {
    options.depth = static_cast<size_t>(o.depth);
    portfolio.mcts.depth = static_cast<int>(o.depth);
  }
  if (o.exploration >= 0) portfolio.mcts.exploration = o.exploration;
  options.local.alpha = o.alpha;
  portfolio.threads = thread_count(o.search_threads > 0 ? o.search_threads : o.threads);
  apply_ablations(o, portfolio);
}

} // namespace

OptimizeOptions optimize_options(const Public& o) {
  OptimizeOptions options;
  options.search = to_internal(o.search);
  if (o.own_search && o.own_search->strategy) {
    options.strategy = o.own_search->strategy.get();
    options.strategy_name = o.own_search->name;
  }
  options.explain = o.explain || o.verify;
  set_tree_options(o, options);
  int64_t memory = memory_limit_bytes(o.memory_limit_mb);
  SaturateOptions& explore = options.explore;
  explore.iterations = static_cast<int>(o.iterations);
  explore.multi_iterations = static_cast<int>(o.multi_iterations);
  explore.memory_limit_mb = static_cast<size_t>(memory >> 20);
  explore.cycle_filter = to_internal(o.cycle_filter);
  explore.numerics = to_internal(o.numerics);
  explore.seed = o.seed;
  explore.compatible = o.backoff;
  explore.multi_node_limit = static_cast<size_t>(std::max<int64_t>(o.multi_node_limit, 0));
  ExtractOptions& extract = options.extract;
  extract.extractor = to_internal(o.extract);
  extract.max_weight_growth = o.max_weight_growth;
  extract.ilp.memory_limit_bytes = static_cast<uint64_t>(memory);
  extract.ilp.cycles = to_internal(o.ilp_cycles);
  set_limits(options, o.time_limit_s, o.node_limit, is_calibrated(o.cost));
  options.search_on = o.time_limit_s >= 0 || o.budget > 0 || !o.priors.empty();
  return options;
}

/// Returns true if the backend of prices and whole runs computes f32 products in tf32.
static bool in_tf32(const Public& o) {
  const BackendRow* row = find_backend(backend_of_costs(o.cost));
  return o.allow_tf32 && row && row->tf32;
}

Result<std::unique_ptr<CostModel>> cost_model(const Graph& as_run, const Public& o,
                                              const StopToken& stop,
                                              std::function<void(size_t, size_t)> progress) {
  CostModelOptions options;
  options.spec = o.cost;
  options.cost_db = o.cost_db;
  options.cache = to_internal(o.cost_cache);
  options.allow_tf32 = in_tf32(o);
  options.threads = static_cast<int>(o.threads);
  options.memory_limit_bytes = memory_limit_bytes(o.memory_limit_mb);
  options.stop = TimePlan(stop).pricing();
  options.progress = std::move(progress);
  return make_cost_model(options, as_run);
}

Result<std::vector<tangram::Step>> confirmed_steps(const Optimized& optimized,
                                                   llvm::ArrayRef<Rule> rules, const Graph& source,
                                                   const StopToken& stop) {
  TG_CHECK(confirm_chain(optimized, rules, source, stop));
  return steps_of(*optimized.chain, rules);
}

Result<OperatorCosts> operator_costs(const Graph& graph, const Public& o, const StopToken& stop,
                                     std::function<void(size_t, size_t)> progress) {
  TG_TRY(std::unique_ptr<CostModel> model, cost_model(graph, o, stop, std::move(progress)));
  std::optional<RetypedCost> narrow;
  CostModel& costs = in_dtype(to_internal(o.dtype), *model, narrow);
  PriceCache prices(graph.symbols(), costs);
  GraphInstances instances = instances_of(graph);
  prices.prepare(instances.instances);
  OperatorCosts out{std::vector<OperatorCosts::Kind>(kOpCount), costs.name()};
  for (const OpInstance& instance : instances.instances) {
    OperatorCosts::Kind& kind = out.kinds[static_cast<size_t>(instance.op)];
    kind.op = instance.op;
    ++kind.count;
    kind.microseconds += prices.price(instance);
  }
  llvm::erase_if(out.kinds, [](const auto& kind) { return kind.count == 0; });
  llvm::stable_sort(out.kinds,
                    [](const auto& a, const auto& b) { return a.microseconds > b.microseconds; });
  return out;
}

// --- one optimisation ---------------------------------------------------------------------------

namespace {

/// Returns true if the rule makes operators that only this runtime has. Another runtime runs their
/// expansions, so their prices would be misleading.
bool makes_own_operators(const Rule& rule) {
  return rule.native == Native::FusePointwise || llvm::any_of(rule.terms, [](const Term& term) {
           return term.kind == Term::Kind::Op && op_info(term.op).has(Trait::Own);
         });
}

/// Returns true if the rule makes slices of a convolution's result. Here these are views. Another
/// runtime must copy them out of blocks of channels, and gains nothing from fewer convolutions.
bool parts_convolutions(const Rule& rule) {
  return llvm::any_of(rule.rhs, [&](TermId side) {
    const Term& part = rule.terms[side];
    if (part.kind != Term::Kind::Op || part.op != OpKind::Slice) return false;
    const Term& whole = rule.terms[part.operands[0]];
    return whole.kind == Term::Kind::Op && whole.op == OpKind::Conv2d;
  });
}

} // namespace

std::optional<std::vector<Rule>> select_rules(const Public& o, const OptimizeHost& host,
                                              const StopToken& stop, SourceManager& sources,
                                              DiagnosticSink& sink) {
  if (!host.selected.empty()) return host.selected.vec();
  std::optional<std::vector<Rule>> rules = load_rules(sources, library(), o.rules, sink);
  if (!rules) return std::nullopt;
  llvm::append_range(*rules, rules_of_text(o.rule_text, sources, sink));
  llvm::append_range(*rules, host.declared);
  if (sink.failed()) return std::nullopt;
  if (o.portable)
    llvm::erase_if(*rules, [](const Rule& rule) {
      return makes_own_operators(rule) || parts_convolutions(rule);
    });
  if (o.trust_rules) return rules;
  TrustOptions trust;
  trust.threads = static_cast<int>(o.threads);
  trust.cache = o.rule_cache;
  trust.stop = stop;
  trust.isolated = host.isolated;
  trust.progress = host.verifying;
  if (auto trusted = require_trusted(*rules, trust); !trusted) {
    sink.report(std::move(trusted.error()));
    return std::nullopt;
  }
  return rules;
}

namespace {

class FilePriors final : public PriorStore {
public:
  explicit FilePriors(PriorTable table) : table_(std::move(table)) {}
  const PriorTable& priors() const override { return table_; }

private:
  PriorTable table_;
};

class Optimization {
public:
  Optimization(const Graph& source, const Public& options,
               std::shared_ptr<const ExternKernels> externs, const OptimizeHost& host,
               const StopToken& stop)
      : source_(source), o_(options), externs_(std::move(externs)), host_(host),
        time_(stop, later_work()) {}

  /// Runs the search. Does not set `rules`, and sets the trace only if one is recorded.
  Result<OptimizedModel> search(llvm::ArrayRef<Rule> rules) const;
  Result<Verified> verify(Optimized& result, llvm::ArrayRef<Rule> rules) const;

private:
  ReservedWork later_work() const;
  Result<PrepareOptions> run_options() const;
  CostModel& in_runtime(CostModel& prices, std::optional<ExportCost>& foreign) const;
  WholeRunOptions whole_runs(FinalistRunner* judge) const;
  bool tracing() const { return o_.record_trace || host_.traced; }
  OptimizeOptions told(SearchTrace& trace) const;
  /// Returns the policy that guides the tree search, or null if none is requested.
  Result<std::shared_ptr<Policy>> requested_policy() const;
  std::string own_note(llvm::ArrayRef<Rule> rules) const;
  NotifyProgress progress_listener(double time_limit_s, bool timed) const;
  Result<void> write_files(const Optimized& result, const CostTable& prices) const;
  void add_result_notes(Optimized& found, llvm::ArrayRef<Rule> rules, WholeRunPolicy& runs,
                        const PrepareOptions& run) const;
  void choose_kernels(Optimized& found, const PrepareOptions& run) const;
  void add_time_notes(OptimizeReport& report, const PrepareOptions& run) const;
  void compare_time_with_f32(Optimized& found, const PrepareOptions& run) const;

  const Graph& source_;
  const Public& o_;
  std::shared_ptr<const ExternKernels> externs_;
  const OptimizeHost& host_;
  const TimePlan time_;
};

/// Returns the work after the search that the options require.
ReservedWork Optimization::later_work() const {
  bool runs = o_.finalists > 0 && (host_.judge || whole_runs(nullptr).asked());
  return {.whole_runs = runs, .replay = o_.explain, .proof = o_.verify};
}

/// Returns the options for running whole graphs.
Result<PrepareOptions> Optimization::run_options() const {
  tangram::CompileOptions options{.backend = backend_of_costs(o_.cost),
                                  .dtype = o_.dtype,
                                  .allow_tf32 = in_tf32(o_),
                                  .threads = static_cast<int>(o_.threads),
                                  .memory_limit_mb = o_.memory_limit_mb,
                                  .cost_db = o_.cost_db,
                                  .seed = o_.seed,
                                  .weights_file = o_.weights};
  TG_TRY(PrepareOptions run, tg::run_options(options, source_, host_.weights));
  run.externs = externs_;
  run.stop = time_.end();
  return run;
}

/// Returns prices in the target runtime of the result; `foreign` stores a model for another
/// runtime.
CostModel& Optimization::in_runtime(CostModel& prices, std::optional<ExportCost>& foreign) const {
  if (!o_.portable) return prices;
  std::string profile = profile_of_backend(tangram::word(backend_of_costs(o_.cost)));
  return foreign.emplace(prices, *find_device_profile(profile));
}

/// An explanation describes the rewriting even if this machine gains nothing by it, so it needs no
/// whole runs unless costs are measured or a judge is given. With parts of the search turned off,
/// earlier results are not reused, so that the effect shows.
WholeRunOptions Optimization::whole_runs(FinalistRunner* judge) const {
  return {.cost = o_.cost,
          .wanted = judge || !o_.explain || is_measured(o_.cost),
          .finalists = static_cast<size_t>(o_.finalists),
          .remember = host_.remember && o_.without.empty(),
          .source = &source_,
          .judge = judge};
}

OptimizeOptions Optimization::told(SearchTrace& trace) const {
  OptimizeOptions options = optimize_options(o_);
  options.explain |= host_.chain || tracing();
  using tangram::Groups;
  options.groups = o_.groups == Groups::On || (o_.groups == Groups::Auto && is_timed(o_.cost));
  options.time = time_;
  options.kernels = o_.kernels;
  options.trace = tracing() ? &trace : nullptr;
  if (o_.portable)
    options.used_as = [kept = host_.kept](const Graph& graph) {
      return written_form(graph, kept.get());
    };
  return options;
}

tangram::SearchProgress to_public(const SearchProgress& p) {
  tangram::SearchProgress out{p.seconds,  p.time_limit_s, p.source_us,   p.best_us,
                              p.bound_us, p.nodes,        p.simulations, p.where};
  for (const RuleCount& rule : p.rules) out.rules.emplace_back(rule.rule, rule.count);
  return out;
}

/// Empty without a listener, so that searches do not compute progress.
NotifyProgress Optimization::progress_listener(double time_limit_s, bool timed) const {
  tangram::OnProgress notify = host_.searching ? host_.searching(time_limit_s, timed) : o_.progress;
  if (!notify) return {};
  return [notify](const SearchProgress& progress) { notify(to_public(progress)); };
}

Result<std::shared_ptr<Policy>> Optimization::requested_policy() const {
  if (o_.own_search && o_.own_search->policy) return o_.own_search->policy;
  if (o_.policy.empty()) return std::shared_ptr<Policy>();
  TG_TRY(std::unique_ptr<Policy> policy, open_policy_file(o_.policy));
  return std::shared_ptr<Policy>(std::move(policy));
}

std::string Optimization::own_note(llvm::ArrayRef<Rule> rules) const {
  return o_.own_search && o_.own_search->note ? o_.own_search->note(source_, rules) : "";
}

/// Operators were measured on the kernels chosen by rules. Measures whether other kernels are
/// faster for the result on this machine. On errors the rules' choice stays.
void Optimization::choose_kernels(Optimized& found, const PrepareOptions& run) const {
  const BackendRow* row = find_backend(run.backend);
  if (!row || !row->choose_kernels || run.dtype != DType::F32 || run.externs || time_.end().asked())
    return;
  Stopwatch clock;
  Result<tune::KernelReport> chosen =
      row->choose_kernels(plan_from_graph(found.graph),
                          {.threads = thread_count(run.threads),
                           .cost_db = run.cost_db,
                           .memory_limit_bytes = run.memory_limit_bytes > 0 ? run.memory_limit_bytes
                                                                            : memory_limit_bytes(0),
                           .stop = time_.end()},
                          time_.kernel_choice_s());
  found.report.total_s += clock.seconds();
  if (!chosen || chosen->changes() == 0) return;
  found.report.notes.push_back(
      llvm::formatv("{0} of {1} operators run faster on a kernel that the fixed rule does not "
                    "choose; the result is {2:f2} "
                    "times as fast, and these kernels are kept for later runs on this machine",
                    chosen->changes(), chosen->lines.size(), chosen->whole->ratio));
}

/// Adds a note if prices and whole runs are far apart.
void Optimization::add_time_notes(OptimizeReport& report, const PrepareOptions& run) const {
  const std::optional<Comparison>& runs = report.comparison;
  if (!runs || runs->remembered) return;
  bool source = report.source_returned || !report.changed();
  std::string note = gap_note(gap_of(report, o_.cost, source ? runs->first_us : runs->second_us,
                                     static_cast<int>(thread_count(run.threads))));
  if (!note.empty()) report.notes.push_back(std::move(note));
}

/// Times a requested narrow float interleaved with f32. Without memory or time for both there is no
/// note.
void Optimization::compare_time_with_f32(Optimized& found, const PrepareOptions& run) const {
  if (run.dtype == DType::F32 || run.externs || time_.end().asked()) return;
  Stopwatch clock;
  PrepareOptions in_f32 = run;
  in_f32.dtype = DType::F32;
  Result<Prepared> wide = prepare_with_inputs(found.graph, in_f32);
  Result<Prepared> narrow = prepare_with_inputs(found.graph, run);
  if (!wide || !narrow) return;
  TimingOptions timing;
  timing.stop = time_.end();
  Result<Comparison> times = time_interleaved(*wide->executable, *narrow->executable, timing);
  if (times && !times->cut)
    found.report.notes.push_back(text_of(DTypeTimes{run.dtype, times->second_us, times->first_us}));
  found.report.total_s += clock.seconds();
}

/// Adds notes on the result and on its other measurements.
void Optimization::add_result_notes(Optimized& found, llvm::ArrayRef<Rule> rules,
                                    WholeRunPolicy& runs, const PrepareOptions& run) const {
  std::vector<std::string>& notes = found.report.notes;
  if (std::string note = own_note(rules); !note.empty()) notes.push_back(std::move(note));
  if (runs.turned_off() && found.report.found_other)
    notes.push_back("no whole runs (--finalists 0): prices alone decide");
  if (is_measured(o_.cost) && !runs.turned_off()) choose_kernels(found, run);
  if (!runs.runner() || host_.judge) return;
  if (!o_.portable) add_time_notes(found.report, run);
  compare_time_with_f32(found, run);
}

Result<OptimizedModel> Optimization::search(llvm::ArrayRef<Rule> rules) const {
  DType dtype = to_internal(o_.dtype);
  TG_TRY(Graph as_run, retype(source_, dtype));
  TG_TRY(std::unique_ptr<CostModel> costs, cost_model(as_run, o_, time_.end(), host_.timing));
  RecordingCost recorder(*costs);
  std::optional<RetypedCost> narrow, narrow_analytic;
  std::optional<ExportCost> foreign, foreign_analytic;
  CostModel& prices = in_runtime(in_dtype(dtype, recorder, narrow), foreign);
  TG_TRY(PrepareOptions run, run_options());
  std::optional<JudgedFinalists> judged;
  if (host_.judge) judged.emplace(host_.judge, time_);
  WholeRunPolicy runs(whole_runs(judged ? &*judged : nullptr), run, time_);
  TG_TRY(std::unique_ptr<CostModel> analytic, make_analytic_cost(profile_of_backend(run.backend)));
  CostModel& alternative_costs =
      in_runtime(in_dtype(dtype, *analytic, narrow_analytic), foreign_analytic);
  SearchTrace trace;
  OptimizeOptions options = told(trace);
  runs.set(options);
  std::optional<FilePriors> priors;
  if (!o_.priors.empty()) {
    TG_TRY(std::string text, read_text_file(o_.priors));
    TG_TRY(PriorTable table, parse_priors(text, o_.priors));
    options.portfolio.priors = &priors.emplace(std::move(table));
  }
  TG_TRY(std::shared_ptr<Policy> policy, requested_policy());
  options.portfolio.policy = policy.get();
  bool measured = is_measured(o_.cost);
  options.portfolio.progress = progress_listener(options.explore.time_limit_s, measured);
  Result<Optimized> found = optimize(source_, rules, prices, options, runs.runner(),
                                     measured ? &alternative_costs : nullptr);
  if (host_.searched) host_.searched();
  if (!found) return std::move(found.error());
  if (o_.groups == tangram::Groups::On && !recorder.groups())
    found->report.notes.push_back("these costs have no prices of groups: --groups has no effect");
  add_result_notes(*found, rules, runs, run);
  TG_CHECK(write_files(*found, recorder.table()));
  std::string text;
  if (tracing()) text = trace_json(trace, source_, *found, rules, o_.priors);
  if (host_.traced) TG_CHECK(host_.traced(text));
  return OptimizedModel{std::move(*found), {}, Verified::NotRequested, std::move(text)};
}

Result<void> Optimization::write_files(const Optimized& result, const CostTable& prices) const {
  if (!o_.save_costs.empty()) TG_CHECK(save_cost_table(prices, o_.save_costs));
  if (o_.save_priors.empty()) return {};
  return write_data_file(o_.save_priors, [&](llvm::raw_ostream& out) -> Result<void> {
    write_priors(out, result.report.learned);
    return {};
  });
}

/// Describes the result of a verification without a fault.
std::string verified_text(const Equivalence& equivalence, size_t steps) {
  std::string chain =
      llvm::formatv("; {0} step{1} checked against the rules", steps, steps == 1 ? "" : "s");
  if (!equivalence.equal())
    return llvm::formatv("undecided whether the result equals its source: {0}{1}",
                         equivalence.undecided, chain);
  switch (equivalence.method) {
  case Equivalence::Method::Identical: return "verified: the result is its source, node for node";
  case Equivalence::Method::Field:
    return llvm::formatv(
        "verified: equal to its source at {0} point{3} modulo random primes, error bound "
        "2^{1:f1}{2}",
        equivalence.points, equivalence.log2_error, chain, equivalence.points == 1 ? "" : "s");
  case Equivalence::Method::Float64: break;
  }
  return llvm::formatv(
      "verified only in float64: treated as uninterpreted functions, relu, exp and "
      "similar functions make `{0}` differ{1}",
      equivalence.field_difference, chain);
}

/// Replays the chain by the text of the rules, if there is one, and compares the result with its
/// source exactly. A note has the outcome.
Result<Verified> Optimization::verify(Optimized& result, llvm::ArrayRef<Rule> rules) const {
  if (!o_.verify && !o_.explain) return Verified::NotRequested;
  StopToken stop = time_.verification();
  Result<void> confirmed = confirm_chain(result, rules, source_, stop);
  if (!confirmed && !o_.explain && confirmed.error().code == Code::limit_no_answer) {
    result.report.notes.push_back("not verified: " + confirmed.error().message);
    return Verified::Undecided;
  }
  TG_CHECK(std::move(confirmed));
  if (!o_.verify) return Verified::NotRequested;
  EquivalenceOptions options;
  options.seed = o_.seed;
  options.threads = thread_count(o_.threads);
  options.stop = [stop] { return stop.asked(); };
  options.memory_limit_bytes = static_cast<uint64_t>(memory_limit_bytes(o_.memory_limit_mb));
  TG_TRY(Equivalence equal, verify_optimized(source_, result, rules, options));
  result.report.notes.push_back(verified_text(equal, result.chain->steps.size()));
  return equal.equal() ? Verified::Equal : Verified::Undecided;
}

} // namespace

/// Checks output files before a search, whose result would be lost otherwise.
static Result<void> check_outputs(const Public& options) {
  for (const std::string& path : {options.save_costs, options.save_priors})
    if (!path.empty()) TG_CHECK(check_writable(path));
  return {};
}

std::optional<OptimizedModel> optimize_model(const Graph& source, const Public& options,
                                             std::shared_ptr<const ExternKernels> externs,
                                             const OptimizeHost& host, SourceManager& sources,
                                             DiagnosticSink& sink) {
  Result<void> checked = check_options(options);
  if (checked) checked = check_outputs(options);
  if (!checked) {
    sink.report(std::move(checked.error()));
    return std::nullopt;
  }
  StopToken stop =
      host.stop ? *host.stop
                : stop_within(options.time_limit_s, options.memory_limit_mb, options.interrupt);
  std::optional<std::vector<Rule>> rules = select_rules(options, host, stop, sources, sink);
  if (!rules) return std::nullopt;
  Optimization optimization(source, options, std::move(externs), host, stop);
  Result<OptimizedModel> found = optimization.search(*rules);
  Result<Verified> verified = found ? optimization.verify(found->result, *rules)
                                    : Result<Verified>(std::move(found.error()));
  if (!verified) {
    sink.report(std::move(verified.error()));
    return std::nullopt;
  }
  found->rules = std::move(*rules);
  found->verified = *verified;
  return std::move(*found);
}

} // namespace tg
