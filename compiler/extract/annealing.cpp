#include "compiler/extract/annealing.h"

#include "compiler/extract/greedy/greedy.h"
#include "compiler/extract/problem.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <random>
#include <utility>

namespace tg {

namespace {

class Annealer {
public:
  Annealer(const ExtractionProblem& problem, const Choice& start, const AnnealLimits& limits,
           llvm::function_ref<bool()> stop)
      : problem_(problem), limits_(limits), stop_(stop), random_(limits.seed),
        component_(cyclic_components(problem)), candidates_start_(problem.class_count() + 1),
        uses_(problem.class_count()), place_(problem.class_count(), kNowhere),
        seen_(problem.class_count()),
        deadline_(Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                     std::chrono::duration<double>(limits.seconds))) {
    take_over(start);
    over_ = late(); // take_over() may have only a part of greedy's nodes
    find_candidates();
    best_ = node_;
    go_back_to_best();
  }

  bool run() {
    double start = best_cost_;
    uint64_t length = kShortest * open_.size();
    anneal_once(0, length); // descend first: removes obvious waste of the start
    double heat = kHottest * typical_rise();
    for (; heat > 0 && !over(); length *= 4)
      for (double hotter : {1.0, kAlsoHotter}) anneal_once(hotter * heat, length);
    return best_cost_ < start;
  }

  Choice best() const {
    Choice out = best_;
    trim(problem_, out);
    return out;
  }

private:
  using Clock = std::chrono::steady_clock;
  static constexpr uint32_t kNowhere = UINT32_MAX;
  static constexpr uint64_t kShortest = 32; // moves for each open class
  static constexpr double kHottest = 0.2;   // of the typical rise
  static constexpr double kAlsoHotter = 5;  // small problems have few ways out of a local minimum
  static constexpr double kColdest = 1e-2;  // of the hottest

  bool over() {
    constexpr uint64_t kAsk = 1024; // moves
    if (moves_ >= limits_.moves) over_ = true;
    if (over_ || moves_ < ask_at_) return over_;
    ask_at_ = moves_ + kAsk;
    return over_ = late();
  }
  bool late() const { return Clock::now() > deadline_ || (stop_ && stop_()); }

  /// Takes the start, and greedy's nodes for classes without a node in it. Classes that the start
  /// reaches need only such classes, so the mixture has no cycle.
  void take_over(const Choice& start) {
    node_ = greedy_trees(problem_, {}, [this] { return late(); }).choice;
    for (uint32_t c = 0; c < node_.node.size(); ++c)
      if (start[{c}].valid()) node_.node[c] = start[{c}];
  }

  /// Lists the nodes that can be chosen, by class.
  void find_candidates() {
    auto known = [&](ClassIx child) { return node_[child].valid(); };
    for (uint32_t c = 0; c < problem_.class_count(); ++c) {
      candidates_start_[c] = static_cast<uint32_t>(candidates_.size());
      for (NodeIx node : problem_.nodes({c}))
        if (problem_.usable(node) && llvm::all_of(problem_.children(node), known))
          candidates_.push_back(node);
    }
    candidates_start_.back() = static_cast<uint32_t>(candidates_.size());
  }
  llvm::ArrayRef<NodeIx> candidates(ClassIx cls) const {
    uint32_t first = candidates_start_[cls.index], last = candidates_start_[cls.index + 1];
    return llvm::ArrayRef<NodeIx>(candidates_).slice(first, last - first);
  }

  // --- the state ---------------------------------------------------------------------------------

  void use(ClassIx cls) {
    if (uses_[cls.index]++ == 0) entering_.push_back(cls);
  }
  void leave(ClassIx cls) {
    if (--uses_[cls.index] == 0) leaving_.push_back(cls);
  }

  /// Brings in the classes that use() has queued. With `anew`, each takes the node that adds least.
  void enter(bool anew) {
    while (!entering_.empty()) {
      ClassIx cls = entering_.pop_back_val();
      if (anew) choose_anew(cls);
      cost_ += problem_.cost(node_[cls]);
      if (candidates(cls).size() > 1) {
        place_[cls.index] = static_cast<uint32_t>(open_.size());
        open_.push_back(cls);
      }
      for (ClassIx child : problem_.children(node_[cls])) use(child);
    }
  }

