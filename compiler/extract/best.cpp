// The portfolio: the best choice that can be had in a time, and a certified bound beside it.
//
//   1. greedy on trees and on distinct nodes; a start that is known
//   2. reductions, and the independent parts of what is left (reduce.h, parts.h)
//   3. in each part: local search on the DAG cost (sharing.h), exact search (exact_search.h), where
//      these settle nothing simulated annealing (annealing.h), then branch and cut (branch_cut.h),
//      small parts at once, larger ones in the solver's process with their share of the time
//   4. CBC on the parts that are still open, for its cuts are of other kinds; then the tree again
//
// The bound is the sum over the parts of what their relaxations, cuts and trees certify. At any
// moment there is a choice: `options.stop` is told what it costs and can end the work with it.
#include "compiler/extract/extractors.h"

#include "compiler/extract/annealing.h"
#include "compiler/extract/answer.h"
#include "compiler/extract/greedy_dag.h"
#include "compiler/extract/sharing.h"
#include "compiler/extract/solver/branch_cut.h"
#include "compiler/extract/solver/components.h"
#include "compiler/extract/solver/exact_search.h"
#include "compiler/extract/solver/parts.h"
#include "compiler/extract/solver/process.h"
#include "compiler/extract/solver/reduce.h"

#include <llvm/Support/FormatVariadic.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tg {

namespace {

/// One part, its best choice so far, and what is certain about it.
struct OpenPart {
  Part part;
  std::optional<Choice> best;
  double cost = kInfiniteCost, bound = -kInfiniteCost;
  const char* algorithm = "greedy";
  bool proven = false;

  const ExtractionProblem& problem() const { return part.problem; }

  void offer(std::optional<Choice> choice, const char* by) {
    if (!choice) return;
    CheckedChoice figures = check_choice(problem(), *choice);
    if (!figures.ok() || figures.dag_cost >= cost) return;
    trim(problem(), *choice);
    best = std::move(choice);
    cost = figures.dag_cost;
    algorithm = by;
  }
  void raise(double by) { bound = std::max(bound, std::min(by, cost)); }
  void prove() {
    proven = true;
    bound = cost;
  }
};

class Portfolio {
public:
  Portfolio(const ExtractionProblem& problem, const IlpOptions& options)
      : problem_(problem), options_(options) {}

  Result<Extraction> run() {
    GreedyResult greedy = greedy_trees(problem_);
    for (ClassIx root : problem_.roots())
      if (!greedy.choice[root].valid()) return no_solution(problem_, greedy);
    offer(greedy.choice, "greedy");
    if (options_.start) offer(*options_.start, "start");
    if (!over()) share_greedily(greedy);
    std::optional<ReducedProblem> reduced = reduce(problem_, greedy, [this] { return over(); });
    if (reduced && open_parts(*reduced)) {
      work_on_parts();
      Choice together = put_together(reduced->problem); // and algorithm_
      offer(reduced->expand(problem_, together), algorithm_);
    }
    return finish();
  }

private:
  // Of the time that is left when it is their turn.
  static constexpr double kShareOfGreedy = 0.2, kShareOfLocal = 0.1, kShareOfExact = 0.3,
                          kShareOfAnnealing = 0.3;
  // CBC does not know what is founded, but has more kinds of cuts.
  static constexpr double kShareOfTree = 0.25, kShareOfCyclicTree = 0.9;

  void work_on_parts() {
    each_part([&](OpenPart& part, double seconds) { search_locally(part, seconds); });
    each_part([&](OpenPart& part, double seconds) { anneal(part, seconds); });
    each_part([&](OpenPart& part, double seconds) {
      grow_tree(part,
                (mostly_cyclic(part.problem()) ? kShareOfCyclicTree : kShareOfTree) * seconds);
    });
    each_part([&](OpenPart& part, double seconds) { ask_cbc(part, seconds); });
    // CBC gives up early where its bound is poor.
    each_part([&](OpenPart& part, double seconds) { grow_tree(part, seconds); });
  }

  double left() const {
    return asked_to_stop_ ? 0 : options_.time_limit_s - reserved_s_ - watch_.seconds();
  }
  bool over() { return asked_to_stop() || left() <= 0; }

