// The loop around the solver: greedy first (the answer if all else fails, and the solver's start),
// reduce, solve, read the choice off the solution; where it has a cycle, forbid that cycle and
// solve again in the time that is left. The relaxation is rounded too: greedy under costs that are
// small where the relaxation chose, so that its choices are acyclic by construction.
#include "compiler/extract/solver/ilp.h"

#include "compiler/extract/answer.h"
#include "compiler/extract/sharing.h"
#include "compiler/extract/solver/branch_cut.h"
#include "compiler/extract/solver/exact_search.h"
#include "compiler/extract/solver/parts.h"
#include "compiler/extract/solver/process.h"
#include "compiler/extract/solver/reduce.h"

#include <llvm/ADT/DenseSet.h>
#include <llvm/Support/FormatVariadic.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>

namespace tg {

namespace {

/// Nodes that the solution chose, one a class; what it leaves open stays open.
Choice read_choice(const ExtractionProblem& problem, llvm::ArrayRef<double> x) {
  constexpr double kChosen = 0.5;
  Choice choice(problem.class_count());
  std::vector<double> best(problem.class_count(), kChosen);
  for (uint32_t n = 0; n < problem.node_count(); ++n) {
    uint32_t cls = problem.class_of({n}).index;
    if (x[n] <= best[cls]) continue;
    best[cls] = x[n];
    choice.node[cls] = {n};
  }
  return choice;
}

/// One cycle for each class at which a walk from the roots over `choice` closes one, as lists of
/// classes, each needing the next and the last the first. Each class is walked once.
std::vector<std::vector<ClassIx>> find_cycles(const ExtractionProblem& problem,
                                              const Choice& choice) {
  enum class State : uint8_t { New, Open, Done };
  std::vector<State> state(problem.class_count(), State::New);
  struct Frame {
    ClassIx cls;
    uint32_t next = 0;
  };
  std::vector<Frame> stack;
  std::vector<std::vector<ClassIx>> cycles;
  auto visit = [&](ClassIx cls) {
    if (state[cls.index] == State::Open) {
      auto first = llvm::find_if(stack, [&](const Frame& f) { return f.cls == cls; });
      auto& cycle = cycles.emplace_back();
      for (; first != stack.end(); ++first) cycle.push_back(first->cls);
    }
    if (state[cls.index] != State::New || !choice[cls].valid()) return;
    state[cls.index] = State::Open;
    stack.push_back({cls});
  };
  for (ClassIx root : problem.roots()) {
    visit(root);
    while (!stack.empty()) {
      Frame& frame = stack.back();
      auto children = problem.children(choice[frame.cls]);
      if (frame.next < children.size()) {
        visit(children[frame.next++]);
      } else {
        state[frame.cls.index] = State::Done;
        stack.pop_back();
      }
    }
  }
  return cycles;
}

/// Of k classes in a circle, at most k - 1 may choose a node that needs the next. It forbids every
/// cycle through these classes in this order, not only the one that was found.
void forbid_cycle(const ExtractionProblem& problem, llvm::ArrayRef<ClassIx> cycle,
                  MipModel& model) {
  llvm::SmallVector<MipModel::Entry, 16> row;
  for (size_t i = 0; i < cycle.size(); ++i) {
    ClassIx next = cycle[(i + 1) % cycle.size()];
    for (NodeIx node : problem.nodes(cycle[i]))
      if (llvm::is_contained(problem.children(node), next))
        row.push_back({static_cast<int32_t>(node.index), 1});
  }
  model.add_row(row, -kNoBound, static_cast<double>(cycle.size()) - 1);
}

/// What every choice costs at least, known before any relaxation: some node of each root.
double least_cost(const ExtractionProblem& problem) {
  double sum = sum_of_rewards(problem);
  llvm::SmallDenseSet<uint32_t, 16> seen;
  for (ClassIx root : problem.roots()) {
    double least = kInfiniteCost;
    for (NodeIx node : problem.nodes(root)) least = std::min(least, problem.cost(node));
    if (least > 0 && least < kInfiniteCost && seen.insert(root.index).second) sum += least;
  }
  return sum;
}

/// The best choice for one problem within a time, and what is certain about it.
class Solver {
public:
  Solver(const ExtractionProblem& problem, const IlpOptions& options, double seconds,
         llvm::function_ref<bool()> asked_to_stop)
      : problem_(problem), options_(options), seconds_(seconds), asked_to_stop_(asked_to_stop) {}

  void run() {
    bound = least_cost(problem_);
    if (std::optional<Choice> start = extract_greedy(problem_)) offer(std::move(*start), "greedy");
    if (best && settled()) {
      bound = cost;
      return;
    }
    if (Choice shared = best.value_or(Choice()); best && options_.local_search) {
      constexpr double kShareOfTime = 0.4;
      if (improve_by_sharing(problem_, shared, kShareOfTime * seconds_, asked_to_stop_))
        offer(std::move(shared), "sharing");
    }
    if (prove_small())
      bound = cost;
    else
      search();
  }

