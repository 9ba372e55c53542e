#include "compiler/search/portfolio/portfolio.h"

#include "compiler/rules/rule_form.h"
#include "compiler/search/portfolio/searcher.h"
#include "compiler/search/shared_cost.h"
#include "lang/core/support/threads.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

namespace tg {

namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kStageGrowth = 5;
// Time reserved for the final bounds, where e-graphs may be large: a share of the limit, capped.
constexpr double kReservedForBounds = 0.15, kMostReservedS = 10;
constexpr int kSweepsBeforeLonger = 2; // consecutive thorough sweeps without a gain

class TableStore final : public PriorStore {
public:
  explicit TableStore(const PriorTable& table) : table_(table) {}
  const PriorTable& priors() const override { return table_; }

private:
  const PriorTable& table_;
};

/// A subset of the given rules, to search with.
struct RuleSelection {
  std::vector<Rule> rules;
  std::vector<RuleId> number; // RuleId of each among all given rules
  void add(const Rule& rule, RuleId of) { rules.push_back(rule), number.push_back(of); }
};

RuleSelection select_distinct(llvm::ArrayRef<Rule> rules) {
  RuleSelection selection;
  for (RuleId id : distinct_rules(rules)) selection.add(rules[id], id);
  return selection;
}

/// Searches running in parallel; `turn` guards them.
struct ParallelSearches {
  std::mutex turn;
  std::vector<SearchStatus> searches; // by task
  size_t done = 0;
  bool whole = true;      // the tasks search the network, else segments of it
  bool of_source = false; // the tasks start at the source, not at the best graph
};

class PortfolioSearch {
public:
  PortfolioSearch(const Graph& source, llvm::ArrayRef<Rule> rules, CostModel& costs,
                  const PortfolioOptions& options)
      : source_(source), rules_(rules), distinct_(select_distinct(rules)), costs_(costs),
        options_(options), prices_(source.symbols(), costs_), report_{source} {
    report_.rules.resize(rules.size());
    if (options.explain) report_.chain = derivation_of(source);
    reserve(0);
  }

  PortfolioReport run();

private:
  bool sweep(int number, bool thorough, bool longer);
  void sweeps_and_whole();
  void saturate_source();
  void keep_better(const Finding& other, const std::string& where);
  void focus();
  bool whole(SearchTask::Kind kind);
  void bound_result();
  std::vector<Finding> work(llvm::ArrayRef<SearchTask> tasks, const RuleSelection& selection);
  PriorTable known_of_rules() const;
  void account(const Finding& finding, const SearchTask& task, size_t times);
  bool take(Graph graph);
  void keep_finalist(PortfolioFinalist finalist);
  void keep_best_so_far();
  void keep_found(const Graph& graph, std::vector<RuleCount> applied,
                  const std::optional<Derivation>& chain);
  void extend_chain(const Finding& finding);
  void extend_chain(const Graph& before, llvm::ArrayRef<Replacement> replacements,
                    llvm::ArrayRef<const Finding*> findings);
  /// Reserves part of the time limit for the end.
  void reserve(double seconds) {
    reserved_s_ = seconds;
    double limit_s = std::min(options_.mcts.time_limit_s, 1e8) - seconds;
    deadline_ = start_ +
                std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(limit_s));
  }
  bool stopped();
  /// Returns true if the e-graph was full before any rule could be applied.
  bool full_at_once() const {
    return report_.most_nodes >= options_.mcts.explore.node_limit &&
           llvm::all_of(report_.rules, [](const RuleStats& rule) { return rule.applied == 0; });
  }
  void notify(const std::string& where);
  void begin(std::string phase);
  void add(const ParallelSearches& under_way, SearchProgress& progress,
           std::vector<RuleCount>& rules) const;
  void show(const std::string& where, const ParallelSearches* under_way = nullptr);
  /// Returns true if plain saturation's result is better than the best of the search.
  bool plain_is_best() const { return plain_ && plain_->cost_us < report_.cost_us; }
  double best_us() const { return plain_is_best() ? plain_->cost_us : report_.cost_us; }
  double elapsed() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