  void offer(std::optional<Choice> choice, const char* algorithm) {
    if (!choice) return;
    CheckedChoice figures = check_choice(problem_, *choice);
    if (!figures.ok() || (best_ && figures.dag_cost >= best_->dag_cost)) return;
    best_ = checked_answer(problem_, std::move(*choice), algorithm);
    asked_to_stop();
  }

  /// Tells whoever wants to know where things stand; true if the work is to end.
  bool asked_to_stop() {
    constexpr double kEvery = 0.1; // seconds, where nothing has changed
    if (!options_.stop || asked_to_stop_) return asked_to_stop_;
    double cost = best_->dag_cost, bound = best_->lower_bound;
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
    limits.stop = [this] { return asked_to_stop(); };
    if (auto dag = greedy_dag(problem_, limits)) offer(std::move(dag->choice), "greedy-dag");
  }

  /// False if the time was over before all were open.
  bool open_parts(const ReducedProblem& reduced) {
    Choice known(reduced.problem.class_count()); // the best so far, as far as it is in the rest
    for (uint32_t n = 0; n < reduced.origin.size(); ++n)
      if (best_->choice[problem_.class_of(reduced.origin[n])] == reduced.origin[n])
        known.node[reduced.problem.class_of({n}).index] = {n};
    for (Part& part : take_apart(reduced.problem, 0)) {
      if (over()) return false;
      OpenPart& open = parts_.emplace_back();
      open.part = std::move(part);
      const ExtractionProblem& problem = open.problem();
      open.raise(sum_of_rewards(problem));
      auto stop = [this] { return over(); };
      open.offer(extract_greedy(problem, stop), "greedy");
      if (problem.node_count() == problem.class_count() && open.best) {
        open.prove();
        continue;
      }
      const char* by = best_->algorithm == "start" ? "start" : "greedy-dag";
      Choice projected = open.part.project(reduced.problem, known);
      if (check_choice(problem, projected).ok())
        open.offer(std::move(projected), by);
      else
        open.offer(extract_greedy_near(problem, projected, stop), by);
    }
    // What is done after the last part takes as long as what was done before the first.
    reserved_s_ = std::min(kMostReserved * options_.time_limit_s, kReserved * watch_.seconds());
    return true;
  }

  static constexpr double kLeastShare = 1e-4; // seconds

  /// Open parts, small ones first, each with its share of the time that is left by its size.
  template <class Work> void each_part(Work work) {
    std::vector<uint32_t> order;
    double nodes = 0;
    for (uint32_t i = 0; i < parts_.size(); ++i) {
      if (parts_[i].proven || !parts_[i].best) continue;
      order.push_back(i);
      nodes += static_cast<double>(parts_[i].problem().node_count());
    }
    llvm::stable_sort(order, [&](uint32_t a, uint32_t b) {
      return parts_[a].problem().node_count() < parts_[b].problem().node_count();
    });
    sum_up();
    for (uint32_t i : order) {
      double size = static_cast<double>(parts_[i].problem().node_count());
      double seconds = left() * size / nodes;
      nodes -= size;
      if (seconds <= kLeastShare || asked_to_stop()) break;
      look_at(&parts_[i]);
      work(parts_[i], seconds);
    }
    look_at(nullptr);
  }

  /// Of all parts but the one that is worked on: with hundred thousands of them, asking whether to
  /// stop must not add them up each time.
  void look_at(const OpenPart* part) {
    if (part_) {
      others_cost_ += part_->cost;
      others_bound_ += part_->bound;
    }
    part_ = part;
    if (!part_) return;
    others_cost_ -= part_->cost;
    others_bound_ -= part_->bound;
  }

  void sum_up() {
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
    auto stop = [&] { return asked_to_stop(); };
    if (improve_by_sharing(problem, choice, kShareOfLocal * seconds, stop))
      part.offer(std::move(choice), "sharing");
    auto take = [&](const Choice& found, double) { part.offer(found, "exact-search"); };
    auto raise = [&](double bound) { part.raise(bound); };
    double exact_s = kShareOfExact * seconds;
    if (exact_search(problem, part.cost, {exact_s}, {take, raise, stop}).proven)
      return part.prove();
    if (problem.node_count() > kSmall) return;
    grow_tree(part, [&](auto stop) {
      return solve_small_problem(problem, part.cost, {std::min(seconds, 1.0), kSmallTree}, stop);
    });
  }

