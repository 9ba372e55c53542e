// From a plan's operators to stored programs: first trials, the tree, its steps, comparisons.
#include "runtime/tune/plan_session.h"

#include "runtime/tune/reuse.h"

#include <llvm/ADT/BitVector.h>
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

constexpr size_t kCompared = 2;   // number of best programs of an operator that are compared
constexpr double kClose = 1.03;   // of the best: slower programs are not compared
constexpr double kSame = 0.995;   // of the time before: a smaller improvement is not a gain
constexpr size_t kMostKnown = 32; // known operators in a graph, at most
constexpr int kDrawn = 8;         // programs that represent an operator before it is tuned
constexpr size_t kMostExact = 8;  // operators up to which the cheapest tree is found exactly

/// The programs that a step of the tree tried.
struct Searched : StepTrials {
  std::string note;
};

/// The guess of an operator, measured before any reuse.
struct FirstTrial {
  Measured measured;
  double seconds = 0;
};

/// An operator that can be reused and is not tuned again in this session.
struct Reusable {
  Program program;
  std::string name; // of the operator
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
    add_trivial_lines();
    if (!asked_.empty()) {
      measure_library();
      try_first();
    }
    if (!asked_.empty()) {
      make_tree();
      for (const TuneStep& step : plan_.steps)
        if (!graph_.is_known(step.op)) take(step);
    }
    report_.stopped = llvm::any_of(
        report_.lines, [](const PlanTuneLine& line) { return line.state == TuneState::Stopped; });
    report_.seconds = seconds_from(start);
    return std::move(report_);
  }