  const Graph& source_;
  llvm::ArrayRef<Rule> rules_;
  RuleSelection distinct_; // without duplicates, which would share one's matches
  SharedCost costs_;
  PortfolioOptions options_; // the node limit is that of the current stage
  PriceCache prices_;
  PortfolioReport report_;
  std::vector<RuleCount> applied_;
  bool out_of_memory_ = false;
  std::string phase_;            // as reported
  std::optional<Finding> plain_; // result of plain saturation, held back until the end
  /// Keys of segments in which nothing was found, by tree search and by thorough saturation.
  std::set<std::vector<uint32_t>> exhausted_[2];
  std::vector<GraphBound> bounds_; // from e-graphs of the whole network
  double reserved_s_ = 0;          // for bounds at the end
  Clock::time_point start_ = Clock::now(), deadline_;
};

PortfolioReport PortfolioSearch::run() {
  SharedCost::BusyThread busy(costs_);
  report_.source_us = report_.cost_us = price_graph(source_, prices_);
  notify("source");
  if (options_.use_saturation) saturate_source();
  size_t last = options_.mcts.explore.node_limit, limit = std::min(last, kFirstStageNodes);
  if (last > kFirstStageNodes)
    reserve(std::min(kReservedForBounds * options_.mcts.time_limit_s, kMostReservedS));
  bool complete = plain_ && plain_->complete;
  while (!complete) {
    options_.mcts.explore.node_limit = limit;
    sweeps_and_whole();
    if (options_.use_focus && plain_ && !stopped()) focus();
    if (limit == last || stopped()) break;
    limit = std::min(last, limit * kStageGrowth);
    for (auto& keys : exhausted_) keys.clear(); // larger e-graphs may contain better graphs
  }
  if (plain_) keep_better(*plain_, "whole network, saturation");
  options_.mcts.explore.node_limit = last;
  reserve(0);
  if (!complete) bound_result();
  if (stopped() && report_.stop == StopReason::Time) whole(SearchTask::Kind::Late);
  report_.bounds = bounds_on(report_.cost_us, bounds_);
  show(phase_);
  if (!stopped() && full_at_once()) report_.stop = StopReason::Nodes;
  report_.changed = report_.cost_us < report_.source_us;
  report_.rules_applied = most_often_first(applied_);
  report_.seconds = elapsed();
  return std::move(report_);
}

/// Runs one stage: e-graphs of one node limit until they yield nothing more.
void PortfolioSearch::sweeps_and_whole() {
  bool thorough = false;
  int without_gain = 0; // thorough: with these cuts, other cuts, longer segments
  for (int i = 0; i < options_.sweeps && options_.use_segments && !stopped(); ++i) {
    bool gained = sweep(i, thorough, without_gain == kSweepsBeforeLonger);
    without_gain = gained || !thorough ? 0 : without_gain + 1;
    if (without_gain > kSweepsBeforeLonger) break;
    thorough |= !gained && options_.use_thorough;
    if (!gained && !thorough) break;
  }
  if (options_.use_whole && !stopped()) whole(SearchTask::Kind::Search);
}

/// Saturates the source. The search does not continue from the result, because an e-graph cut off
/// by the node limit leads to dead ends. The result is compared with the search's at the end.
void PortfolioSearch::saturate_source() {
  SearchTask task{&source_, SearchTask::Kind::Plain, "whole network, saturation"};
  begin(task.where);
  plain_ = std::move(work(task, distinct_).front());
  account(*plain_, task, 0);
  for (const PortfolioFinalist& other : plain_->others)
    keep_found(other.graph, other.rules_applied, other.chain);
  llvm::append_range(bounds_, plain_->bounds);
  notify(task.where);
}

/// Takes a finding for the whole network, starting at the source, if it is cheaper, or as cheap
/// with fewer operators.
void PortfolioSearch::keep_better(const Finding& other, const std::string& where) {
  auto simpler = [&] {
    return other.cost_us <= report_.cost_us && other.graph->op_count() < report_.graph.op_count();
  };
  if (!other.graph) return;
  if (!(other.cost_us < report_.cost_us * (1 - kLeastGain)) && !simpler())
    return keep_found(*other.graph, most_often_first(other.applied), other.chain);
  keep_best_so_far();
  applied_ = other.applied;
  if (SearchTrace* trace = options_.mcts.trace)
    trace->steps = {{where, most_often_first(other.applied), other.before_us, other.cost_us}};
  if (report_.chain) report_.chain = derivation_of(source_);
  extend_chain(other);
  report_.graph = transfer(*other.graph, source_.shared_symbols());
  report_.cost_us = price_graph(report_.graph, prices_);
  notify(where);
}

