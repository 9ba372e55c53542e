// Classes are renumbered for the sets, children before users except on cycles, so that related
// classes share blocks.
//
// A node whose set contains its own class is rejected. Sets of users that have not been updated yet
// may be stale, so in rare cases a cycle closes nevertheless. Then greedy with low costs for the
// chosen nodes repairs the choice.

#include "compiler/extract/answer.h"
#include "compiler/extract/greedy/dag_sets.h"
#include "compiler/extract/greedy/greedy.h"
#include "compiler/extract/greedy/worklist.h"
#include "compiler/extract/problem.h"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace tg {

namespace {

class DagWorklist {
public:
  DagWorklist(const ExtractionProblem& problem, const GreedyDagLimits& limits)
      : problem_(problem), limits_(limits),
        trees_(limits.trees ? *limits.trees : greedy_trees(problem)), place_(number_classes()),
        sets_(problem.class_count()), set_(problem.class_count(), DagSets::kEmpty),
        cost_(problem.class_count(), kInfiniteCost), choice_(problem.class_count()),
        updates_(problem.class_count()), worklist_(problem, NodeWorklist::Order::ChildrenFirst) {}

  std::optional<GreedyDagResult> run() {
    over_a_limit(); // numbering a million classes takes some time
    for (ClassIx root : problem_.roots())
      if (!trees_.choice[root].valid()) return std::nullopt;
    for (size_t steps = 0; !worklist_.empty() && stopped_.empty(); ++steps) {
      if (steps % 256 == 0 && over_a_limit()) break;
      update(worklist_.pop());
    }
    return finish();
  }

private:
  std::vector<ClassIx> number_classes() const {
    std::vector<ClassIx> place(problem_.class_count());
    uint32_t next = 0;
    for (ClassIx cls : children_first(problem_)) place[cls.index] = {next++};
    return place;
  }

  bool over_a_limit() {
    if (sets_.bytes() > limits_.memory_bytes) stopped_ = "the memory limit";
    std::chrono::duration<double> taken = std::chrono::steady_clock::now() - started_;
    if (taken.count() > limits_.seconds) stopped_ = "the time limit";
    if (limits_.stop && limits_.stop()) stopped_ = "an interruption";
    return !stopped_.empty();
  }

  void update(NodeIx node) {
    ClassIx cls = problem_.class_of(node);
    double& best = cost_[cls.index];
    if (!may_improve(node, best)) return;
    DagSets::Mark mark = sets_.mark();
    DagSets::Set needed = DagSets::kEmpty;
    for (ClassIx child : problem_.children(node)) needed = sets_.unite(needed, set_[child.index]);
    double cost = problem_.cost(node) + sets_.cost(needed);
    if (!gains(cost, best) || sets_.contains(needed, place_[cls.index]) ||
        updates_[cls.index] == kMostUpdates)
      return sets_.release(mark);
    bool first = best == kInfiniteCost;
    best = cost;
    choice_.node[cls.index] = node;
    sets_.set_cost(place_[cls.index], problem_.cost(node));
    set_[cls.index] = sets_.insert(needed, place_[cls.index]);
    ++updates_[cls.index];
    worklist_.update_users(cls, first);
  }

  /// Returns false if the union cannot be cheap enough: without rewards it costs at least as much
  /// as its most expensive part.
  bool may_improve(NodeIx node, double best) const {
    if (problem_.has_rewards()) return true;
    double least = 0;
    for (ClassIx child : problem_.children(node))
      least = std::max(least, sets_.cost(set_[child.index]));
    return gains(problem_.cost(node) + least, best);
  }

  /// Returns true for an improvement beyond rounding; sums in another order are not one.
  static bool gains(double cost, double best) {
    if (best == kInfiniteCost) return cost < best;
    return cost < best - 1e-12 * std::max(std::abs(best), 1e-300);
  }

  std::optional<GreedyDagResult> finish() {
    GreedyDagResult out;
    out.stopped = stopped_;
    // Classes without a set keep greedy's node.
    for (uint32_t c = 0; c < choice_.node.size(); ++c)
      if (!choice_.node[c].valid()) choice_.node[c] = trees_.choice.node[c];
    CheckedChoice figures = check_choice(problem_, choice_);
    bool bytes = figures.ok() && figures.stored_bytes <= problem_.byte_limit();
    std::optional<Choice> sound =
        bytes ? std::move(choice_) : extract_greedy_near(problem_, choice_);
    if (!sound) return std::nullopt;
    out.choice = std::move(*sound);
    trim(problem_, out.choice);
    DagSets::Set all = DagSets::kEmpty;
    for (ClassIx root : problem_.roots()) all = sets_.unite(all, set_[root.index]);
    out.reported_cost = sets_.cost(all);
    return out;
  }

  static constexpr uint16_t kMostUpdates = 1000; // of one class; with rewards they could be endless

  const ExtractionProblem& problem_;
  GreedyDagLimits limits_;
  GreedyResult trees_;
  std::vector<ClassIx> place_; // by class: its number in the sets
  DagSets sets_;
  std::vector<DagSets::Set> set_; // by class: the classes that its choice needs, including itself
  std::vector<double> cost_;      // by class: cost of its set when it was made
  Choice choice_;
  std::vector<uint16_t> updates_; // by class
  NodeWorklist worklist_;
  std::string stopped_;
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
};

} // namespace

std::optional<GreedyDagResult> greedy_dag(const ExtractionProblem& problem,
                                          const GreedyDagLimits& limits) {
  return DagWorklist(problem, limits).run();
}

Result<Extraction> extract_by_greedy_dag(const ExtractionProblem& problem,
                                         const IlpOptions& options) {
  Stopwatch watch;
  GreedyDagLimits limits;
  limits.seconds = options.time_limit_s;
  limits.stop = [stop = StopPoll(options)]() mutable { return stop(); };
  std::optional<GreedyDagResult> found = greedy_dag(problem, limits);
  std::string stopped = found ? found->stopped : "";
  Result<Extraction> out = answer_of(problem, std::move(found), "greedy-dag", watch);
  if (out && !stopped.empty()) out->note = "greedy-dag was stopped by " + stopped;
  return out;
}

} // namespace tg