  std::optional<Choice> best;
  double cost = kInfiniteCost;
  double bound = -kInfiniteCost; // set by run()
  std::string algorithm;
  std::string stopped; // why there is no proof; empty if there is

private:
  /// Takes the choice if it is sound and better than the best.
  void offer(Choice choice, const char* by) {
    CheckedChoice figures = check_choice(problem_, choice);
    if (!figures.ok() || figures.stored_bytes > problem_.byte_limit() || figures.dag_cost >= cost)
      return;
    trim(problem_, choice);
    best = std::move(choice);
    cost = figures.dag_cost;
    algorithm = by;
  }

  /// True if there is nothing to decide: one node in every class.
  bool settled() const {
    for (uint32_t c = 0; c < problem_.class_count(); ++c)
      if (problem_.nodes({c}).size() > 1) return false;
    return true;
  }

  /// Tries to prove the best, or what it finds to be better, without CBC. Counts end it long before
  /// the clock does: some hundredths of a second.
  bool prove_small() {
    constexpr int64_t kSteps = 200, kTreeNodes = 300, kIterations = 2'000;
    if (!best || problem_.node_count() > options_.small_nodes ||
        problem_.byte_limit() != kInfiniteCost)
      return false;
    auto take_exact = [&](const Choice& choice, double) { offer(choice, "exact-search"); };
    auto raise = [&](double by) { bound = std::max(bound, by); };
    auto left = [&] { return seconds_ - watch_.seconds(); };
    BranchCutLimits tree{left(), kTreeNodes, INT64_MAX, kIterations};
    std::vector<double> seen;
    auto take = [&](const MipResult& known) {
      raise(known.bound);
      if (known.solution == seen) return asked_to_stop_();
      seen = known.solution;
      offer(choice_of(problem_, seen), "branch-and-cut");
      return asked_to_stop_();
    };
    MipResult result = solve_small_problem(problem_, cost, tree, take);
    take(result);
    if (result.status == MipStatus::Optimal) return true;
    BranchCutLimits exact{left(), kSteps};
    return exact_search(problem_, cost, exact, {take_exact, raise, asked_to_stop_}).proven;
  }

  void search() {
    MipModel model = make_ilp(problem_, options_.cycles, asked_to_stop_);
    if (asked_to_stop_()) return stop("it was asked to stop");
    for (int round = 0; round < options_.max_rounds; ++round) {
      double left = seconds_ - watch_.seconds();
      if (left <= 0) return stop(kTimeLimit);
      set_start(model);
      auto stop_mip = [this](const MipResult&) { return asked_to_stop_(); };
      MipResult result = solve_mip(model, {left, options_.memory_limit_bytes, stop_mip});
      bound = std::max(bound, result.bound);
      if (!result.relaxation.empty()) round_off(result.relaxation);
      if (result.solution.empty()) return stop(result.why);
      if (take(result, model)) return;
    }
    stop("the limit on rounds of cuts");
  }

  /// True if the search is over; else cuts were added.
  bool take(const MipResult& result, MipModel& model) {
    Choice choice = read_choice(problem_, result.solution);
    auto cycles = find_cycles(problem_, choice);
    for (const auto& cycle : cycles) forbid_cycle(problem_, cycle, model);
    if (!cycles.empty()) {
      round_off(result.solution);
      return false;
    }
    offer(std::move(choice), "ilp");
    if (result.status != MipStatus::Optimal) stop(result.why);
    return true;
  }

  /// Greedy under costs that are small for what the relaxation (or a cyclic solution) chose.
  void round_off(llvm::ArrayRef<double> x) {
    constexpr double kFloor = 1e-3; // what is chosen still costs something: no needless nodes
    std::vector<double> costs(problem_.node_count());
    for (uint32_t n = 0; n < costs.size(); ++n)
      costs[n] = problem_.cost({n}) * std::max(kFloor, 1 - std::clamp(x[n], 0.0, 1.0));
    if (std::optional<Choice> choice = extract_greedy(problem_, costs, asked_to_stop_))
      offer(std::move(*choice), "rounding");
  }

  /// The best choice so far. Only where all columns are nodes: the solver cannot be told a part.
  void set_start(MipModel& model) const {
    model.start.clear();
    if (!best || model.columns() != problem_.node_count()) return;
    model.start.assign(model.columns(), 0.0);
    for (NodeIx node : best->node)
      if (node.valid()) model.start[node.index] = 1;
  }

  void stop(const std::string& why) { stopped = why; }

  const ExtractionProblem& problem_;
  const IlpOptions& options_;
  double seconds_;
  llvm::function_ref<bool()> asked_to_stop_;
  Stopwatch watch_;
};

class IlpExtraction {
public:
  IlpExtraction(const ExtractionProblem& problem, const IlpOptions& options)
      : problem_(problem), options_(options) {}