private:
  bool has_reuse_patience() const { return options_.until_enough && options_.reuse_patience > 0; }
  bool by_features() const { return !options_.baseline; }

  /// Adds a line for each operator that needs no trials, and one for each distinct operator after
  /// the device's rounding.
  void add_trivial_lines() {
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
        alike_.push_back({i, *same});
      } else {
        if (kept) begun_[i] = std::move(*kept);
        asked_.push_back(i);
      }
    }
  }

  void measure_library() {
    if (!options_.library || device_.stopped()) return;
    Clock::time_point start = Clock::now();
    (void)device_.library_us(asked_[0]); // not part of any operator's seconds
    report_.library_seconds = seconds_from(start);
  }

  /// The guess is the first trial of every operator. Operators that then have nothing more
  /// to gain are done.
  void try_first() {
    if (!options_.guess || !options_.until_enough || !by_features()) return;
    Clock::time_point start = Clock::now();
    std::vector<size_t> left;
    for (size_t op : asked_)
      if (device_.stopped() || !is_done_at_once(op)) left.push_back(op);
    asked_ = std::move(left);
    report_.first_seconds = seconds_from(start);
  }

  bool is_done_at_once(size_t at) {
    Clock::time_point start = Clock::now();
    device_.begin(at);
    const Operator& op = *device_.operators()[at].op;
    std::optional<Program> guess = device_.guess(op);
    if (!guess) return false;
    Trials trials(device_, op);
    (void)trials.measure(*guess);
    report_.trials += trials.count();
    if (!trials.best()) return false;
    const Measured& found = *trials.best();
    if (!trials.has_enough() && !is_enough_now(op, found.microseconds) && !device_.stopped()) {
      first_[at] = {found, seconds_from(start)};
      return false;
    }
    PlanTuneLine line{at, device_.operators()[at].name};
    line.planned = line.expected = static_cast<double>(trials.count());
    line.trials = trials.count();
    conclude(line, found, /*of_its_own=*/true);
    line.seconds = seconds_from(start);
    if (!device_.stopped()) reusable_.push_back({found.program, line.name});
    add(std::move(line));
    use_for_equal_operators(at, found);
    return true;
  }

  /// Returns true if the time is near the peak. A clock rate that fell since the peak was measured
  /// is not a reason to search.
  bool is_enough_now(const Operator& op, double us) {
    constexpr double kNear = 1.06;
    return us <= kNear * device_.enough_us(op) && us <= device_.enough_now_us(op);
  }

  void make_tree() {
    Clock::time_point start = Clock::now();
    choose_tree();
    searched_.resize(graph_.operators.size());
    for (size_t i = 0; i < reusable_.size(); ++i)
      searched_[first_reusable() + i].ranking = {{reusable_[i].program, 0}};
    expect_trials();
    report_.tree_seconds = seconds_from(start);
  }
  size_t first_reusable() const { return graph_.operators.size() - reusable_.size(); }

  /// Estimates trials that end early for the pairs of the tree only, not of the whole graph.
  /// Operators that are not tuned yet are represented by the device's guess.
  /// An operator for which reuse would find nothing but the guess is moved behind all others,
  /// so that it may reuse those before it is searched in full.
  void expect_trials() {
    if (!has_reuse_patience()) return;
    llvm::BitVector done(static_cast<unsigned>(graph_.operators.size()));
    done.set(static_cast<unsigned>(first_reusable()), done.size());
    std::vector<TuneStep> steps, later;
    auto add_step = [&](const TuneStep& planned, bool is_last) {
      TuneStep step =
          revised(planned, [&](size_t node) { return done.test(static_cast<unsigned>(node)); });
      if (planned.reused && (!step.reused || step.expected <= 1) && !is_last) {
        later.push_back(planned);
        return;
      }
      done.set(static_cast<unsigned>(step.op));
      steps.push_back(step);
    };
    for (const TuneStep& step : plan_.steps) add_step(step, /*is_last=*/false);
    for (const TuneStep& step : later) add_step(step, /*is_last=*/true);
    plan_.steps = std::move(steps);
  }

  void choose_tree() {
    SelectionOptions selection;
    bool bridges = by_features() && options_.hops > 0;
    selection.hops = bridges ? options_.hops : 0;
    selection.full_trials = static_cast<double>(options_.trials);
    std::vector<Operator> operators;
    for (size_t i : asked_) operators.push_back(*device_.operators()[i].op);
    if (bridges && !options_.again) find_known(operators);
    for (const Reusable& one : reusable_) {
      dry_runs_.know(one.program);
      selection.known.push_back(one.program.op);
    }
    if (options_.dry_estimates) selection.dry_runs = &dry_runs_;
    if (options_.dry_estimates && has_reuse_patience())
      selection.reuse_trials = by_features() ? static_cast<double>(options_.reuse_patience + 1)
                                             : options_.baseline->reuse_trials();
    selection.estimate.thread_limit = device_.limits().threads_of_block + 1;
    selection.occurrence_weight = options_.occurrence_weight;
    for (size_t i : asked_) selection.occurrences.push_back(device_.operators()[i].occurrences);
    if (bridges && has_reuse_patience()) {
      // A bridge costs as many trials as the reuse that it enables,
      // so it pays only if it saves a full search. Without bridges,
      // the number of full searches may already be minimal.
      selection.hops = 0;
      graph_ = operator_graph(operators, selection);
      plan_ = plan_reuse(graph_, Selection::Arborescence);
      auto full = llvm::count_if(plan_.steps, [&](const TuneStep& step) {
        return !step.reused && !graph_.is_known(step.op);
      });
      if (static_cast<size_t>(full) <= types_without_program(operators)) return;
      selection.hops = options_.hops;
    }
    graph_ = operator_graph(operators, selection);
    plan_ = bridges         ? plan_reuse(graph_,
                                 asked_.size() <= kMostExact ? Selection::Exact : Selection::Greedy)
            : by_features() ? plan_reuse(graph_, Selection::Arborescence)
                            : options_.baseline->plan(graph_, work(), selection.full_trials);
  }

  /// Returns the floating-point operations of each of the graph's originals, times its occurrences.
  std::vector<double> work() const {
    std::vector<double> all;
    for (size_t i : asked_) {
      const PlanOperator& op = device_.operators()[i];
      all.push_back(op.flops * static_cast<double>(op.occurrences));
    }
    return all;
  }

  /// Returns the number of types without a program; each needs at least one full search.
  size_t types_without_program(llvm::ArrayRef<Operator> operators) const {
    std::set<OpType> types;
    for (const Operator& op : operators) types.insert(op.type);
    for (const Reusable& one : reusable_) types.erase(one.program.op.type);
    return types.size();
  }

  void find_known(llvm::ArrayRef<Operator> operators) {
    size_t most = reusable_.size() + kMostKnown;
    auto is_there = [&](const Operator& op) {
      return llvm::is_contained(operators, op) ||
             llvm::any_of(reusable_, [&](const Reusable& one) { return one.program.op == op; });
    };
    for (Program& program : device_.kept_programs()) {
      if (reusable_.size() == most) return;
      bool serves =
          llvm::any_of(operators, [&](const Operator& op) { return can_reuse(op, program.op); });
      if (!serves || is_there(program.op)) continue;
      std::string name = text(program.op);
      reusable_.push_back({std::move(program), std::move(name)});
    }
  }

  /// Returns the step with its trials re-estimated from current knowledge. If the reused program
  /// leads to no legal program but the guess, another `done` operator replaces it, the one with
  /// the fewest trials.
  TuneStep revised(TuneStep step, llvm::function_ref<bool(size_t)> done) {
    if (!step.reused || !options_.dry_estimates || !by_features()) return step;
    const Operator& op = graph_.operators[step.op];
    double enough = 0;
    if (step.op < graph_.originals) {
      device_.begin(asked_[step.op]);
      if (const FirstTrial* first = first_of(asked_[step.op]))
        enough = device_.enough_us(op) / first->measured.microseconds;
    }
    auto trials = [&](size_t reused) -> std::optional<double> {
      if (!done(reused)) return {};
      return dry_runs_.expected_trials(op, graph_.operators[reused], /*most=*/1, enough);
    };
    std::optional<double> least = trials(*step.reused);
    auto serves = [](const std::optional<double>& trials) { return trials && *trials > 1; };
    bool planned = serves(least);
    for (size_t node = 0; node < graph_.operators.size() && !planned; ++node) {
      if (node == step.op || !can_reuse(op, graph_.operators[node])) continue;
      std::optional<double> found = trials(node);
      if (!serves(found) || (serves(least) && *least <= *found)) continue;
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
    TuneStep step = revised(planned, [&](size_t node) { return !searched_[node].ranking.empty(); });
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
    first_trial_ = original ? first_of(*line.op) : nullptr;
    search(op, step, begun == begun_.end() ? nullptr : &begun->second, found);
    if (!found.ranking.empty()) dry_runs_.know(found.ranking.front().program);
    if (step.reused && found.note.empty()) line.reused_from = name_of(*step.reused);
    line.trials = found.trials;
    line.filtered = found.filtered;
    line.trials_to_best = found.to_best;
    line.note = found.note;
    report_.trials += found.trials - (first_trial_ ? 1 : 0);
    if (original)
      conclude(line, found.ranking, /*of_its_own=*/true);
    else if (!device_.stopped())
      line.state = found.ranking.empty() ? TuneState::Failed : TuneState::Bridge;
    line.seconds = seconds_from(start) + (first_trial_ ? first_trial_->seconds : 0);
    add(std::move(line));
    if (original) use_for_equal_operators(asked_[step.op], found.ranking);
  }

  const FirstTrial* first_of(size_t op) const {
    auto found = first_.find(op);
    return found == first_.end() ? nullptr : &found->second;
  }

  std::string name_of(size_t node) const {
    if (node < graph_.originals) return device_.operators()[asked_[node]].name;
    return graph_.is_known(node) ? reusable_[node - first_reusable()].name
                                 : text(graph_.operators[node]);
  }

  /// `begun` is the result of an earlier interrupted search of the operator, or null.
  void search(const Operator& op, const TuneStep& step, const KeptProgram* begun, Searched& found) {
    const std::vector<Measured>* reused = step.reused ? &searched_[*step.reused].ranking : nullptr;
    if (reused && !reused->empty()) {
      if (by_features())
        reuse(op, reused->front().program, found);
      else
        static_cast<StepTrials&>(found) = options_.baseline->reuse(op, *reused, device_);
      if (!found.ranking.empty() || device_.stopped()) return;
      found.note = llvm::formatv("none of the {0} reused programs ran", found.trials);
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
    if (first_trial_) reuse.remembered = first_trial_->measured;
    ReuseResult result = tune_by_reuse(op, program, device_, reuse);
    found.ranking = std::move(result.ranking);
    found.trials = result.trials;
    found.filtered = result.filtered;
  }

  void search_in_full(const Operator& op, const KeptProgram* begun, Searched& found) {
    FullSearchOptions full;
    full.trials = options_.trials;
    full.seed = options_.seed;
    full.patience = options_.patience;
    full.to_the_end = !options_.until_enough;
    if (options_.guess) full.start = device_.guess(op);
    if (options_.baseline) options_.baseline->adjust(full);
    if (first_trial_) full.remembered = first_trial_->measured;
    if (begun) { // other programs than those tried in that search
      full.seed += static_cast<uint64_t>(begun->trials);
      full.start = begun->best.program;
    }
    FullSearchResult result = search_fully(op, device_, full);
    found.ranking = std::move(result.ranking);
    found.to_best = result.trials_to_best;
    found.trials += result.trials;
  }

  /// Stores the result of the trials of an operator, or of another operator
  /// that shares its programs.
  void conclude(PlanTuneLine& line, llvm::ArrayRef<Measured> ranking, bool of_its_own) {
    bool cut_off = device_.stopped();
    Clock::time_point start = Clock::now();
    if (of_its_own && !cut_off && !begun_.count(*line.op))
      line.found = untuned_if_fastest(*line.op, ranking);
    if (!line.found) line.found = compared(*line.op, ranking, of_its_own);
    line.compared_seconds = seconds_from(start);
    if (!line.found) {
      if (!cut_off) line.state = TuneState::Failed;
      return;
    }
    if (options_.library) line.library_us = device_.library_us(*line.op);
    auto begun = begun_.find(*line.op);
    line.found->trials = line.trials + (begun == begun_.end() ? 0 : begun->second.trials);
    line.found->cut_off = cut_off;
    if (!cut_off) line.state = line.found->faster ? TuneState::Tuned : TuneState::NotFaster;
    device_.keep(*line.op, *line.found);
  }

  /// If no trial was faster than that of the untuned program, there is nothing to compare.
  std::optional<KeptProgram> untuned_if_fastest(size_t op, llvm::ArrayRef<Measured> ranking) {
    for (const Measured& one : ranking) {
      if (ranking[0].microseconds < kSame * one.microseconds) break;
      if (device_.is_untuned(op, one.program)) return KeptProgram{one, one.microseconds};
    }
    return std::nullopt;
  }

  /// Returns the trial time of the untuned program; HUGE_VAL if it is not among the best.
  double untuned_trial_us(size_t op, llvm::ArrayRef<Measured> ranking) {
    auto* found = llvm::find_if(
        ranking, [&](const Measured& one) { return device_.is_untuned(op, one.program); });
    return found == ranking.end() ? HUGE_VAL : found->microseconds;
  }

  /// Compares the best programs with the untuned implementation,
  /// if their trials were faster than its own; if no time is left, only the best one.
  std::optional<KeptProgram> compared(size_t at, llvm::ArrayRef<Measured> ranking,
                                      bool of_its_own) {
    bool cut_off = device_.stopped();
    Nest nest = nest_of(*device_.operators()[at].op);
    double to_beat_us = of_its_own && !cut_off ? untuned_trial_us(at, ranking) : HUGE_VAL;
    std::vector<Program> best;
    auto try_program = [&](const Program& program) {
      if (device_.why_not(program, nest).empty() && !llvm::is_contained(best, program))
        best.push_back(program);
    };
    for (const Measured& one : ranking.take_front(cut_off ? 1 : kCompared))
      if (one.microseconds <= kClose * ranking[0].microseconds && one.microseconds < to_beat_us)
        try_program(one.program);
    auto begun = begun_.find(at);
    if (begun != begun_.end()) try_program(begun->second.best.program);
    if (best.empty() && !ranking.empty()) try_program(ranking[0].program);
    CompareLimit limit;
    if (cut_off) limit.most_us /= 4;
    return device_.compare(at, best, limit);
  }

  /// Operators that are rounded up to the same operator use its programs.
  void use_for_equal_operators(size_t of, llvm::ArrayRef<Measured> ranking) {
    for (auto [op, same] : alike_) {
      if (same != of) continue;
      Clock::time_point start = Clock::now();
      device_.begin(op);
      PlanTuneLine line{op, device_.operators()[op].name};
      if (device_.stopped()) {
        add(std::move(line));
        continue;
      }
      line.reused_from = device_.operators()[of].name;
      line.note = "the same programs";
      conclude(line, ranking, /*of_its_own=*/false);
      line.seconds = seconds_from(start);
      add(std::move(line));
    }
  }

  void stop_at(size_t node) {
    if (node >= graph_.originals) return;
    size_t op = asked_[node];
    PlanTuneLine line{op, device_.operators()[op].name};
    if (const FirstTrial* first = first_of(op)) {
      line.trials = 1;
      line.seconds = first->seconds;
    }
    add(std::move(line));
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
  std::vector<std::pair<size_t, size_t>> alike_; // an operator, and whose programs it uses
  std::map<size_t, KeptProgram> begun_;          // operators whose search was interrupted earlier
  std::map<size_t, FirstTrial> first_;           // operators not done after their first trial
  std::vector<Reusable> reusable_;               // the known operators of the graph
  const FirstTrial* first_trial_ = nullptr;      // of the current operator; null: none
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
