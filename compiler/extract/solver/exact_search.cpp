// A state has the decided classes, each with a node, and the list of open classes. A decided class
// is free for all later decisions. A node that would close a cycle is rejected. When no class is
// open, the choice is complete.
//
// The bound of a set of classes takes them in order of decreasing cost. A class that shares nothing
// below with the classes counted so far adds its bound. Any other class adds the least costs of its
// landmarks that are not counted yet.
#include "compiler/extract/solver/exact_search.h"

#include "compiler/extract/problem.h"
#include "compiler/extract/solver/reduce.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>

namespace tg {

namespace {

using ClassSet = llvm::BitVector;
using ClassList = llvm::SmallVector<uint32_t, 16>;

/// Lower bounds of all classes when some are decided and free.
class StateBounds {
public:
  explicit StateBounds(const ExtractionProblem& problem)
      : problem_(problem), order_(children_first(problem)), landmarks_(landmarks(problem)),
        least_(problem.class_count(), kInfiniteCost), bound_(problem.class_count()),
        decided_(static_cast<unsigned>(problem.class_count())), counted_(decided_) {
    below_.assign(problem.class_count(), decided_);
    for (uint32_t n = 0; n < problem.node_count(); ++n) {
      double& least = least_[problem.class_of({n}).index];
      if (problem.usable({n})) least = std::min(least, problem.cost({n}));
    }
  }

  void decide(uint32_t cls) { decided_.set(cls); }
  void undo(uint32_t cls) { decided_.reset(cls); }
  bool decided(ClassIx cls) const { return decided_.test(cls.index); }

  /// Must be called after changes and before of().
  void update() {
    for (ClassIx cls : order_) {
      below_[cls.index].reset();
      if (!decided(cls)) below_[cls.index].set(cls.index);
      bound_[cls.index] = decided(cls) ? 0 : kInfiniteCost;
    }
    while (grow_sets()) {
    }
    while (lower_bounds()) {
    }
  }

  /// Returns a lower bound on the total cost of these open classes. Reorders them.
  double of(ClassList& classes) {
    if (classes.size() == 1) return bound_[classes[0]];
    counted_.reset();
    return rest_of(classes);
  }

  /// Returns the same for a node of an open class and the other open classes: the larger of two
  /// orders, the node with its needs first, or its needs among the others.
  double of(uint32_t cls, NodeIx node, llvm::ArrayRef<uint32_t> others) {
    ClassList children, together(others.begin(), others.end());
    add_children(node, children);
    add_children(node, together);
    double needed = of(children);
    counted_.reset();
    counted_.set(cls);
    for (uint32_t child : children) counted_ |= below_[child];
    ClassList rest(others.begin(), others.end());
    double apart = needed + rest_of(rest);
    counted_.reset();
    counted_.set(cls);
    return problem_.cost(node) + std::max(apart, rest_of(together));
  }

  /// Adds the node's undecided children to `classes`, each once.
  void add_children(NodeIx node, ClassList& classes) const {
    for (ClassIx child : problem_.children(node))
      if (!decided(child) && !llvm::is_contained(classes, child.index))
        classes.push_back(child.index);
  }

private:
  /// Returns the bound of these classes beyond the part that is already counted.
  double rest_of(ClassList& classes) {
    llvm::sort(classes, [&](uint32_t a, uint32_t b) {
      return bound_[a] != bound_[b] ? bound_[a] > bound_[b] : a < b;
    });
    double sum = 0;
    for (uint32_t cls : classes) {
      if (bound_[cls] == kInfiniteCost) return kInfiniteCost;
      if (!counted_.anyCommon(below_[cls])) {
        sum += bound_[cls];
        counted_ |= below_[cls];
        continue;
      }
      for (unsigned needed : landmarks_[cls].set_bits()) {
        if (counted_.test(needed) || decided_.test(needed)) continue;
        sum += least_[needed];
        counted_.set(needed);
      }
    }
    return sum;
  }

