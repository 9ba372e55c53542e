// The portfolio: the best choice that it finds within a time limit, with a certified lower bound.
//
//   1. Greedy on trees and on distinct nodes, and the given start.
//   2. Reductions; the reduced problem falls into independent parts (reduce.h, parts.h).
//   3. In each part: local search on the DAG cost (sharing.cpp), exact search (exact_search.h) and,
//      for parts that these do not solve, simulated annealing (annealing.h), then branch and cut
//      (branch_cut.h). Small parts are solved at once, larger ones in the solver's process with
//      their share of the time.
//   4. CBC on the parts that are still open, since it has other kinds of cuts (ilp.h); then branch
//      and cut again.
//
// `ilp` is the exact stage alone: greedy's choice, the parts, and CBC. Small parts are first tried
// without CBC, with a fixed amount of work, so that the result does not depend on the clock.
//
// The bound is the sum over the parts of the bounds that relaxations, cuts and trees certify. There
// is a choice at any moment: `options.stop` receives its cost and can end the work with it.
#include "compiler/extract/extractors.h"

#include "compiler/extract/annealing.h"
#include "compiler/extract/answer.h"
#include "compiler/extract/greedy/greedy.h"
#include "compiler/extract/problem.h"
#include "compiler/extract/solver/branch_cut.h"
#include "compiler/extract/solver/exact_search.h"
#include "compiler/extract/solver/parts.h"
#include "compiler/extract/solver/process.h"
#include "compiler/extract/solver/reduce.h"

#include <llvm/ADT/DenseSet.h>
#include <llvm/Support/FormatVariadic.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tg {

namespace {

/// The stages that run in a part.
enum class Stages : uint8_t { All, Exact };

/// Returns a lower bound that is known before any relaxation: the cheapest node of each root, and
/// all rewards.
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

/// One extraction in stages: both greedy algorithms, local search, and proofs part by part.
class StagedExtraction {
public:
  StagedExtraction(const ExtractionProblem& problem, const IlpOptions& options, Stages stages)
      : problem_(problem), options_(options), stages_(stages), bound_(least_cost(problem)) {}

  Result<Extraction> run() {
    GreedyResult greedy = greedy_trees(problem_);
    for (ClassIx root : problem_.roots())
      if (!greedy.choice[root].valid()) return no_solution(problem_, greedy);
    bool bytes = problem_.byte_limit() != kInfiniteCost; // byte limits need prices for bytes
    offer(bytes ? extract_greedy(problem_) : greedy.choice, "greedy");
    if (options_.start) offer(*options_.start, "start");
    if (stages_ == Stages::All && !over()) share_greedily(greedy);
    std::optional<ReducedProblem> reduced = reduce(problem_, greedy, [this] { return over(); });
    if (reduced && open_parts(*reduced)) {
      stages_ == Stages::All ? work_on_parts() : prove_parts();
      Choice together = combine_parts(reduced->problem); // also sets algorithm_
      offer(reduced->expand(problem_, together), algorithm_);
    }
    if (!best_) return no_solution(problem_, greedy);
    return finish();
  }

private:
  // Shares of the time that remains when the stage begins.
  static constexpr double kShareOfGreedy = 0.2, kShareOfLocal = 0.1, kShareOfExact = 0.3,
                          kShareOfAnnealing = 0.3;
  // CBC has no cuts for cycles, but more kinds of other cuts.
  static constexpr double kShareOfTree = 0.25, kShareOfCyclicTree = 0.9;

  void work_on_parts() {
    each_part([&](OpenPart& part, double seconds) { search_locally(part, seconds); });
    each_part([&](OpenPart& part, double seconds) { anneal(part, seconds); });
    each_part([&](OpenPart& part, double seconds) {
      grow_tree(part,
                (mostly_cyclic(part.problem()) ? kShareOfCyclicTree : kShareOfTree) * seconds);
    });
    each_part([&](OpenPart& part, double seconds) { solve_with_cbc(part, seconds); });
    // CBC gives up early on a poor bound.
    each_part([&](OpenPart& part, double seconds) { grow_tree(part, seconds); });
  }