  void drop() {
    while (!leaving_.empty()) {
      ClassIx cls = leaving_.pop_back_val();
      cost_ -= problem_.cost(node_[cls]);
      if (uint32_t at = std::exchange(place_[cls.index], kNowhere); at != kNowhere) {
        open_[at] = open_.back();
        place_[open_[at].index] = at;
        open_.pop_back();
      }
      for (ClassIx child : problem_.children(node_[cls])) leave(child);
    }
  }

  /// Switches a used class to another node. The new operands enter first, so that classes that both
  /// nodes need do not leave in between.
  void change(ClassIx cls, NodeIx to, bool anew) {
    NodeIx from = node_[cls];
    set(cls, to);
    cost_ += problem_.cost(to) - problem_.cost(from);
    for (ClassIx child : problem_.children(to)) use(child);
    enter(anew);
    for (ClassIx child : problem_.children(from)) leave(child);
    drop();
  }

  void set(ClassIx cls, NodeIx node) {
    node_.node[cls.index] = node;
    if (changed_.size() < problem_.class_count()) changed_.push_back(cls);
  }

  /// Returns the cost that a class would add with its present node and those of its children.
  double adds(ClassIx cls) const {
    if (uses_[cls.index] > 0) return 0;
    double sum = problem_.cost(node_[cls]);
    for (ClassIx child : problem_.children(node_[cls]))
      if (uses_[child.index] == 0) sum += problem_.cost(node_[child]);
    return sum;
  }

  /// Gives an entering class the node that adds least to the choice, looking two levels down.
  void choose_anew(ClassIx cls) {
    constexpr size_t kMost = 16; // larger classes are left to the moves
    llvm::ArrayRef<NodeIx> nodes = candidates(cls);
    if (nodes.size() < 2 || nodes.size() > kMost) return;
    auto adds_with = [&](NodeIx node) {
      double sum = problem_.cost(node);
      for (ClassIx child : problem_.children(node)) sum += adds(child);
      return sum;
    };
    NodeIx now = node_[cls], best = now;
    double least = adds_with(now);
    for (NodeIx node : nodes) {
      double sum = node == now ? least : adds_with(node);
      if (sum >= least || closes_cycle(cls, node)) continue;
      least = sum;
      best = node;
    }
    if (best == now) return;
    chosen_anew_.push_back({cls, now});
    set(cls, best);
  }

  /// Returns true if the class would need itself with this node. Only classes of its component
  /// can need it.
  bool closes_cycle(ClassIx cls, NodeIx to) {
    int32_t component = component_[cls.index];
    if (component < 0) return false;
    ++visit_;
    llvm::SmallVector<ClassIx, 32> stack;
    auto push = [&](NodeIx node) {
      for (ClassIx child : problem_.children(node)) {
        if (component_[child.index] != component || seen_[child.index] == visit_) continue;
        seen_[child.index] = visit_;
        stack.push_back(child);
      }
    };
    for (push(to); !stack.empty();) {
      ClassIx at = stack.pop_back_val();
      if (at == cls) return true;
      push(node_[at]);
    }
    return false;
  }

  // --- moves -------------------------------------------------------------------------------------

  struct Move {
    ClassIx cls;
    NodeIx from, to;
    double before; // the cost before the move
  };
  size_t below(size_t n) { return static_cast<size_t>(random_() % n); }

  /// Makes a random move; nullopt if the drawn move changes nothing or closes a cycle.
  std::optional<Move> move() {
    ClassIx cls = open_[below(open_.size())];
    llvm::ArrayRef<NodeIx> nodes = candidates(cls);
    NodeIx to = nodes[below(nodes.size())];
    if (to == node_[cls] || closes_cycle(cls, to)) return std::nullopt;
    Move made{cls, node_[cls], to, cost_};
    chosen_anew_.clear();
    change(cls, to, true);
    return made;
  }