  bool grow_sets() {
    bool changed = false;
    for (ClassIx cls : order_) {
      if (decided(cls)) continue;
      ClassSet& below = below_[cls.index];
      for (NodeIx n : problem_.nodes(cls)) {
        if (!problem_.usable(n)) continue;
        for (ClassIx child : problem_.children(n)) {
          if (!below_[child.index].test(below)) continue; // only if it can be below
          below |= below_[child.index];
          changed = true;
        }
      }
    }
    return changed;
  }

  /// Lowers the bounds of classes to the values of their nodes. By induction over a derivation none
  /// costs less. Returns true if a bound changed.
  bool lower_bounds() {
    bool changed = false;
    for (ClassIx cls : order_) {
      if (decided(cls)) continue;
      for (NodeIx n : problem_.nodes(cls)) {
        if (!problem_.usable(n)) continue;
        children_.clear();
        add_children(n, children_);
        double bound = problem_.cost(n) + of(children_);
        if (!(bound < bound_[cls.index])) continue;
        bound_[cls.index] = bound;
        changed = true;
      }
    }
    return changed;
  }

  const ExtractionProblem& problem_;
  std::vector<ClassIx> order_;
  std::vector<ClassSet> landmarks_,
      below_; // by class: undecided classes that its derivations can contain
  std::vector<double> least_,
      bound_; // by class: least cost of a node, of a derivation
  ClassSet decided_, counted_;
  ClassList children_;
};

class ExactSearch {
public:
  ExactSearch(const ExtractionProblem& problem, double cutoff, const BranchCutLimits& limits,
              const BranchCutEvents& events)
      : problem_(problem), limits_(limits), events_(events), cutoff_(cutoff),
        unit_(cost_unit(problem)), bounds_(problem), choice_(problem.class_count()) {}

  BranchCutResult run() {
    ClassList open;
    for (ClassIx root : problem_.roots())
      if (!llvm::is_contained(open, root.index)) open.push_back(root.index);
    std::optional<double> closed = enter(std::move(open), 0);
    while (!closed || !frames_.empty()) closed = closed ? leave(*closed) : descend();
    result_.bound = stopped_ ? std::min(*closed, cutoff_) : cutoff_;
    result_.proven = !stopped_;
    events_.bound(result_.bound);
    return result_;
  }

private:
  struct Alternative {
    double bound;
    NodeIx node;
  };
  /// A class for which alternatives are tried.
  struct Frame {
    uint32_t cls = 0;
    std::vector<Alternative> alternatives; // of interest, by increasing bound
    size_t next = 0;
    ClassList open; // the other open classes
    double cost = 0;
    double bound = 0;           // of the state
    double low = kInfiniteCost; // least bound of the closed alternatives
  };

  double threshold() const { return below_cutoff(cutoff_, unit_); }

  bool late() {
    stopped_ |= result_.nodes >= limits_.nodes;
    if (stopped_) return true;
    std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start_;
    stopped_ = taken.count() > limits_.seconds || (events_.stop && events_.stop());
    stopped_ |= without_solution();
    return stopped_;
  }

