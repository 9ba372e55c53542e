// From a plan's operators to kept programs: the tree, its steps, comparisons.
#include "runtime/tune/plan_session.h"

#include "runtime/tune/reuse.h"
#include "runtime/tune/search/baselines.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/Support/FormatVariadic.h>

#include <chrono>
#include <map>
#include <set>

namespace tg::tune {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_from(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

constexpr size_t kCompared = 4;   // of the best programs of an operator
constexpr double kClose = 1.03;   // times the best: what is slower in its trials is not compared
constexpr double kSame = 0.995;   // no gain is less, of the time before
constexpr size_t kTop = 3;        // of a ranking, as published
constexpr size_t kMostKnown = 32; // that a graph has
constexpr int kDrawn = 8;         // programs that stand for an operator before it is tuned
constexpr size_t kMostExact = 8;  // operators whose cheapest tree is found exactly

/// What a step of the tree tried.
struct Searched {
  std::vector<Measured> ranking; // the fastest first
  int64_t trials = 0, filtered = 0, to_best = 0;
  std::string note;
};

class PlanTuner {
public:
  PlanTuner(PlanDevice& device, const PlanTuneOptions& options,
            llvm::function_ref<void(const PlanTuneLine&)> done)
      : device_(device), options_(options), done_(done),
        dry_runs_(device, kDrawn, options.seed, options.guess,
                  options.until_enough ? options.reuse_patience : 0) {}

  PlanTuneReport run() {
    Clock::time_point start = Clock::now();
    sort_out();
    if (!asked_.empty()) {
      make_tree();
      report_.tree_seconds = seconds_from(start);
      if (!device_.stopped()) (void)device_.library_us(asked_[0]); // in nobody's seconds
      report_.library_seconds = seconds_from(start) - report_.tree_seconds;
      for (const TuneStep& step : plan_.steps)
        if (!graph_.is_known(step.op)) take(step);
    }
    report_.stopped = llvm::any_of(
        report_.lines, [](const PlanTuneLine& line) { return line.state == TuneState::Stopped; });
    report_.seconds = seconds_from(start);
    return std::move(report_);
  }

private:
  static bool is_impatient(const PlanTuneOptions& options) {
    return options.until_enough && options.reuse_patience > 0;
  }

  /// Lines of what needs no trials; the others, one for each operator as the device rounds it.
  void sort_out() {
    for (size_t i = 0; i < device_.operators().size(); ++i) {
      const PlanOperator& op = device_.operators()[i];
      PlanTuneLine line{i, op.name};
      std::optional<KeptProgram> kept;
      if (!op.op) {
        line.state = TuneState::NoKernel;
        line.note = op.why_not;
        add(std::move(line));
      } else if (!options_.again && (kept = device_.kept(i)) && !kept->cut_off) {
        line.state = TuneState::Known;
        line.found = std::move(kept);
        add(std::move(line));
      } else if (auto same = llvm::find_if(
                     asked_, [&](size_t one) { return device_.operators()[one].op == op.op; });
                 same != asked_.end()) {
        alike_.push_back({i, static_cast<size_t>(same - asked_.begin())});
      } else {
        if (kept) begun_[i] = std::move(*kept);
        asked_.push_back(i);
      }
    }
  }

  void make_tree() {
    SelectionOptions selection;
    bool bridges = options_.reuse == ReuseKind::Eto;
    selection.hops = bridges ? options_.hops : 0;
    selection.full_trials = static_cast<double>(options_.trials);
    std::vector<Operator> operators;
    for (size_t i : asked_) operators.push_back(*device_.operators()[i].op);
    if (bridges && !options_.again) find_known(selection.known);
    for (const Program& program : known_) dry_runs_.know(program);
    if (options_.dry_estimates) selection.dry_runs = &dry_runs_;
    if (options_.dry_estimates && is_impatient(options_))
      selection.reuse_trials = static_cast<double>(options_.reuse_patience + 1);
    selection.estimate.thread_limit = device_.limits().threads_of_block + 1;
    selection.occurrence_weight = options_.occurrence_weight;
    for (size_t i : asked_) selection.occurrences.push_back(device_.operators()[i].occurrences);
    if (bridges && is_impatient(options_)) {
      // A bridge costs as many trials as the reuse that it makes possible: it pays where it saves a
      // full search, and without it there may be no more of them than there must be.
      selection.hops = 0;
      graph_ = operator_graph(operators, selection);
      plan_ = plan_reuse(graph_, Selection::Arborescence);
      auto full = llvm::count_if(plan_.steps, [&](const TuneStep& step) {
        return !step.reused && !graph_.is_known(step.op);
      });
      if (static_cast<size_t>(full) <= types_without_program(operators)) return begin_steps();
      selection.hops = options_.hops;
    }
    graph_ = operator_graph(operators, selection);
    make_plan(operators);
    begin_steps();
  }

  /// Each has one full search at least.
  size_t types_without_program(llvm::ArrayRef<Operator> operators) const {
    std::set<OpType> types;
    for (const Operator& op : operators) types.insert(op.type);
    for (const Program& program : known_) types.erase(program.op.type);
    return types.size();
  }

  void begin_steps() {
    searched_.resize(graph_.operators.size());
    for (size_t i = 0; i < known_.size(); ++i)
      searched_[graph_.operators.size() - known_.size() + i].ranking = {{known_[i], 0}};
  }

  void make_plan(llvm::ArrayRef<Operator> operators) {
    switch (options_.reuse) {
    case ReuseKind::Eto:
      plan_ =
          plan_reuse(graph_, asked_.size() <= kMostExact ? Selection::Exact : Selection::Greedy);
      break;
    case ReuseKind::NoBridges:
    case ReuseKind::Top: plan_ = plan_reuse(graph_, Selection::Arborescence); break;
    case ReuseKind::Selective: plan_clusters(operators); break;
    case ReuseKind::Full:
    case ReuseKind::Random: plan_ = plan_reuse(graph_, Selection::Full); break;
    }
  }

  void find_known(std::vector<Operator>& operators) {
    for (Program& program : device_.kept_programs()) {
      if (known_.size() == kMostKnown) return;
      bool serves = llvm::any_of(
          asked_, [&](size_t i) { return can_reuse(*device_.operators()[i].op, program.op); });
      if (!serves || llvm::is_contained(operators, program.op)) continue;
      operators.push_back(program.op);
      known_.push_back(std::move(program));
    }
  }

  /// Of each cluster the operator with most to do is searched for in full.
  void plan_clusters(llvm::ArrayRef<Operator> operators) {
    for (std::vector<size_t>& cluster : clusters(operators)) {
      llvm::stable_sort(cluster, [&](size_t a, size_t b) { return work_of(a) > work_of(b); });
      for (size_t op : cluster) {
        TuneStep step{op, {}, selection_trials(op == cluster[0])};
        if (op != cluster[0]) step.reused = cluster[0];
        plan_.steps.push_back(step);
      }
    }
  }
  double work_of(size_t node) const {
    const PlanOperator& op = device_.operators()[asked_[node]];
    return op.flops * static_cast<double>(op.occurrences);
  }
  double selection_trials(bool full) const {
    return full ? static_cast<double>(options_.trials) : static_cast<double>(kTop);
  }

  /// What is reused has its program by now, so that the trials are known better: where it leaves
  /// none that is legal, another one that is tuned takes its place, the one with the fewest trials.
  TuneStep revised(TuneStep step) {
    bool by_features = options_.reuse == ReuseKind::Eto || options_.reuse == ReuseKind::NoBridges;
    if (!step.reused || !options_.dry_estimates || !by_features) return step;
    const Operator& op = graph_.operators[step.op];
    auto trials = [&](size_t reused) -> std::optional<double> {
      if (searched_[reused].ranking.empty()) return {};
      return dry_runs_.expected_trials(op, graph_.operators[reused]);
    };
    std::optional<double> least = trials(*step.reused);
    bool planned = least.has_value();
    for (size_t node = 0; node < graph_.operators.size() && !planned; ++node) {
      if (node == step.op || !can_reuse(op, graph_.operators[node])) continue;
      std::optional<double> found = trials(node);
      if (!found || (least && *least <= *found)) continue;
      least = found;
      step.reused = node;
    }
    step.expected = least.value_or(static_cast<double>(options_.trials));
    if (!least) step.reused = {};
    return step;
  }

  void take(const TuneStep& planned) {
    if (device_.stopped()) return stop_at(planned.op);
    Clock::time_point start = Clock::now();
    TuneStep step = revised(planned);
    bool original = step.op < graph_.originals;
    const Operator& op = graph_.operators[step.op];
    if (original) device_.begin(asked_[step.op]);
    PlanTuneLine line;
    if (original) line.op = asked_[step.op];
    line.name = original ? device_.operators()[*line.op].name : text(op);
    line.planned = planned.expected;
    line.expected = step.expected;
    Searched& found = searched_[step.op];
    auto begun = original ? begun_.find(*line.op) : begun_.end();
    search(op, step, begun == begun_.end() ? nullptr : &begun->second, found);
    if (!found.ranking.empty()) dry_runs_.know(found.ranking.front().program);
    if (step.reused && found.note.empty()) line.reused_from = name_of(*step.reused);
    line.trials = found.trials;
    line.filtered = found.filtered;
    line.trials_to_best = found.to_best;
    line.note = found.note;
    report_.trials += found.trials;
    if (original)
      conclude(line, found.ranking, /*of_its_own=*/true);
    else if (!device_.stopped())
      line.state = found.ranking.empty() ? TuneState::Failed : TuneState::Bridge;
    line.seconds = seconds_from(start);
    add(std::move(line));
    if (original) take_alike(step.op);
  }

  std::string name_of(size_t node) const {
    return node < graph_.originals ? device_.operators()[asked_[node]].name
                                   : text(graph_.operators[node]);
  }

  /// `begun`: what an earlier search of the operator found that was cut off; or null.
  void search(const Operator& op, const TuneStep& step, const KeptProgram* begun, Searched& found) {
    const std::vector<Measured>* reused = step.reused ? &searched_[*step.reused].ranking : nullptr;
    if (reused && !reused->empty()) {
      if (options_.reuse == ReuseKind::Top || options_.reuse == ReuseKind::Selective)
        take_top(op, *reused, found);
      else
        reuse(op, reused->front().program, found);
      if (!found.ranking.empty() || device_.stopped()) return;
      found.note = llvm::formatv("none of {0} programs by reuse ran", found.trials);
    } else if (reused) {
      found.note = "the operator to reuse has no program";
    }
    search_in_full(op, begun, found);
  }

  void reuse(const Operator& op, const Program& program, Searched& found) {
    ReuseOptions reuse;
    reuse.seed = options_.seed;
    reuse.to_the_end = !options_.until_enough;
    reuse.use_block_cost = reuse.use_thread_cost = options_.shape_costs;
    if (options_.until_enough) reuse.patience = options_.reuse_patience;
    if (options_.guess) reuse.start = device_.guess(op);
    ReuseResult result = tune_by_reuse(op, program, device_, reuse);
    found.ranking = std::move(result.ranking);
    found.trials = result.trials;
    found.filtered = result.filtered;
  }

  void take_top(const Operator& op, llvm::ArrayRef<Measured> ranking, Searched& found) {
    TopResult result = tune_by_top(op, ranking, kTop, device_);
    if (result.best) found.ranking = {*result.best};
    found.trials = result.trials;
  }

  void search_in_full(const Operator& op, const KeptProgram* begun, Searched& found) {
    FullSearchOptions full;
    full.trials = options_.trials;
    full.seed = options_.seed;
    full.patience = options_.patience;
    full.only_random = options_.reuse == ReuseKind::Random;
    full.to_the_end = !options_.until_enough;
    if (options_.guess && !full.only_random) full.start = device_.guess(op);
    if (begun) { // other programs than those that were tried then
      full.seed += static_cast<uint64_t>(begun->trials);
      full.start = begun->best.program;
    }
    FullSearchResult result = search_fully(op, device_, full);
    found.ranking = std::move(result.ranking);
    found.to_best = result.trials_to_best;
    found.trials += result.trials;
  }

  /// What came of an operator's trials, or of those of another one, is kept.
  void conclude(PlanTuneLine& line, llvm::ArrayRef<Measured> ranking, bool of_its_own) {
    bool cut_off = device_.stopped();
    Clock::time_point start = Clock::now();
    if (of_its_own && !cut_off) line.found = nothing_changes(*line.op, ranking);
    if (!line.found) line.found = compared(*line.op, ranking);
    line.compared_seconds = seconds_from(start);
    if (!line.found) {
      if (!cut_off) line.state = TuneState::Failed;
      return;
    }
    line.library_us = device_.library_us(*line.op);
    auto begun = begun_.find(*line.op);
    line.found->trials = line.trials + (begun == begun_.end() ? 0 : begun->second.trials);
    line.found->cut_off = cut_off;
    if (!cut_off) line.state = line.found->faster ? TuneState::Tuned : TuneState::NotFaster;
    device_.keep(*line.op, *line.found);
  }

  /// Where no trial was faster than the one of the untuned way, there is nothing to compare.
  std::optional<KeptProgram> nothing_changes(size_t op, llvm::ArrayRef<Measured> ranking) {
    for (const Measured& one : ranking) {
      if (ranking[0].microseconds < kSame * one.microseconds) break;
      if (device_.is_untuned(op, one.program)) return KeptProgram{one, one.microseconds};
    }
    return std::nullopt;
  }

  /// The best programs against the untuned way; if there is no more time, the best one alone.
  std::optional<KeptProgram> compared(size_t at, llvm::ArrayRef<Measured> ranking) {
    bool cut_off = device_.stopped();
    Nest nest = nest_of(*device_.operators()[at].op);
    std::vector<Program> best;
    auto try_program = [&](const Program& program) {
      if (device_.why_not(program, nest).empty() && !llvm::is_contained(best, program))
        best.push_back(program);
    };
    for (const Measured& one : ranking.take_front(cut_off ? 1 : kCompared))
      if (one.microseconds <= kClose * ranking[0].microseconds) try_program(one.program);
    auto begun = begun_.find(at);
    if (begun != begun_.end()) try_program(begun->second.best.program);
    CompareLimit limit;
    if (cut_off) limit.most_us /= 4;
    return device_.compare(at, best, limit);
  }

  /// Operators that are rounded up to the same take its programs.
  void take_alike(size_t node) {
    for (auto [op, same] : alike_) {
      if (same != node) continue;
      Clock::time_point start = Clock::now();
      device_.begin(op);
      PlanTuneLine line{op, device_.operators()[op].name};
      if (device_.stopped()) {
        add(std::move(line));
        continue;
      }
      line.reused_from = name_of(node);
      line.note = "the same programs";
      conclude(line, searched_[node].ranking, /*of_its_own=*/false);
      line.seconds = seconds_from(start);
      add(std::move(line));
    }
  }

  void stop_at(size_t node) {
    if (node >= graph_.originals) return;
    size_t op = asked_[node];
    add({op, device_.operators()[op].name});
  }

  void add(PlanTuneLine line) {
    report_.lines.push_back(std::move(line));
    done_(report_.lines.back());
  }

  PlanDevice& device_;
  const PlanTuneOptions& options_;
  llvm::function_ref<void(const PlanTuneLine&)> done_;
  PlanTuneReport report_;
  std::vector<size_t> asked_;                    // operators of the device: the graph's originals
  std::vector<std::pair<size_t, size_t>> alike_; // an operator, and whose programs it takes
  std::map<size_t, KeptProgram> begun_;          // of operators whose search was cut off earlier
  std::vector<Program> known_;
  DryRuns dry_runs_;
  OperatorGraph graph_;
  ReusePlan plan_;
  std::vector<Searched> searched_; // by node of the graph
};

} // namespace

llvm::StringRef state_name(TuneState state) {
  switch (state) {
  case TuneState::Tuned: return "tuned";
  case TuneState::NotFaster: return "not faster";
  case TuneState::Known: return "known";
  case TuneState::Bridge: return "bridge";
  case TuneState::Failed: return "failed";
  case TuneState::NoKernel: return "not tuned";
  case TuneState::Stopped: return "stopped";
  }
  return "";
}

PlanTuneReport tune_plan(PlanDevice& device, const PlanTuneOptions& options,
                         llvm::function_ref<void(const PlanTuneLine&)> done) {
  return PlanTuner(device, options, done).run();
}

} // namespace tg::tune