/// Searches the source with the effective rules alone. With few rules one e-graph reaches deeper,
/// and combines changes that the searches found separately.
void PortfolioSearch::focus() {
  RuleSelection few;
  for (size_t i = 0; i < distinct_.rules.size(); ++i) {
    const Rule& rule = distinct_.rules[i];
    if (counts_rule(applied_, rule.name) || counts_rule(plain_->applied, rule.name))
      few.add(rule, distinct_.number[i]);
  }
  if (few.rules.empty()) return;
  SearchTask task{&source_, SearchTask::Kind::Search, "whole network, rules with gains"};
  begin(task.where);
  Finding found = std::move(work(task, few).front());
  found.records.clear(); // statistics of a few rules alone are not representative
  found.complete = false;
  account(found, task, 0);
  keep_better(found, task.where);
}

/// Searches the best network in one e-graph. Returns true on a gain.
bool PortfolioSearch::whole(SearchTask::Kind kind) {
  Graph graph = report_.graph;
  SearchTask task{&graph, kind, "whole network"};
  begin(task.where);
  Finding finding = std::move(work(task, distinct_).front());
  bool better = finding.graph && take(transfer(*finding.graph, source_.shared_symbols()));
  llvm::append_range(bounds_, finding.bounds);
  if (better) extend_chain(finding);
  account(finding, task, better ? 1 : 0);
  notify(task.where);
  return better;
}

/// Computes bounds from e-graphs that contain the result, and takes cheaper graphs found there.
/// With a small node limit, runs only if no bound is known.
void PortfolioSearch::bound_result() {
  report_.bounds = bounds_on(report_.cost_us, bounds_);
  bool large = options_.mcts.explore.node_limit > kFirstStageNodes;
  bool certifies = proves_optimum(options_.extract.extractor);
  while (options_.use_saturation && (large || (certifies && report_.bounds.empty())) && !stopped())
    if (!whole(SearchTask::Kind::Deeper)) break;
}

// --- segments ----------------------------------------------------------------------------------

/// Runs a sweep. `thorough`: segments in which tree search finds nothing more are saturated and
/// extracted. `longer`: segments are longer, to cross all other cuts.
bool PortfolioSearch::sweep(int number, bool thorough, bool longer) {
  SegmentOptions cuts = options_.segments;
  if (longer) cuts.most = cuts.first_most = cuts.most * 3 / 2;
  Sweep s = plan_sweep(report_.graph, cuts, longer ? 0 : number, options_.use_repeats);
  // A short network is a single segment, which equals the whole.
  if (s.segments.size() < 2) return false;
  report_.segments += s.segments.size();
  // Skip segments in which nothing was found before.
  std::vector<SearchTask> tasks;
  std::vector<int64_t> number_of(s.tasks.size(), -1);
  for (uint32_t t = 0; t < s.tasks.size(); ++t) {
    size_t first = static_cast<size_t>(llvm::find(s.task_of, t) - s.task_of.begin());
    if (options_.use_repeats && exhausted_[thorough].count(s.places[first].key)) continue;
    number_of[t] = static_cast<int64_t>(tasks.size());
    tasks.push_back(s.tasks[t]);
    if (thorough) tasks.back().kind = SearchTask::Kind::Thorough;
  }
  report_.distinct_segments += tasks.size();
  begin("sweep " + std::to_string(number + 1));
  std::vector<Finding> found = work(tasks, distinct_);
  std::vector<Replacement> replacements(s.segments.size());
  std::vector<const Finding*> findings(s.segments.size());
  std::vector<size_t> times(tasks.size());
  for (size_t i = 0; i < s.segments.size(); ++i) {
    int64_t at = number_of[s.task_of[i]];
    if (at < 0) continue;
    if (!found[at].graph) {
      exhausted_[thorough].insert(s.places[i].key);
      continue;
    }
    replacements[i] = {&s.places[i], &*found[at].graph};
    findings[i] = &found[at];
    ++times[at];
  }
  Graph before = report_.graph;
  bool better = take(splice(before, s.operators, s.segments, replacements));
  if (better) extend_chain(before, replacements, findings);
  for (size_t t = 0; t < tasks.size(); ++t) account(found[t], tasks[t], better ? times[t] : 0);
  notify(phase_);
  return better;
}

