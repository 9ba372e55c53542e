#include "compiler/search/portfolio.h"

#include "compiler/search/incumbent.h"
#include "compiler/search/published_costs.h"
#include "compiler/search/stretch_chain.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <thread>

namespace tg {

namespace {

using Clock = std::chrono::steady_clock;

constexpr double kLeastGain = 1e-9; // relative

/// Several searches ask one cost model.
class SharedCost final : public CostModel {
public:
  explicit SharedCost(CostModel& model) : model_(model) {}
  std::string name() const override { return model_.name(); }
  double price(const Symbols& symbols, const OpInstance& instance) override {
    std::lock_guard lock(mutex_);
    return model_.price(symbols, instance);
  }
  void prepare(const Symbols& symbols, llvm::ArrayRef<OpInstance> instances) override {
    std::lock_guard lock(mutex_);
    model_.prepare(symbols, instances);
  }
  std::vector<std::string> notes() const override { return model_.notes(); }

private:
  CostModel& model_;
  std::mutex mutex_;
};

class TableStore final : public PriorStore {
public:
  explicit TableStore(const PriorTable& table) : table_(table) {}
  const PriorTable& priors() const override { return table_; }

private:
  const PriorTable& table_;
};

using NamedCounts = std::map<std::string, size_t>;

/// What a search in one or a few e-graphs, one after the other, came to.
struct Finding {
  std::optional<Graph> graph; // better than what was given
  double before_us = 0, cost_us = 0, bound_us = 0;
  NamedCounts applied;
  std::vector<RuleStats> rules;
  std::vector<RuleRecord> records;
  size_t simulations = 0, egraphs = 0, most_nodes = 0, most_classes = 0, memory_bytes = 0;
  double extract_s = 0;
  size_t slices_used_up = 0;
  bool complete = false; // nothing else can be found by these rules
  SearchTrace trace;
  std::optional<Derivation> chain; // where asked for: from what was given to `graph`
  std::string unexplained;
};

/// Searches one graph, with symbols of its own.
class Searcher {
public:
  Searcher(Graph graph, llvm::ArrayRef<Rule> rules, CostModel& costs,
           const PortfolioOptions& options, const PriorStore* priors, Clock::time_point deadline,
           bool plain)
      : graph_(std::move(graph)), rules_(rules), prices_(graph_.symbols(), costs),
        options_(options), deadline_(deadline), plain_(plain) {
    out_.rules.resize(rules.size());
    out_.records.resize(rules.size());
    if (options.explain) out_.chain = derivation_of(graph_);
    if (options.use_priors)
      policy_ = std::make_unique<StatisticsPolicy>(priors);
    else
      policy_ = std::make_unique<RandomPolicy>();
  }

  Finding run() {
    out_.before_us = out_.cost_us = line_us_ = price_graph(graph_, prices_);
    if (plain_) {
      bool ended = saturate_once(options_.saturate, true);
      out_.complete = ended && saturate_once(exhaustive(), false);
      return std::move(out_);
    }
    int rounds = options_.use_restarts ? options_.rounds : 1;
    for (int round = 0; round < rounds && left() > 0; ++round) {
      double before = line_us_;
      if (options_.use_saturation && saturate_once(exhaustive(), false)) {
        out_.complete = round == 0;
        break;
      }
      if (options_.use_tree)
        search_tree(round);
      else
        saturate_once(exhaustive(), true);
      if (!(line_us_ < before * (1 - kLeastGain))) break;
    }
    return std::move(out_);
  }

private:
  /// What the next e-graph starts from.
  const Graph& line() const { return out_.graph ? *out_.graph : graph_; }
  double left() const { return std::chrono::duration<double>(deadline_ - Clock::now()).count(); }

  /// All rules in all iterations: where it ends by itself, nothing else can be found.
  SaturateOptions exhaustive() const {
    SaturateOptions saturate = options_.saturate;
    saturate.compatible = false;
    saturate.multi_node_limit = 0;
    saturate.iterations = saturate.multi_iterations = 30;
    return saturate;
  }

  /// True if the e-graph holds all that the rules can say. One that does not is extracted from
  /// only if asked.
  bool saturate_once(SaturateOptions options, bool extract_anyway) {
    options.time_limit_s = std::max(std::min(options.time_limit_s, left()), 0.0);
    EGraph egraph = EGraph::from_graph(line());
    start_telling(egraph);
    SaturateReport report = saturate(egraph, rules_, options);
    for (size_t i = 0; i < report.rules.size(); ++i) {
      out_.rules[i].matches += report.rules[i].matches;
      out_.rules[i].applied += report.rules[i].applied;
      out_.rules[i].cyclic += report.rules[i].cyclic;
      out_.trace.apply(static_cast<RuleId>(i), report.rules[i].applied);
    }
    ++out_.trace.columns;
    out_.memory_bytes = std::max(out_.memory_bytes, report.memory_bytes);
    count(egraph);
    bool ended = report.stop == StopReason::Saturated && report.filtered == 0;
    if (ended || extract_anyway) return extract_from(egraph) && ended;
    return false;
  }