  /// For what neither greedy's moves nor an exact search has settled.
  void anneal(OpenPart& part, double seconds) {
    constexpr uint64_t kMovesForEachNode = 4'000;
    AnnealLimits limits{kShareOfAnnealing * seconds,
                        kMovesForEachNode * part.problem().node_count(), options_.seed};
    Choice choice = *part.best;
    if (improve_by_annealing(part.problem(), choice, limits, [&] { return asked_to_stop(); }))
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
    auto stop = [&](const MipResult& known) { return take(known), asked_to_stop(); };
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

  /// Not where its first relaxation would take all the time.
  void ask_cbc(OpenPart& part, double seconds) {
    constexpr double kSecondsForNode = 1e-4;
    if (seconds < kSecondsForNode * static_cast<double>(part.problem().node_count())) return;
    IlpOptions options = options_;
    options.time_limit_s = seconds;
    options.start = part.best;
    options.local_search = false; // it has been tried
    options.stop = [&](const ExtractionProgress&) { return asked_to_stop(); };
    Result<Extraction> answer = extract_by_ilp(part.problem(), options);
    if (!answer) return;
    part.raise(answer->lower_bound);
    if (answer->dag_cost < part.cost) part.offer(answer->choice, "ilp");
    if (answer->optimal) part.prove();
  }

  Choice put_together(const ExtractionProblem& reduced) {
    Choice whole(reduced.class_count());
    bound_ = 0;
    for (const OpenPart& part : parts_) {
      bound_ += part.bound;
      if (!part.best) continue;
      part.part.put_back(reduced, *part.best, whole);
      if (llvm::StringRef(part.algorithm) != "greedy") algorithm_ = part.algorithm;
    }
    return whole;
  }

  Result<Extraction> finish() {
    constexpr double kTolerance = 1e-7; // sums in another order, and the solver's own
    double tolerance = kTolerance * std::max(1.0, std::abs(best_->dag_cost));
    best_->lower_bound = std::min(std::max(bound_, best_->lower_bound), best_->dag_cost);
    best_->optimal = best_->dag_cost - best_->lower_bound <= tolerance;
    if (best_->optimal) best_->lower_bound = best_->dag_cost;
    best_->seconds = watch_.seconds();
    best_->out_of_time = !best_->optimal && why_open() == kTimeLimit;
    if (!best_->optimal)
      best_->note = llvm::formatv("best: {0}; the answer is by {1}", why_open(), best_->algorithm);
    return std::move(*best_);
  }

  llvm::StringRef why_open() const {
    if (asked_to_stop_) return "it was asked to stop";
    return stopped_.empty() ? llvm::StringRef(kTimeLimit) : llvm::StringRef(stopped_);
  }

  static constexpr size_t kSmall = 300;      // nodes: not worth a process of its own
  static constexpr int64_t kSmallTree = 200; // nodes of its tree
  static constexpr double kReserved = 0.3, kMostReserved = 0.2;

  const ExtractionProblem& problem_;
  const IlpOptions& options_;
  Stopwatch watch_;
  std::optional<Extraction> best_;
  std::vector<OpenPart> parts_;
  const OpenPart* part_ = nullptr; // that is worked on
  double others_cost_ = 0, others_bound_ = 0;
  bool summed_up_ = false;
  ExtractionProgress told_{0, kInfiniteCost, -kInfiniteCost}; // what whoever asked knows
  bool asked_to_stop_ = false;
  double reserved_s_ = 0; // for what is left to do at the end
  double bound_ = -kInfiniteCost;
  const char* algorithm_ = "greedy";
  std::string stopped_;
};

} // namespace

Result<Extraction> extract_best(const ExtractionProblem& problem, const IlpOptions& options) {
  if (problem.byte_limit() == kInfiniteCost) return Portfolio(problem, options).run();
  // Rarely does the limit bind, and without it the problem falls into parts.
  ExtractionProblem unbounded = problem;
  unbounded.set_byte_limit(kInfiniteCost);
  IlpOptions left = options;
  left.time_limit_s /= 2;
  Result<Extraction> best = Portfolio(unbounded, left).run();
  if (!best) return best;
  if (check_choice(problem, best->choice).stored_bytes <= problem.byte_limit()) return best;
  left.start = options.start;
  return extract_by_ilp(problem, left);
}

} // namespace tg