// --- work ---------------------------------------------------------------------------------------

/// Maps rule numbers of a selection back to all rules.
void renumber(Finding& finding, const RuleSelection& selection, size_t all) {
  llvm::ArrayRef<RuleId> number = selection.number;
  std::vector<RuleStats> rules(all);
  for (size_t i = 0; i < finding.rules.size(); ++i) rules[number[i]] = finding.rules[i];
  finding.rules = std::move(rules);
  std::vector<RuleRecord> records(all);
  for (size_t i = 0; i < finding.records.size(); ++i) records[number[i]] = finding.records[i];
  finding.records = std::move(records);
  for (SearchTrace::Application& a : finding.trace.applications) a.rule = number[a.rule];
  for (SearchTrace::TreeNode& node : finding.trace.tree)
    if (node.rule < number.size()) node.rule = number[node.rule];
  auto renumber_chain = [&](std::optional<Derivation>& chain) {
    if (!chain) return;
    chain->each_step([&](DerivationStep& step) {
      if (step.rule < number.size()) step.rule = number[step.rule];
    });
  };
  renumber_chain(finding.chain);
  for (PortfolioFinalist& other : finding.others) renumber_chain(other.chain);
}

/// Returns rule statistics from the earlier searches and from the given priors.
PriorTable PortfolioSearch::known_of_rules() const {
  PriorTable known = report_.learned;
  if (options_.priors)
    for (const auto& [name, record] : options_.priors->priors()) {
      RuleRecord& sum = known[name];
      sum.tried += record.tried, sum.paid += record.paid, sum.gain += record.gain;
    }
  return known;
}

/// Runs all tasks on the available threads. Findings are in the order of the tasks.
std::vector<Finding> PortfolioSearch::work(llvm::ArrayRef<SearchTask> tasks,
                                           const RuleSelection& selection) {
  std::vector<Finding> findings(tasks.size());
  PriorTable learned = known_of_rules();
  TableStore store(learned);
  std::vector<OwnTask> own; // symbols are not thread-safe
  for (const SearchTask& task : tasks) own.push_back(own_task(task));
  // The memory per search is independent of the number of tasks, so that results are, too.
  size_t threads_wanted = static_cast<size_t>(std::max(options_.threads, 1));
  size_t memory_limit_mb = options_.mcts.memory_limit_mb / threads_wanted;
  if (options_.mcts.memory_limit_mb > 0) memory_limit_mb = std::max<size_t>(memory_limit_mb, 1);
  size_t count = std::min(threads_wanted, tasks.size());
  // Threads without a task help within the searches.
  int threads_each = count > 0 ? static_cast<int>(threads_wanted / count) : 1;
  std::atomic<size_t> next = 0;
  ParallelSearches under_way;
  under_way.searches.resize(tasks.size());
  under_way.whole = count == 0 || tasks.front().whole;
  under_way.of_source = count > 0 && tasks.front().graph == &source_;
  auto follow = [&](size_t i, const SearchStatus& so_far, size_t done) {
    std::lock_guard lock(under_way.turn);
    under_way.searches[i] = so_far, under_way.done += done;
    std::string of = std::to_string(under_way.done) + " of " + std::to_string(tasks.size());
    show(tasks.size() > 1 ? phase_ + ", " + of : phase_, &under_way);
  };
  auto follower = [&](size_t i) -> FollowSearch {
    if (!options_.progress) return {};
    return [&follow, i](const SearchStatus& so_far) { follow(i, so_far, 0); };
  };
  auto loop = [&] {
    for (size_t i; (i = next++) < tasks.size();) {
      findings[i] = run_search(std::move(own[i]), selection.rules, costs_, options_, &store,
                               deadline_, memory_limit_mb, threads_each, follower(i));
      renumber(findings[i], selection, rules_.size());
      const Finding& f = findings[i];
      follow(i, {f.most_nodes, f.simulations, f.cost_us, f.applied}, 1);
    }
  };
  auto part = [&](size_t i) {
    std::optional<SharedCost::BusyThread> busy;
    if (i > 0) busy.emplace(costs_);
    loop();
  };
  in_parts(count, part, [&](llvm::function_ref<void()> wait) {
    SharedCost::IdleThread idle(costs_);
    wait();
  });
  return findings;
}

