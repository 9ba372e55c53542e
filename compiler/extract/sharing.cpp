#include "compiler/extract/annealing.h"

#include "compiler/extract/greedy/greedy.h"

#include <chrono>
#include <cmath>
#include <functional>
#include <optional>

namespace tg {

namespace {

class SharingSearch {
public:
  SharingSearch(const ExtractionProblem& problem, Choice& choice, double seconds,
                llvm::function_ref<bool()> stop)
      : problem_(problem), best_(choice), stop_(stop),
        cost_(check_choice(problem, choice).dag_cost), costs_(problem.node_count()),
        paid_(problem.class_count()),
        deadline_(Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                     std::chrono::duration<double>(seconds))) {
    for (uint32_t n = 0; n < costs_.size(); ++n) costs_[n] = problem.cost({n});
  }

  bool run() {
    std::vector<ClassIx> candidates = shareable();
    bool improved = false;
    for (bool again = true; again && !late_();) {
      again = false;
      for (ClassIx cls : candidates) {
        if (late_()) break;
        again |= flip(cls);
      }
      improved |= again;
    }
    return change_nodes() || improved;
  }

private:
  using Clock = std::chrono::steady_clock;

  /// Returns the classes that have a cost and could be shared by nodes of at least two classes.
  std::vector<ClassIx> shareable() const {
    std::vector<ClassIx> classes;
    for (uint32_t c = 0; c < problem_.class_count(); ++c) {
      llvm::ArrayRef<NodeIx> users = problem_.users({c});
      bool shared = llvm::any_of(users, [&](NodeIx user) {
        return !(problem_.class_of(user) == problem_.class_of(users.front()));
      });
      bool costs = llvm::any_of(problem_.nodes({c}), [&](NodeIx n) { return costs_[n.index] > 0; });
      if (shared && costs) classes.push_back({c});
    }
    return classes;
  }

  /// Sets the costs of a class's nodes: reduced by the cheapest node's cost if the class is paid
  /// for, otherwise unchanged.
  void set_paid(ClassIx cls, bool paid) {
    paid_[cls.index] = paid;
    double least = kInfiniteCost;
    for (NodeIx n : problem_.nodes(cls))
      if (problem_.usable(n)) least = std::min(least, problem_.cost(n));
    for (NodeIx n : problem_.nodes(cls))
      costs_[n.index] = problem_.usable(n) && paid ? problem_.cost(n) - least : problem_.cost(n);
  }

  bool flip(ClassIx cls) {
    set_paid(cls, !paid_[cls.index]);
    if (take(extract_greedy(problem_, costs_, late_))) return true;
    set_paid(cls, !paid_[cls.index]);
    return false;
  }

  /// Tries every other node of every class of the choice until none helps. Chosen nodes are nearly
  /// free, so greedy repairs the choice around each change.
  bool change_nodes() {
    bool improved = false;
    for (bool again = true; again && !late_();) {
      again = false;
      for (uint32_t c = 0; c < problem_.class_count(); ++c)
        for (NodeIx other : problem_.nodes({c})) {
          NodeIx now = best_[{c}];
          if (!now.valid() || now == other || !problem_.usable(other)) continue;
          if (late_()) return improved;
          again |= change_to(other);
        }
      improved |= again;
    }
    return improved;
  }

  bool change_to(NodeIx node) {
    constexpr double kChosen = 1e-3; // not 0, so that unneeded nodes still cost something
    for (uint32_t n = 0; n < costs_.size(); ++n) {
      bool chosen = best_[problem_.class_of({n})] == NodeIx{n};
      costs_[n] = problem_.cost({n}) * (chosen ? kChosen : 1);
    }
    for (NodeIx n : problem_.nodes(problem_.class_of(node))) costs_[n.index] = kInfiniteCost;
    costs_[node.index] = 0;
    return take(extract_greedy(problem_, costs_, late_));
  }

  /// Makes the choice the best one if it is cheaper. Returns true if it was.
  bool take(std::optional<Choice> choice) {
    if (!choice) return false;
    constexpr double kLeastGain = 1e-12; // relative: sums in another order differ as much
    CheckedChoice figures = check_choice(problem_, *choice);
    if (!figures.ok() || !(figures.dag_cost < cost_ - kLeastGain * std::abs(cost_)) ||
        figures.stored_bytes > problem_.byte_limit())
      return false;
    cost_ = figures.dag_cost;
    best_ = std::move(*choice);
    return true;
  }

  const ExtractionProblem& problem_;
  Choice& best_;
  llvm::function_ref<bool()> stop_;
  double cost_;
  std::vector<double> costs_; // by node, adjusted for paid classes
  std::vector<bool> paid_;    // by class
  Clock::time_point deadline_;
  /// Polled during the search.
  std::function<bool()> late_ = [this] { return Clock::now() > deadline_ || (stop_ && stop_()); };
};

} // namespace

bool improve_by_sharing(const ExtractionProblem& problem, Choice& choice, double seconds,
                        llvm::function_ref<bool()> stop) {
  return SharingSearch(problem, choice, seconds, stop).run();
}

} // namespace tg