  void search_tree(int round) {
    MctsOptions options = options_.mcts;
    options.time_limit_s = std::max(std::min(options.time_limit_s, left()), 0.0);
    options.seed += static_cast<uint64_t>(round);
    options.trace = options_.mcts.trace ? &out_.trace : nullptr;
    Graph start = line();
    EGraph egraph = EGraph::from_graph(start);
    start_telling(egraph);
    MctsReport report = search_mcts(egraph, start, rules_, prices_, options, *policy_);
    out_.simulations += report.simulations;
    out_.memory_bytes = std::max(out_.memory_bytes, report.memory_bytes);
    out_.most_nodes = std::max(out_.most_nodes, report.most_nodes);
    for (size_t i = 0; i < report.rules.size(); ++i) {
      out_.rules[i].matches += report.rules[i].matches;
      out_.rules[i].applied += report.rules[i].applied;
      out_.rules[i].cyclic += report.rules[i].cyclic;
      out_.records[i].tried += report.records[i].tried;
      out_.records[i].paid += report.records[i].paid;
      out_.records[i].gain += report.records[i].gain;
    }
    count(egraph);
    if (report.best)
      take(std::move(report.best->graph), report.best->rules, report.best->history.get());
    extract_from(egraph);
  }

  void count(const EGraph& egraph) {
    ++out_.egraphs;
    out_.most_nodes = std::max(out_.most_nodes, egraph.node_count());
    out_.most_classes = std::max(out_.most_classes, egraph.class_count());
  }

  /// True if what was extracted is the best of the e-graph, by proof.
  bool extract_from(const EGraph& egraph) {
    ExtractOptions options = options_.extract;
    double slice = std::min({options.ilp.time_limit_s, options_.slice_s, left()});
    if (slice <= 0) return false;
    options.ilp.time_limit_s = slice;
    Clock::time_point start = Clock::now();
    Result<ExtractedGraph> found = extract(egraph, line(), prices_, options);
    double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    out_.extract_s += seconds;
    if (!found) return false; // there is what was given
    if (!found->optimal && seconds >= slice) ++out_.slices_used_up;
    std::vector<std::pair<RuleId, size_t>> used;
    for (const RuleUse& use : found->rules_used) used.push_back({use.rule, use.count});
    double bound = found->lower_bound_us;
    bool optimal = found->optimal;
    std::shared_ptr<const History> history = told_by(egraph);
    if (take(std::move(found->graph), used, history.get()) || optimal) out_.bound_us = bound;
    return optimal;
  }

  /// If it is better than what there was.
  bool take(Graph graph, llvm::ArrayRef<std::pair<RuleId, size_t>> used, const History* history) {
    double cost = price_graph(graph, prices_);
    if (!(cost < out_.cost_us * (1 - kLeastGain))) return false;
    if (history) tell(graph, *history);
    out_.cost_us = line_us_ = cost;
    out_.graph.emplace(std::move(graph));
    for (auto [rule, count] : used)
      if (rule < rules_.size()) out_.applied[rules_[rule].name] += count;
    return true;
  }

  /// What the next e-graph finds is told from here on.
  void start_telling(EGraph& egraph) {
    if (!options_.explain) return;
    egraph.record_history();
    start_.emplace(line());
    to_start_ = out_.chain;
  }

  void tell(const Graph& graph, const History& history) {
    out_.chain.reset();
    if (!to_start_) return;
    Result<Derivation> next = explain(history, rules_, *start_, graph);
    if (!next) {
      out_.unexplained = next.error().message;
      return;
    }
    out_.chain = to_start_;
    append(*out_.chain, *next);
    cut_loops(*out_.chain);
  }

  Graph graph_;
  llvm::ArrayRef<Rule> rules_;
  PriceCache prices_;
  const PortfolioOptions& options_;
  Clock::time_point deadline_;
  bool plain_;
  double line_us_ = 0;
  std::unique_ptr<Policy> policy_;
  // Of explanations: the graph that the present e-graph was made from, and the chain to it.
  std::optional<Graph> start_;
  std::optional<Derivation> to_start_;
  Finding out_;
};

class Portfolio {
public:
  Portfolio(const Graph& source, llvm::ArrayRef<Rule> rules, CostModel& costs,
            const PortfolioOptions& options)
      : source_(source), rules_(rules), costs_(costs), options_(options),
        prices_(source.symbols(), costs_), report_{source} {
    report_.rules.resize(rules.size());
    if (options.explain) report_.chain = derivation_of(source);
    deadline_ = start_ + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(
                             std::min(options.mcts.time_limit_s, 1e8)));
  }