/// Appends a search's trace to that of the whole. Places are prefixed with their segment.
void append_trace(const Finding& finding, const SearchTask& task, size_t times,
                  SearchTrace& trace) {
  auto in_whole = [&](const std::string& where) {
    return where.empty() ? task.where : task.where + ": " + where;
  };
  int32_t first = static_cast<int32_t>(trace.tree.size());
  if (trace.tree.size() < SearchTrace::kMostTreeNodes)
    for (SearchTrace::TreeNode node : finding.trace.tree) {
      if (node.parent >= 0) node.parent += first;
      node.where = node.parent < 0 ? task.where : node.where;
      trace.tree.push_back(std::move(node));
    }
  for (const SearchTrace::Application& a : finding.trace.applications)
    trace.applications.push_back({a.column + trace.columns, a.rule, a.applied, in_whole(a.where)});
  trace.columns += std::max(finding.trace.columns, 1u);
  if (times == 0) return;
  SearchTrace::Step step{task.where, most_often_first(finding.applied), finding.before_us,
                         finding.cost_us};
  if (times > 1) step.where += ", and " + std::to_string(times - 1) + " more like it";
  trace.steps.push_back(std::move(step));
}

/// Adds a finding that was spliced at this many places to the report.
void PortfolioSearch::account(const Finding& finding, const SearchTask& task, size_t times) {
  report_.decisions += finding.decisions;
  report_.simulations += finding.simulations;
  report_.egraphs += finding.egraphs;
  report_.most_nodes = std::max(report_.most_nodes, finding.most_nodes);
  report_.most_classes = std::max(report_.most_classes, finding.most_classes);
  report_.memory_bytes = std::max(report_.memory_bytes, finding.memory_bytes);
  report_.extract_s += finding.extract_s;
  report_.slices_used_up += finding.slices_used_up;
  out_of_memory_ |= finding.out_of_memory;
  for (size_t i = 0; i < finding.rules.size(); ++i) report_.rules[i] += finding.rules[i];
  add_records(rules_, finding.records, report_.learned);
  if (times > 0)
    for (const RuleCount& row : finding.applied) add_count(applied_, row.rule, row.count * times);
  if (SearchTrace* trace = options_.mcts.trace) append_trace(finding, task, times, *trace);
}

/// Takes the network if it costs less than the best so far.
bool PortfolioSearch::take(Graph graph) {
  double cost = price_graph(graph, prices_);
  bool better = cost < report_.cost_us * (1 - kLeastGain);
  if (better) {
    keep_best_so_far();
    report_.graph = std::move(graph);
    report_.cost_us = cost;
    report_.bounds.clear(); // these belong to the previous graph
  }
  return better;
}

/// Inserts a finalist by cost; among equal ones the latest comes first.
void PortfolioSearch::keep_finalist(PortfolioFinalist finalist) {
  if (!(finalist.cost_us < report_.source_us)) return;
  std::vector<PortfolioFinalist>& kept = report_.finalists;
  auto dearer = [&](const PortfolioFinalist& one) { return one.cost_us >= finalist.cost_us; };
  kept.insert(llvm::find_if(kept, dearer), std::move(finalist));
  if (kept.size() > options_.finalists) kept.pop_back();
}

/// Keeps the best graph as a finalist before it is replaced.
void PortfolioSearch::keep_best_so_far() {
  if (options_.finalists > 0)
    keep_finalist({report_.graph, report_.cost_us, most_often_first(applied_), report_.chain});
}

/// Keeps a finding for the whole network that starts at the source and is not the best.
void PortfolioSearch::keep_found(const Graph& graph, std::vector<RuleCount> applied,
                                 const std::optional<Derivation>& chain) {
  if (options_.finalists == 0 || (options_.explain && !chain)) return;
  PortfolioFinalist found{transfer(graph, source_.shared_symbols()), 0, std::move(applied)};
  found.cost_us = price_graph(found.graph, prices_);
  if (options_.explain) {
    found.chain = derivation_of(source_);
    append(*found.chain, *chain);
    trim(*found.chain);
  }
  keep_finalist(std::move(found));
}