  void prove_parts() {
    each_part([&](OpenPart& part, double seconds) {
      if (part.best && part.problem().node_count() <= options_.small_nodes) prove(part, seconds);
      if (part.proven) return;
      std::string why = solve_ilp(part, options_, seconds, [&] { return stop_requested(); });
      if (!why.empty()) stopped_ = why;
    });
  }

  /// Tries to prove the part without CBC. The fixed amounts of work end it within hundredths of a
  /// second, long before the time limit.
  void prove(OpenPart& part, double seconds) {
    constexpr int64_t kSteps = 200, kTreeNodes = 300, kIterations = 2'000;
    if (part.problem().byte_limit() != kInfiniteCost) return;
    grow_tree(part, [&](auto stop) {
      return solve_small_problem(part.problem(), part.cost,
                                 {seconds, kTreeNodes, INT64_MAX, kIterations}, stop);
    });
    if (!part.proven) search_exactly(part, {seconds, kSteps});
  }

  double left() const {
    return asked_to_stop_ ? 0 : options_.time_limit_s - reserved_s_ - watch_.seconds();
  }
  bool over() { return stop_requested() || left() <= 0; }

  void offer(std::optional<Choice> choice, std::string algorithm) {
    if (!choice) return;
    CheckedChoice figures = check_choice(problem_, *choice);
    if (!figures.ok() || figures.stored_bytes > problem_.byte_limit()) return;
    if (best_ && figures.dag_cost >= best_->dag_cost) return;
    best_ = checked_answer(problem_, std::move(*choice), std::move(algorithm));
    stop_requested();
  }

  /// Reports progress. Returns true if the work has to end.
  bool stop_requested() {
    constexpr double kEvery = 0.02; // seconds; memory grows by some ten MB in that time
    if (!options_.stop || asked_to_stop_) return asked_to_stop_;
    double cost = best_ ? best_->dag_cost : kInfiniteCost;
    double bound = best_ ? best_->lower_bound : -kInfiniteCost;
    if (summed_up_) {
      cost = std::min(cost, others_cost_ + (part_ ? part_->cost : 0));
      bound = others_bound_ + (part_ ? part_->bound : 0);
    }
    cost = std::min(cost, told_.dag_cost);
    bound = std::max(std::min(cost, bound), told_.lower_bound);
    bool changed = cost != told_.dag_cost || bound != told_.lower_bound;
    if (!changed && watch_.seconds() - told_.seconds < kEvery) return false;
    told_ = {watch_.seconds(), cost, bound};
    return asked_to_stop_ = options_.stop(told_);
  }

  void share_greedily(const GreedyResult& trees) {
    GreedyDagLimits limits;
    limits.trees = &trees;
    limits.seconds = kShareOfGreedy * left();
    limits.stop = [this] { return stop_requested(); };
    if (auto dag = greedy_dag(problem_, limits)) offer(std::move(dag->choice), "greedy-dag");
  }

  /// Opens the independent parts. Returns false if the time ran out before all were open.
  bool open_parts(const ReducedProblem& reduced) {
    Choice known(reduced.problem.class_count()); // the best, in the reduced problem
    for (uint32_t n = 0; best_ && n < reduced.origin.size(); ++n)
      if (best_->choice[problem_.class_of(reduced.origin[n])] == reduced.origin[n])
        known.node[reduced.problem.class_of({n}).index] = {n};
    constexpr size_t kProcess = 300; // nodes; each solver run needs a process
    for (Part& part : split_into_parts(reduced.problem, stages_ == Stages::All ? 0 : kProcess)) {
      if (over()) return false;
      OpenPart& open = parts_.emplace_back();
      open.part = std::move(part);
      const ExtractionProblem& problem = open.problem();
      open.raise(least_cost(problem));
      auto stop = [this] { return over(); };
      open.offer(extract_greedy(problem, stop), "greedy");
      if (problem.node_count() == problem.class_count() && open.best) {
        open.prove();
        continue;
      }
      if (!best_) continue;
      Choice projected = open.part.project(reduced.problem, known);
      if (check_choice(problem, projected).ok())
        open.offer(std::move(projected), best_->algorithm);
      else
        open.offer(extract_greedy_near(problem, projected, stop), best_->algorithm);
    }
    // The work after the last part takes as long as the work before the first.
    reserved_s_ = std::min(kMostReserved * options_.time_limit_s, kReserved * watch_.seconds());
    return true;
  }