  PortfolioReport run();

private:
  struct Task {
    const Graph* graph = nullptr; // over the source's symbols
    bool plain = false;
    std::string where;
  };
  struct Sweep {
    std::vector<NodeId> operators;
    std::vector<Stretch> stretches;
    std::vector<CutOut> places;
    std::vector<uint32_t> task_of; // by stretch
    std::vector<Task> tasks;
  };

  bool sweep(int number);
  Sweep plan_sweep(int number) const;
  std::string place_text(const Sweep& s, uint32_t task) const;
  Finding saturate_source();
  void keep_better(Finding& plain);
  bool whole();
  std::vector<Finding> work(llvm::ArrayRef<Task> tasks);
  void account(const Finding& finding, const Task& task, size_t times);
  bool take(Graph graph, const std::string& where);
  void tell_on(const Finding& finding);
  void tell_on(const Graph& before, llvm::ArrayRef<Replacement> replacements,
               llvm::ArrayRef<const Finding*> findings);
  bool stopped();
  void tell(const std::string& where);
  double elapsed() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

  const Graph& source_;
  llvm::ArrayRef<Rule> rules_;
  SharedCost costs_;
  const PortfolioOptions& options_;
  PriceCache prices_;
  PortfolioReport report_;
  NamedCounts applied_;
  std::map<std::vector<uint32_t>, bool> settled_; // keys of stretches that gave nothing
  Clock::time_point start_ = Clock::now(), deadline_;
};

PortfolioReport Portfolio::run() {
  report_.source_us = report_.cost_us = price_graph(source_, prices_);
  tell("source");
  std::optional<Finding> plain;
  if (options_.use_saturation) plain = saturate_source();
  if (!(plain && plain->complete)) {
    int without_gain = 0;
    for (int i = 0; i < options_.sweeps && options_.use_stretches && !stopped(); ++i) {
      without_gain = sweep(i) ? 0 : without_gain + 1;
      if (without_gain >= 2) break; // one with these cuts, one with others
    }
    for (int i = 0; i < options_.rounds && !stopped(); ++i)
      if (!whole() || !options_.use_restarts) break;
  }
  if (plain) keep_better(*plain);
  stopped();
  report_.changed = report_.cost_us < report_.source_us;
  for (auto& [name, count] : applied_) report_.rules_applied.push_back({name, count});
  report_.seconds = elapsed();
  return std::move(report_);
}

/// Plain saturation, whose best is not where the search goes on: its e-graph, cut off by the node
/// limit, leads to forms that are dead ends. It is held against the search's in the end.
Finding Portfolio::saturate_source() {
  Task task{&source_, true, "whole network, saturation"};
  Finding finding = std::move(work(task).front());
  account(finding, task, 0);
  return finding;
}

void Portfolio::keep_better(Finding& plain) {
  if (!plain.graph || plain.cost_us >= report_.cost_us * (1 - kLeastGain)) {
    if (plain.complete) report_.bound_us = plain.bound_us;
    return;
  }
  applied_ = plain.applied;
  if (SearchTrace* trace = options_.mcts.trace)
    trace->steps = {{"whole network, saturation",
                     {plain.applied.begin(), plain.applied.end()},
                     plain.before_us,
                     plain.cost_us}};
  if (report_.chain) report_.chain = derivation_of(source_);
  tell_on(plain);
  take(transfer(*plain.graph, source_.shared_symbols()), "whole network, saturation");
  report_.bound_us = plain.bound_us;
}

/// The best network in one e-graph. True if that gained something.
bool Portfolio::whole() {
  Graph graph = report_.graph;
  Task task{&graph, false, "whole network"};
  Finding finding = std::move(work(task).front());
  bool better =
      finding.graph && take(transfer(*finding.graph, source_.shared_symbols()), task.where);
  if (better) report_.bound_us = finding.bound_us;
  if (better) tell_on(finding);
  account(finding, task, better ? 1 : 0);
  return better;
}

// --- stretches ----------------------------------------------------------------------------------

Portfolio::Sweep Portfolio::plan_sweep(int number) const {
  Sweep out;
  StretchOptions options = options_.stretches;
  // Other cuts: half a stretch on, then longer and shorter stretches.
  if (number % 2 == 1) options.first_most = options.most / 2;
  if (number % 4 >= 2) options.most = options.most * 2 / 3;
  options.first_most = std::min(options.first_most, options.most);
  out.operators = run_operators(report_.graph);
  out.stretches = cut_stretches(report_.graph, options);
  std::map<std::vector<uint32_t>, uint32_t> known;
  for (Stretch stretch : out.stretches) {
    out.places.push_back(cut_out(report_.graph, out.operators, stretch));
    uint32_t fresh = static_cast<uint32_t>(known.size());
    std::vector<uint32_t> key = out.places.back().key;
    if (!options_.use_repeats) key.insert(key.begin(), static_cast<uint32_t>(out.places.size()));
    out.task_of.push_back(known.try_emplace(std::move(key), fresh).first->second);
  }
  for (size_t i = 0; i < out.stretches.size(); ++i)
    if (out.task_of[i] == out.tasks.size())
      out.tasks.push_back({&out.places[i].graph, false, place_text(out, out.task_of[i])});
  return out;
}

std::string Portfolio::place_text(const Sweep& s, uint32_t task) const {
  size_t times = 0, first = s.stretches.size();
  for (size_t i = 0; i < s.task_of.size(); ++i)
    if (s.task_of[i] == task) ++times, first = std::min(first, i);
  std::string text = "operators " + std::to_string(s.stretches[first].first) + " to " +
                     std::to_string(s.stretches[first].last);
  return text;
}

bool Portfolio::sweep(int number) {
  Sweep s = plan_sweep(number);
  // A short network is one stretch, which is the whole.
  if (s.stretches.size() < 2) return false;
  report_.stretches += s.stretches.size();
  // What gave nothing before gives nothing again.
  std::vector<uint32_t> fresh;
  std::vector<Task> tasks;
  std::vector<int64_t> number_of(s.tasks.size(), -1);
  for (uint32_t t = 0; t < s.tasks.size(); ++t) {
    size_t first = static_cast<size_t>(llvm::find(s.task_of, t) - s.task_of.begin());
    if (options_.use_repeats && settled_.count(s.places[first].key)) continue;
    number_of[t] = static_cast<int64_t>(tasks.size());
    tasks.push_back(s.tasks[t]);
  }
  report_.distinct_stretches += tasks.size();
  std::vector<Finding> found = work(tasks);
  std::vector<Replacement> replacements(s.stretches.size());
  std::vector<const Finding*> findings(s.stretches.size());
  std::vector<size_t> times(tasks.size());
  for (size_t i = 0; i < s.stretches.size(); ++i) {
    int64_t at = number_of[s.task_of[i]];
    if (at < 0) continue;
    if (!found[at].graph) {
      settled_[s.places[i].key] = true;
      continue;
    }
    replacements[i] = {&s.places[i], &*found[at].graph};
    findings[i] = &found[at];
    ++times[at];
  }
  Graph before = report_.graph;
  bool better = take(put_in(before, s.operators, s.stretches, replacements),
                     "sweep " + std::to_string(number + 1));
  if (better) tell_on(before, replacements, findings);
  for (size_t t = 0; t < tasks.size(); ++t) account(found[t], tasks[t], better ? times[t] : 0);
  return better;
}

// --- work ---------------------------------------------------------------------------------------

/// All tasks, on as many threads as there are; the order of the findings is that of the tasks.
std::vector<Finding> Portfolio::work(llvm::ArrayRef<Task> tasks) {
  std::vector<Finding> findings(tasks.size());
  PriorTable learned = report_.learned; // of the searches before
  if (options_.priors)
    for (const auto& [name, record] : options_.priors->priors()) {
      RuleRecord& sum = learned[name];
      sum.tried += record.tried, sum.paid += record.paid, sum.gain += record.gain;
    }
  TableStore store(learned);
  std::vector<Graph> graphs; // symbols are not shared between threads
  for (const Task& task : tasks)
    graphs.push_back(transfer(*task.graph, std::make_shared<Symbols>()));
  std::atomic<size_t> next = 0;
  auto loop = [&] {
    for (size_t i; (i = next++) < tasks.size();)
      findings[i] = Searcher(std::move(graphs[i]), rules_, costs_, options_, &store, deadline_,
                             tasks[i].plain)
                        .run();
  };
  size_t count = std::min<size_t>(static_cast<size_t>(std::max(options_.threads, 1)), tasks.size());
  std::vector<std::thread> threads;
  for (size_t i = 1; i < count; ++i) threads.emplace_back(loop);
  loop();
  for (std::thread& thread : threads) thread.join();
  return findings;
}

/// Adds a finding that was put in at so many places.
void Portfolio::account(const Finding& finding, const Task& task, size_t times) {
  report_.simulations += finding.simulations;
  report_.egraphs += finding.egraphs;
  report_.most_nodes = std::max(report_.most_nodes, finding.most_nodes);
  report_.most_classes = std::max(report_.most_classes, finding.most_classes);
  report_.memory_bytes = std::max(report_.memory_bytes, finding.memory_bytes);
  report_.extract_s += finding.extract_s;
  report_.slices_used_up += finding.slices_used_up;
  for (size_t i = 0; i < finding.rules.size(); ++i) {
    report_.rules[i].matches += finding.rules[i].matches;
    report_.rules[i].applied += finding.rules[i].applied;
    report_.rules[i].cyclic += finding.rules[i].cyclic;
  }
  add_records(rules_, finding.records, report_.learned);
  if (times > 0)
    for (auto& [name, count] : finding.applied) applied_[name] += count * times;
  SearchTrace* trace = options_.mcts.trace;
  if (!trace) return;
  int32_t first = static_cast<int32_t>(trace->tree.size());
  if (trace->tree.size() < SearchTrace::kMostTreeNodes)
    for (SearchTrace::TreeNode node : finding.trace.tree) {
      if (node.parent >= 0) node.parent += first;
      trace->tree.push_back(node);
    }
  for (SearchTrace::Application a : finding.trace.applications)
    trace->applications.push_back({a.column + trace->columns, a.rule, a.applied});
  trace->columns += std::max(finding.trace.columns, 1u);
  if (times == 0) return;
  SearchTrace::Step step{task.where,
                         {finding.applied.begin(), finding.applied.end()},
                         finding.before_us,
                         finding.cost_us};
  if (times > 1) step.where += ", and " + std::to_string(times - 1) + " more like it";
  trace->steps.push_back(std::move(step));
}

/// The network, if it costs less than the best so far.
bool Portfolio::take(Graph graph, const std::string& where) {
  double cost = price_graph(graph, prices_);
  bool better = cost < report_.cost_us * (1 - kLeastGain);
  if (better) {
    report_.graph = std::move(graph);
    report_.cost_us = cost;
    report_.bound_us = 0;
  }
  tell(where);
  return better;
}

/// What was found for the whole goes on from where the chain is.
void Portfolio::tell_on(const Finding& finding) {
  if (!report_.chain) return;
  if (finding.chain) {
    append(*report_.chain, *finding.chain);
    cut_loops(*report_.chain);
    return;
  }
  report_.chain.reset();
  report_.unexplained = finding.unexplained;
}

/// The same of stretches of a network.
void Portfolio::tell_on(const Graph& before, llvm::ArrayRef<Replacement> replacements,
                        llvm::ArrayRef<const Finding*> findings) {
  if (!report_.chain) return;
  std::vector<StretchChain> chains;
  for (size_t i = 0; i < findings.size(); ++i) {
    if (!findings[i]) continue;
    if (!findings[i]->chain) {
      report_.chain.reset();
      report_.unexplained = findings[i]->unexplained;
      return;
    }
    chains.push_back({replacements[i].place, &*findings[i]->chain});
  }
  append_stretches(*report_.chain, before, chains);
}

void Portfolio::tell(const std::string& where) {
  if (options_.mcts.trace)
    options_.mcts.trace->points.push_back(
        {elapsed(), report_.cost_us, report_.simulations, report_.most_nodes, where});
  if (!options_.progress) return;
  SearchProgress p;
  p.seconds = elapsed();
  p.time_limit_s = options_.mcts.time_limit_s;
  p.source_us = report_.source_us;
  p.best_us = report_.cost_us;
  p.bound_us = report_.bound_us;
  p.nodes = report_.most_nodes;
  p.simulations = report_.simulations;
  p.where = where;
  for (auto& [name, count] : applied_) p.rules.push_back({name, count});
  std::stable_sort(p.rules.begin(), p.rules.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  options_.progress(p);
}

bool Portfolio::stopped() {
  if (options_.mcts.cancel && options_.mcts.cancel->load(std::memory_order_relaxed))
    report_.stop = StopReason::Cancelled;
  else if (Clock::now() >= deadline_)
    report_.stop = StopReason::Time;
  else
    return false;
  return true;
}

} // namespace

PortfolioReport search_portfolio(const Graph& source, llvm::ArrayRef<Rule> rules, CostModel& costs,
                                 const PortfolioOptions& options) {
  return Portfolio(source, rules, costs, options).run();
}

} // namespace tg
