// The loop around the solver: greedy first (the answer if all else fails, and the solver's start),
// reduce, solve, read the choice off the solution; where it has a cycle, forbid that cycle and
// solve again in the time that is left. The relaxation is rounded too: greedy under costs that are
// small where the relaxation chose, so that its choices are acyclic by construction.
#include "compiler/extract/ilp.h"

#include "compiler/extract/reduce.h"
#include "compiler/extract/solver_process.h"

#include <llvm/Support/FormatVariadic.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>

namespace tg {

namespace {

class Stopwatch {
public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

Diagnostic no_solution(const ExtractionProblem& problem, const GreedyResult& greedy) {
  for (ClassIx root : problem.roots())
    if (!greedy.choice[root].valid())
      return error(Code::no_solution,
                   "class {0}, a root, has no finite-cost node whose operands can be extracted",
                   root.index);
  return error(Code::no_solution, "no choice stores at most {0} bytes", problem.byte_limit());
}

/// Fills in what the checker says of the choice.
Extraction checked(const ExtractionProblem& problem, Choice choice, std::string algorithm) {
  Extraction out;
  CheckedChoice figures = check_choice(problem, choice);
  assert(figures.ok() && "extractors hand over sound choices");
  trim(problem, choice);
  out.choice = std::move(choice);
  out.dag_cost = figures.dag_cost;
  out.tree_cost = figures.tree_cost;
  out.algorithm = std::move(algorithm);
  return out;
}

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

class IlpExtraction {
public:
  IlpExtraction(const ExtractionProblem& problem, const IlpOptions& options)
      : problem_(problem), options_(options) {}

  Result<Extraction> run() {
    GreedyResult greedy = greedy_trees(problem_);
    for (ClassIx root : problem_.roots())
      if (!greedy.choice[root].valid()) return no_solution(problem_, greedy);
    reduced_ = reduce(problem_, greedy);
    std::optional<Choice> start = extract_greedy(problem_);
    if (start) best_ = checked(problem_, std::move(*start), "greedy");
    std::optional<Choice> reduced_start = extract_greedy(reduced_.problem);
    if (reduced_start) offer(*reduced_start, "greedy");
    offer_start();
    search();
    if (!best_) return no_solution(problem_, greedy);
    finish();
    return std::move(*best_);
  }

private:
  const ExtractionProblem& small() const { return reduced_.problem; }

  /// Takes the choice of the reduced problem if it is sound and better than the best.
  void offer(const Choice& choice, const char* algorithm) {
    Choice full = reduced_.expand(problem_, choice);
    CheckedChoice figures = check_choice(problem_, full);
    if (!figures.ok() || figures.stored_bytes > problem_.byte_limit()) return;
    if (best_ && figures.dag_cost >= best_->dag_cost) return;
    best_ = checked(problem_, std::move(full), algorithm);
    best_small_ = choice;
  }

  void offer_start() {
    if (!options_.start) return;
    CheckedChoice figures = check_choice(problem_, *options_.start);
    if (!figures.ok() || figures.stored_bytes > problem_.byte_limit()) return;
    if (best_ && figures.dag_cost >= best_->dag_cost) return;
    best_ = checked(problem_, *options_.start, "start");
  }

  /// True if there is nothing to decide: one node in every class.
  bool settled() const {
    for (uint32_t c = 0; c < small().class_count(); ++c)
      if (small().nodes({c}).size() > 1) return false;
    return true;
  }

  void search() {
    if (best_ && settled()) {
      bound_ = best_->dag_cost;
      return;
    }
    MipModel model = make_ilp(small(), reduced_.forced, options_.cycles);
    size_t columns_of_nodes = small().node_count();
    for (int round = 0; round < options_.max_rounds; ++round) {
      double left = options_.time_limit_s - watch_.seconds();
      if (left <= 0) return stop("the time limit");
      set_start(model, columns_of_nodes);
      MipResult result = solve_mip(model, {left, options_.memory_limit_bytes});
      bound_ = std::max(bound_, result.bound);
      if (!result.relaxation.empty()) round_relaxation(result.relaxation);
      if (result.solution.empty()) return stop(result.why);
      if (take(result, model)) return;
    }
    stop("the limit on rounds of cuts");
  }

  /// True if the search is over; else cuts were added.
  bool take(const MipResult& result, MipModel& model) {
    Choice choice = read_choice(small(), result.solution);
    offer(choice, "ilp");
    auto cycles = find_cycles(small(), choice);
    for (const auto& cycle : cycles) forbid_cycle(small(), cycle, model);
    if (!cycles.empty()) return repair(result.solution), false;
    if (result.status != MipStatus::Optimal) stop(result.why);
    return true;
  }

  /// Greedy under costs that are small for what the relaxation (or a cyclic solution) chose.
  void round_relaxation(llvm::ArrayRef<double> x) {
    constexpr double kFloor = 1e-3; // what is chosen still costs something: no needless nodes
    std::vector<double> costs(small().node_count());
    for (uint32_t n = 0; n < costs.size(); ++n)
      costs[n] = small().cost({n}) * std::max(kFloor, 1 - std::clamp(x[n], 0.0, 1.0));
    if (std::optional<Choice> choice = extract_greedy(small(), costs)) offer(*choice, "rounding");
  }
  void repair(llvm::ArrayRef<double> x) { round_relaxation(x); }

  /// The best choice so far as the solver's start. Only where all columns are nodes: the solver
  /// cannot be told a part.
  void set_start(MipModel& model, size_t columns_of_nodes) const {
    model.start.clear();
    if (!best_small_ || model.columns() != columns_of_nodes) return;
    model.start.assign(columns_of_nodes, 0.0);
    Choice trimmed = *best_small_;
    trim(small(), trimmed);
    for (NodeIx node : trimmed.node)
      if (node.valid()) model.start[node.index] = 1;
  }

  void stop(const std::string& why) { stopped_ = why; }

  void finish() {
    // Sums in another order, and the solver's own tolerance.
    double tolerance = 1e-7 * std::max(1.0, best_->dag_cost);
    best_->lower_bound = std::clamp(bound_, 0.0, best_->dag_cost);
    best_->optimal = best_->dag_cost - best_->lower_bound <= tolerance;
    if (best_->optimal) {
      best_->lower_bound = best_->dag_cost;
      best_->algorithm = "ilp"; // whoever found it first: this proved it
    }
    best_->seconds = watch_.seconds();
    if (!stopped_.empty() && !best_->optimal)
      best_->note = llvm::formatv("ilp: {0}; the answer is by {1}", stopped_, best_->algorithm);
  }

  const ExtractionProblem& problem_;
  const IlpOptions& options_;
  Stopwatch watch_;
  ReducedProblem reduced_;
  std::optional<Extraction> best_;
  std::optional<Choice> best_small_; // the best as a choice of the reduced problem
  double bound_ = 0;
  std::string stopped_;
};

} // namespace

Result<Extraction> extract_by_greedy(const ExtractionProblem& problem) {
  Stopwatch watch;
  std::optional<Choice> choice = extract_greedy(problem);
  if (!choice) return no_solution(problem, greedy_trees(problem));
  Extraction out = checked(problem, std::move(*choice), "greedy");
  out.seconds = watch.seconds();
  return out;
}

Result<Extraction> extract_by_ilp(const ExtractionProblem& problem, const IlpOptions& options) {
  return IlpExtraction(problem, options).run();
}

} // namespace tg