  /// Returns true if the search has no chance; it is given more nodes if the first bound is
  /// near the cutoff.
  bool without_solution() const {
    double share = frames_.empty() ? 1 : frames_.front().bound / cutoff_;
    return (share < 0.5 && result_.nodes > 500) || (share < 0.65 && result_.nodes > 2'000);
  }

  /// Enters a new state. Returns its bound if there is nothing to decide or nothing of interest;
  /// otherwise adds a frame.
  std::optional<double> enter(ClassList open, double cost) {
    ++result_.nodes;
    if (open.empty()) return take();
    if (late()) return cost;
    bounds_.update();
    Frame frame;
    frame.cost = cost;
    frame.bound = cost;
    size_t fewest = SIZE_MAX;
    for (uint32_t cls : open) {
      double least = kInfiniteCost;
      std::vector<Alternative> of_class = alternatives(cls, open, cost, least);
      frame.bound = std::max(frame.bound, least);
      if (of_class.size() >= fewest) continue;
      fewest = of_class.size();
      frame.cls = cls;
      frame.alternatives = std::move(of_class);
      if (fewest == 0) return frame.bound;
    }
    llvm::stable_sort(frame.alternatives,
                      [](const auto& a, const auto& b) { return a.bound < b.bound; });
    for (uint32_t cls : open)
      if (cls != frame.cls) frame.open.push_back(cls);
    bounds_.decide(frame.cls);
    frames_.push_back(std::move(frame));
    return std::nullopt;
  }

  /// Returns the nodes of an open class that can lead to a choice below the cutoff, and the least
  /// of all bounds.
  std::vector<Alternative> alternatives(uint32_t cls, llvm::ArrayRef<uint32_t> open, double cost,
                                        double& least) {
    std::vector<Alternative> out;
    ClassList others;
    for (uint32_t other : open)
      if (other != cls) others.push_back(other);
    for (NodeIx n : problem_.nodes({cls})) {
      if (!problem_.usable(n)) continue;
      double bound = cost + bounds_.of(cls, n, others);
      least = std::min(least, bound);
      if (bound < threshold() && !closes_cycle(cls, n)) out.push_back({bound, n});
    }
    return out;
  }

  /// Returns true if decided classes that the node needs lead back to the class.
  bool closes_cycle(uint32_t cls, NodeIx node) {
    ClassList stack;
    ClassSet seen(static_cast<unsigned>(problem_.class_count()));
    auto reach = [&](NodeIx from) {
      for (ClassIx child : problem_.children(from)) {
        if (seen.test(child.index)) continue;
        seen.set(child.index);
        stack.push_back(child.index);
      }
    };
    reach(node);
    while (!stack.empty()) {
      uint32_t at = stack.pop_back_val();
      if (at == cls) return true;
      if (choice_[{at}].valid()) reach(choice_[{at}]);
    }
    return false;
  }

  /// Tries the next alternative of the last frame, or returns the result of the frame.
  std::optional<double> descend() {
    Frame& frame = frames_.back();
    bool more = frame.next < frame.alternatives.size();
    if (!more || frame.alternatives[frame.next].bound >= threshold()) {
      double bound = std::max(frame.bound, std::min(frame.low, cutoff_));
      bounds_.undo(frame.cls);
      choice_.node[frame.cls] = {};
      frames_.pop_back();
      return bound;
    }
    auto [bound, node] = frame.alternatives[frame.next];
    if (late()) return bound;
    choice_.node[frame.cls] = node;
    ClassList open = frame.open;
    bounds_.add_children(node, open);
    return enter(std::move(open), frame.cost + problem_.cost(node));
  }

  /// Closes an alternative of the last frame.
  std::optional<double> leave(double bound) {
    Frame& frame = frames_.back();
    bound = std::max(bound, frame.alternatives[frame.next].bound);
    frame.low = std::min(frame.low, bound);
    ++frame.next;
    return std::nullopt;
  }

  double take() {
    CheckedChoice figures = check_choice(problem_, choice_);
    if (figures.ok() && figures.dag_cost < cutoff_) {
      cutoff_ = figures.dag_cost;
      events_.choice(choice_, cutoff_);
    }
    return cutoff_;
  }

  const ExtractionProblem& problem_;
  const BranchCutLimits& limits_;
  const BranchCutEvents& events_;
  double cutoff_, unit_;
  StateBounds bounds_;
  Choice choice_; // of decided classes
  std::vector<Frame> frames_;
  bool stopped_ = false;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  BranchCutResult result_;
};

} // namespace

BranchCutResult exact_search(const ExtractionProblem& problem, double cutoff,
                             const BranchCutLimits& limits, const BranchCutEvents& events) {
  constexpr size_t kMostClasses = 4'000; // 4 MB of bits
  if (problem.class_count() > kMostClasses || problem.has_rewards()) return {};
  return ExactSearch(problem, cutoff, limits, events).run();
}

} // namespace tg