  Result<Extraction> run() {
    GreedyResult greedy = greedy_trees(problem_); // takes little, and is an answer
    for (ClassIx root : problem_.roots())
      if (!greedy.choice[root].valid()) return no_solution(problem_, greedy);
    if (std::optional<Choice> start = greedy_choice(greedy)) offer(*start, "greedy");
    if (options_.start) offer(*options_.start, "start");
    if (auto reduced = reduce(problem_, greedy, [this] { return over(); })) {
      if (std::optional<Choice> choice = solve_parts(reduced->problem))
        offer(reduced->expand(problem_, *choice), algorithm_.c_str());
    } else {
      bound_ = least_cost(problem_);
      stopped_ = kTimeLimit;
    }
    if (!best_) return no_solution(problem_, greedy);
    finish();
    return std::move(*best_);
  }

private:
  bool over() { return watch_.seconds() >= options_.time_limit_s || asked_to_stop(); }

  /// What is known of a part says nothing of the whole.
  bool asked_to_stop() { return best_ ? stop_(best_->dag_cost, best_->lower_bound) : stop_(); }

  /// Greedy's trees once more only where bytes have to be priced.
  std::optional<Choice> greedy_choice(const GreedyResult& greedy) const {
    if (problem_.byte_limit() != kInfiniteCost) return extract_greedy(problem_);
    Choice choice = greedy.choice;
    trim(problem_, choice);
    return choice;
  }

  void offer(const Choice& choice, const char* algorithm) {
    CheckedChoice figures = check_choice(problem_, choice);
    if (!figures.ok() || figures.stored_bytes > problem_.byte_limit()) return;
    if (best_ && figures.dag_cost >= best_->dag_cost) return;
    best_ = checked_answer(problem_, choice, algorithm);
  }

  /// Each part in its turn, with the share of the time left that its size is of the nodes left.
  std::optional<Choice> solve_parts(const ExtractionProblem& problem) {
    Choice whole(problem.class_count());
    bool complete = true;
    size_t left = problem.node_count();
    algorithm_ = "greedy";
    constexpr size_t kSmall = 300; // nodes; each solver costs a process
    auto stop = [this] { return asked_to_stop(); };
    for (Part& part : take_apart(problem, kSmall)) {
      double share = static_cast<double>(part.problem.node_count()) / static_cast<double>(left);
      left -= part.problem.node_count();
      Solver solver(part.problem, options_, share * (options_.time_limit_s - watch_.seconds()),
                    stop);
      solver.run();
      bound_ += solver.bound;
      if (!solver.stopped.empty()) stopped_ = solver.stopped;
      if (solver.algorithm != "greedy") algorithm_ = solver.algorithm;
      complete &= solver.best.has_value();
      if (!solver.best) continue;
      for (NodeIx node : solver.best->node) {
        if (!node.valid()) continue;
        NodeIx origin = part.origin[node.index];
        whole.node[problem.class_of(origin).index] = origin;
      }
    }
    if (!complete) return std::nullopt;
    return whole;
  }

  void finish() {
    // Sums in another order, and the solver's own tolerance.
    double tolerance = 1e-7 * std::max(1.0, std::abs(best_->dag_cost));
    best_->lower_bound = std::min(bound_, best_->dag_cost);
    best_->optimal = best_->dag_cost - best_->lower_bound <= tolerance;
    if (best_->optimal) {
      best_->lower_bound = best_->dag_cost;
      best_->algorithm = "ilp"; // whoever found it first: this proved it
    }
    best_->seconds = watch_.seconds();
    best_->out_of_time = !best_->optimal && stopped_ == kTimeLimit;
    if (!stopped_.empty() && !best_->optimal)
      best_->note = llvm::formatv("ilp: {0}; the answer is by {1}", stopped_, best_->algorithm);
  }

  const ExtractionProblem& problem_;
  const IlpOptions& options_;
  Stopwatch watch_;
  StopQuestion stop_{options_};
  std::optional<Extraction> best_;
  double bound_ = 0;
  std::string stopped_, algorithm_;
};

/// Tells whether the byte limit can be left out, since what is best without keeps to it.
std::optional<Extraction> solve_unbounded(const ExtractionProblem& problem,
                                          const IlpOptions& options) {
  ExtractionProblem unbounded = problem;
  unbounded.set_byte_limit(kInfiniteCost);
  Result<Extraction> best = IlpExtraction(unbounded, options).run();
  if (!best || check_choice(problem, best->choice).stored_bytes > problem.byte_limit())
    return std::nullopt;
  return std::move(*best);
}

} // namespace

Result<Extraction> extract_by_ilp(const ExtractionProblem& problem, const IlpOptions& options) {
  IlpOptions left = options;
  if (problem.byte_limit() != kInfiniteCost) {
    // Rarely does the limit bind, and without it the problem falls into parts.
    left.time_limit_s /= 2;
    if (std::optional<Extraction> best = solve_unbounded(problem, left)) return std::move(*best);
  }
  return IlpExtraction(problem, left).run();
}

} // namespace tg