  /// Reverts a move. The classes that entered leave first, and so are unused when they get their
  /// old nodes back.
  void undo(const Move& made) {
    change(made.cls, made.from, false);
    for (auto [cls, node] : llvm::reverse(chosen_anew_)) set(cls, node);
    cost_ = made.before; // sums in another order drift
  }

  /// Returns the median increase in cost over moves from here. Prices of a problem differ by orders
  /// of magnitude, and some stand for "not available".
  double typical_rise() {
    constexpr int kTries = 1'000;
    std::vector<double> rises;
    for (int i = 0; i < kTries && !open_.empty() && !over(); ++i, ++moves_) {
      std::optional<Move> made = move();
      if (!made) continue;
      if (cost_ > made->before) rises.push_back(cost_ - made->before);
      undo(*made);
    }
    if (rises.empty()) return 0;
    auto middle = rises.begin() + static_cast<ptrdiff_t>(rises.size() / 2);
    std::nth_element(rises.begin(), middle, rises.end());
    return *middle;
  }

  /// Makes one run from hot to cold, starting from the best choice.
  void anneal_once(double heat, uint64_t length) {
    double factor = std::pow(kColdest, 1.0 / static_cast<double>(length));
    for (uint64_t i = 0; i < length && !open_.empty() && !over(); ++i, ++moves_, heat *= factor) {
      std::optional<Move> made = move();
      if (!made) continue;
      double rise = cost_ - made->before;
      if (rise > 0 && !(heat > 0 && unit() < std::exp(-rise / heat)))
        undo(*made);
      else
        keep_if_best();
    }
    go_back_to_best();
  }
  // std::uniform_real_distribution gives other numbers in other libraries.
  double unit() { return static_cast<double>(random_() >> 11) * 0x1p-53; }

  void keep_if_best() {
    constexpr double kLeastGain = 1e-12; // relative
    if (!(cost_ < best_cost_ - kLeastGain * std::abs(best_cost_))) return;
    best_cost_ = cost_;
    if (changed_.size() < problem_.class_count())
      for (ClassIx cls : changed_) best_.node[cls.index] = node_[cls];
    else
      best_ = node_;
    changed_.clear();
  }

  void go_back_to_best() {
    std::fill(uses_.begin(), uses_.end(), 0);
    std::fill(place_.begin(), place_.end(), kNowhere);
    open_.clear();
    node_ = best_;
    cost_ = 0;
    for (ClassIx root : problem_.roots()) use(root);
    enter(false);
    best_cost_ = cost_;
    changed_.clear();
  }

  const ExtractionProblem& problem_;
  const AnnealLimits& limits_;
  llvm::function_ref<bool()> stop_;
  std::mt19937_64 random_;
  std::vector<int32_t> component_;
  std::vector<uint32_t> candidates_start_; // by class, into candidates_
  std::vector<NodeIx> candidates_;
  Choice node_, best_;
  double cost_ = 0, best_cost_ = 0;
  std::vector<uint32_t> uses_;   // by class
  std::vector<ClassIx> open_;    // used classes with several candidates
  std::vector<uint32_t> place_;  // by class: position in open_
  std::vector<ClassIx> changed_; // since best_ was node_; if full, any may have
  std::vector<std::pair<ClassIx, NodeIx>> chosen_anew_; // by the last move, with the previous nodes
  llvm::SmallVector<ClassIx, 32> entering_, leaving_;
  std::vector<uint32_t> seen_; // by class: the last visit that reached it
  uint32_t visit_ = 0;
  uint64_t moves_ = 0, ask_at_ = 0;
  bool over_ = false;
  Clock::time_point deadline_;
};

} // namespace

bool improve_by_annealing(const ExtractionProblem& problem, Choice& choice,
                          const AnnealLimits& limits, llvm::function_ref<bool()> stop) {
  Annealer annealer(problem, choice, limits, stop);
  if (!annealer.run()) return false;
  choice = annealer.best();
  return true;
}

} // namespace tg