/// Extends the chain by a finding for the whole network.
void PortfolioSearch::extend_chain(const Finding& finding) {
  if (!report_.chain) return;
  if (finding.chain) {
    append(*report_.chain, *finding.chain);
    trim(*report_.chain);
    return;
  }
  report_.chain.reset();
  report_.unexplained = finding.unexplained;
}

/// Extends the chain by findings for segments.
void PortfolioSearch::extend_chain(const Graph& before, llvm::ArrayRef<Replacement> replacements,
                                   llvm::ArrayRef<const Finding*> findings) {
  if (!report_.chain) return;
  std::vector<SegmentChain> chains;
  for (size_t i = 0; i < findings.size(); ++i) {
    if (!findings[i]) continue;
    if (!findings[i]->chain) {
      report_.chain.reset();
      report_.unexplained = findings[i]->unexplained;
      return;
    }
    chains.push_back({replacements[i].place, &*findings[i]->chain});
  }
  append_segments(*report_.chain, before, chains);
}

void PortfolioSearch::notify(const std::string& where) {
  if (options_.mcts.trace)
    options_.mcts.trace->points.push_back(
        {elapsed(), best_us(), report_.simulations, report_.most_nodes, where});
  show(where);
}

void PortfolioSearch::begin(std::string phase) {
  phase_ = std::move(phase);
  show(phase_);
}

/// Adds running searches' results, which are not accounted for yet, to the progress. For segments
/// only the rules are added, because the gain for the network is known only after splicing.
void PortfolioSearch::add(const ParallelSearches& under_way, SearchProgress& progress,
                          std::vector<RuleCount>& rules) const {
  for (const SearchStatus& search : under_way.searches) {
    progress.nodes = std::max(progress.nodes, search.nodes);
    progress.simulations += search.simulations;
    if (under_way.whole) {
      if (!(search.cost_us < progress.best_us)) continue;
      progress.best_us = search.cost_us;
      rules = under_way.of_source ? std::vector<RuleCount>() : applied_;
    }
    add_counts(rules, search.applied);
  }
}

void PortfolioSearch::show(const std::string& where, const ParallelSearches* under_way) {
  if (!options_.progress) return;
  SearchProgress p;
  p.seconds = elapsed();
  p.time_limit_s = options_.mcts.time_limit_s;
  p.source_us = report_.source_us;
  p.best_us = best_us();
  p.nodes = report_.most_nodes;
  p.simulations = report_.simulations;
  p.where = where;
  std::vector<RuleCount> rules = plain_is_best() ? plain_->applied : applied_;
  if (under_way) add(*under_way, p, rules);
  std::vector<GraphBound> bounds = bounds_on(p.best_us, bounds_);
  if (!bounds.empty()) p.bound_us = std::min(bounds.front().lower_us, p.best_us);
  p.rules = most_often_first(rules);
  options_.progress(p);
}

bool PortfolioSearch::stopped() {
  // The searches check memory; the whole network and its report are small in comparison.
  SearchLimits limits = options_.mcts;
  limits.time_limit_s -= reserved_s_;
  std::optional<StopReason> reason = limits.reached(elapsed(), 0);
  if (!reason && out_of_memory_) reason = StopReason::Memory;
  if (reason) report_.stop = *reason;
  return reason.has_value();
}

} // namespace

PortfolioReport search_portfolio(const Graph& source, llvm::ArrayRef<Rule> rules, CostModel& costs,
                                 const PortfolioOptions& options) {
  return PortfolioSearch(source, rules, costs, options).run();
}

std::vector<GraphBound> bounds_on(double cost_us, llvm::ArrayRef<GraphBound> known) {
  constexpr double kTolerance = 1e-9; // relative, for different summation orders
  auto preferred = [](const GraphBound& a, const GraphBound* b) {
    return !b || std::pair(a.saturated, a.nodes) >= std::pair(b->saturated, b->nodes);
  };
  const GraphBound *proved = nullptr, *largest = nullptr;
  for (const GraphBound& bound : known) {
    if (bound.best_us > cost_us * (1 + kTolerance)) continue;
    if (!largest || bound.nodes >= largest->nodes) largest = &bound;
    if (bound.optimal() && preferred(bound, proved)) proved = &bound;
  }
  std::vector<GraphBound> out;
  if (proved) out.push_back(*proved);
  if (largest && (!proved || largest->nodes > proved->nodes)) out.push_back(*largest);
  return out;
}

} // namespace tg