  static constexpr double kLeastShare = 1e-4; // seconds

  /// Visits the open parts, small ones first, each with a share of the remaining time by its size.
  template <class Work> void each_part(Work work) {
    std::vector<uint32_t> order;
    double nodes = 0;
    for (uint32_t i = 0; i < parts_.size(); ++i) {
      if (parts_[i].proven || (stages_ == Stages::All && !parts_[i].best)) continue;
      order.push_back(i);
      nodes += static_cast<double>(parts_[i].problem().node_count());
    }
    llvm::stable_sort(order, [&](uint32_t a, uint32_t b) {
      return parts_[a].problem().node_count() < parts_[b].problem().node_count();
    });
    sum_parts();
    for (uint32_t i : order) {
      double size = static_cast<double>(parts_[i].problem().node_count());
      double seconds = left() * size / nodes;
      nodes -= size;
      if (seconds <= kLeastShare || stop_requested()) break;
      select_part(&parts_[i]);
      work(parts_[i], seconds);
    }
    select_part(nullptr);
  }

  /// Keeps the sums over all parts except the current one: with hundreds of thousands of parts,
  /// polling must not add them up each time.
  void select_part(const OpenPart* part) {
    if (part_) {
      others_cost_ += part_->cost;
      others_bound_ += part_->bound;
    }
    part_ = part;
    if (!part_) return;
    others_cost_ -= part_->cost;
    others_bound_ -= part_->bound;
  }

  void sum_parts() {
    others_cost_ = others_bound_ = 0;
    summed_up_ = true;
    for (const OpenPart& part : parts_) {
      others_cost_ += part.cost;
      others_bound_ += part.bound;
    }
  }

  void search_locally(OpenPart& part, double seconds) {
    const ExtractionProblem& problem = part.problem();
    Choice choice = *part.best;
    auto stop = [&] { return stop_requested(); };
    if (improve_by_sharing(problem, choice, kShareOfLocal * seconds, stop))
      part.offer(std::move(choice), "sharing");
    search_exactly(part, {kShareOfExact * seconds});
    if (part.proven || problem.node_count() > kSmall) return;
    grow_tree(part, [&](auto stop) {
      return solve_small_problem(problem, part.cost, {std::min(seconds, 1.0), kSmallTree}, stop);
    });
  }

  void search_exactly(OpenPart& part, const BranchCutLimits& limits) {
    auto take = [&](const Choice& found, double) { part.offer(found, "exact-search"); };
    auto raise = [&](double bound) { part.raise(bound); };
    auto stop = [&] { return stop_requested(); };
    if (exact_search(part.problem(), part.cost, limits, {take, raise, stop}).proven) part.prove();
  }

  /// Anneals a part that neither greedy's moves nor an exact search has solved.
  void anneal(OpenPart& part, double seconds) {
    constexpr uint64_t kMovesForEachNode = 4'000;
    AnnealLimits limits{kShareOfAnnealing * seconds,
                        kMovesForEachNode * part.problem().node_count(), options_.seed};
    Choice choice = *part.best;
    if (improve_by_annealing(part.problem(), choice, limits, [&] { return stop_requested(); }))
      part.offer(std::move(choice), "annealing");
  }

  void grow_tree(OpenPart& part, double seconds) {
    grow_tree(part, [&](auto stop) {
      return solve_problem(part.problem(), part.cost, {seconds, options_.memory_limit_bytes, stop});
    });
  }

  template <class Solve> void grow_tree(OpenPart& part, Solve solve) {
    const ExtractionProblem& problem = part.problem();
    std::vector<double> seen;
    auto take = [&](const MipResult& known) {
      part.raise(known.bound);
      if (known.solution == seen) return;
      seen = known.solution;
      part.offer(choice_of(problem, seen), "branch-and-cut");
    };
    auto stop = [&](const MipResult& known) { return take(known), stop_requested(); };
    MipResult result = solve(stop);
    take(result);
    if (result.status == MipStatus::Optimal) part.prove();
    if (result.status == MipStatus::Failed) stopped_ = result.why;
  }

  static bool mostly_cyclic(const ExtractionProblem& problem) {
    constexpr double kMostly = 0.2;
    std::vector<int32_t> component = cyclic_components(problem);
    auto on_cycles = llvm::count_if(component, [](int32_t c) { return c >= 0; });
    return static_cast<double>(on_cycles) > kMostly * static_cast<double>(component.size());
  }

  /// Skips parts whose first relaxation would take all the time.
  void solve_with_cbc(OpenPart& part, double seconds) {
    constexpr double kSecondsForNode = 1e-4;
    if (seconds < kSecondsForNode * static_cast<double>(part.problem().node_count())) return;
    (void)solve_ilp(part, options_, seconds, [&] { return stop_requested(); });
  }

  Choice combine_parts(const ExtractionProblem& reduced) {
    Choice whole(reduced.class_count());
    bound_ = 0;
    for (const OpenPart& part : parts_) {
      bound_ += part.bound;
      if (!part.best) continue;
      part.part.copy_to_whole(reduced, *part.best, whole);
      if (part.algorithm != "greedy") algorithm_ = part.algorithm;
    }
    return whole;
  }

  Result<Extraction> finish() {
    best_->lower_bound = std::min(std::max(bound_, best_->lower_bound), best_->dag_cost);
    best_->optimal = bound_proves(best_->dag_cost, best_->lower_bound);
    if (best_->optimal) best_->lower_bound = best_->dag_cost;
    if (best_->optimal && stages_ == Stages::Exact)
      best_->algorithm = "ilp"; // `ilp` proved it, whichever algorithm found it first
    best_->seconds = watch_.seconds();
    best_->out_of_time = !best_->optimal && reason_not_proved() == kTimeLimit;
    if (!best_->optimal)
      best_->note = llvm::formatv("{0} was stopped by {1}; the result is from {2}",
                                  stages_ == Stages::All ? "best" : "ilp", reason_not_proved(),
                                  best_->algorithm);
    return std::move(*best_);
  }

  llvm::StringRef reason_not_proved() const {
    if (asked_to_stop_) return "an interruption";
    return stopped_.empty() ? llvm::StringRef(kTimeLimit) : llvm::StringRef(stopped_);
  }

  static constexpr size_t kSmall = 300;      // nodes; smaller parts do not justify a process
  static constexpr int64_t kSmallTree = 200; // nodes of the search tree
  static constexpr double kReserved = 0.3, kMostReserved = 0.2;

  const ExtractionProblem& problem_;
  const IlpOptions& options_;
  Stages stages_;
  Stopwatch watch_;
  std::optional<Extraction> best_;
  std::vector<OpenPart> parts_;
  const OpenPart* part_ = nullptr; // the current part
  double others_cost_ = 0, others_bound_ = 0;
  bool summed_up_ = false;
  ExtractionProgress told_{0, kInfiniteCost, -kInfiniteCost}; // last reported
  bool asked_to_stop_ = false;
  double reserved_s_ = 0; // reserved for the last steps
  double bound_;
  std::string algorithm_ = "greedy";
  std::string stopped_;
};

/// Solves without the byte limit first: it rarely binds, and without it the problem falls into
/// parts.
Result<Extraction> extract_in_parts(const ExtractionProblem& problem, const IlpOptions& options,
                                    Stages stages) {
  if (problem.byte_limit() == kInfiniteCost)
    return StagedExtraction(problem, options, stages).run();
  ExtractionProblem unbounded = problem;
  unbounded.set_byte_limit(kInfiniteCost);
  IlpOptions half = options;
  half.time_limit_s /= 2;
  Result<Extraction> best = StagedExtraction(unbounded, half, stages).run();
  if (!best || check_choice(problem, best->choice).stored_bytes <= problem.byte_limit())
    return best;
  return StagedExtraction(problem, half, Stages::Exact).run();
}

} // namespace

Result<Extraction> extract_best(const ExtractionProblem& problem, const IlpOptions& options) {
  return extract_in_parts(problem, options, Stages::All);
}

Result<Extraction> extract_by_ilp(const ExtractionProblem& problem, const IlpOptions& options) {
  return extract_in_parts(problem, options, Stages::Exact);
}

} // namespace tg
