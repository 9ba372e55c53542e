// Levels come first: a class is on level k if a node with x > 0 has all its children in the
// component on levels below k. A class without a level is not founded. Levels tell which child
// of a node is the hardest to derive. Then each used class gets a maximum flow (shortest
// augmenting paths).
#include "compiler/extract/solver/cycle_cuts.h"

#include "compiler/extract/problem.h"

#include <algorithm>
#include <cassert>

namespace tg {

namespace {
constexpr double kFlows = 1e-7; // larger x or y carry flow
} // namespace

/// The network of one component for one x, and the cuts from it.
class ComponentFlow {
public:
  ComponentFlow(const CycleCutter& cutter, size_t component, llvm::ArrayRef<double> x)
      : cutter_(cutter), problem_(cutter.problem_), component_(static_cast<int32_t>(component)),
        classes_(cutter.components_[component].classes), x_(x), used_(classes_.size()),
        source_(static_cast<uint32_t>(classes_.size())) {
    for (uint32_t i = 0; i < classes_.size(); ++i)
      for (NodeIx n : problem_.nodes(classes_[i])) used_[i] += x_[n.index];
  }

  void separate(std::vector<FoundedCut>& cuts, size_t most) {
    set_levels();
    build();
    std::vector<uint32_t> targets;
    for (uint32_t i = 0; i < classes_.size(); ++i)
      if (used_[i] > kViolation) targets.push_back(i);
    llvm::stable_sort(targets, [&](uint32_t a, uint32_t b) { return used_[a] > used_[b]; });
    std::vector<bool> covered(classes_.size());
    for (uint32_t target : targets) {
      if (cuts.size() >= most) return;
      if (covered[target]) continue;
      if (flow_to(target) < used_[target] - kViolation) take_cut(target, covered, cuts);
    }
  }

private:
  static constexpr uint32_t kNoLevel = UINT32_MAX;
  struct Arc {
    uint32_t to;
    double capacity, left;
  };

  bool inside(ClassIx cls) const { return cutter_.component_of_[cls.index] == component_; }
  bool present(NodeIx n) const { return problem_.usable(n) && x_[n.index] > kFlows; }

  void set_levels() {
    level_.assign(classes_.size(), kNoLevel);
    bool changed = true;
    for (uint32_t round = 0; changed; ++round) {
      changed = false;
      std::vector<uint32_t> reached;
      for (uint32_t i = 0; i < classes_.size(); ++i)
        if (level_[i] == kNoLevel && llvm::any_of(problem_.nodes(classes_[i]), [&](NodeIx n) {
              return present(n) && hardest_child(n).second != kNoLevel;
            }))
          reached.push_back(i);
      for (uint32_t i : reached) level_[i] = round;
      changed = !reached.empty();
    }
  }

  /// Returns the child inside the component with the highest level, and that level;
  /// {source, 0} if none.
  std::pair<uint32_t, uint32_t> hardest_child(NodeIx n) const {
    std::pair<uint32_t, uint32_t> hardest{source_, 0};
    for (ClassIx child : problem_.children(n)) {
      if (!inside(child)) continue;
      uint32_t place = cutter_.place_[child.index];
      if (hardest.first == source_ || level_[place] > hardest.second)
        hardest = {place, level_[place]};
    }
    return hardest;
  }

  void build() {
    arcs_.clear();
    out_.assign(classes_.size() + 1, {});
    for (uint32_t i = 0; i < classes_.size(); ++i)
      for (NodeIx n : problem_.nodes(classes_[i]))
        if (present(n)) add_arc(hardest_child(n).first, i, x_[n.index]);
  }

  void add_arc(uint32_t from, uint32_t to, double capacity) {
    for (uint32_t arc : out_[from])
      if (arcs_[arc].to == to && arc % 2 == 0) {
        arcs_[arc].capacity += capacity;
        return;
      }
    out_[from].push_back(static_cast<uint32_t>(arcs_.size()));
    arcs_.push_back({to, capacity, 0});
    out_[to].push_back(static_cast<uint32_t>(arcs_.size()));
    arcs_.push_back({from, 0, 0}); // the reverse arc
  }

  /// Computes the maximum flow from the source; stops when no cut can be violated any more.
  double flow_to(uint32_t target) {
    for (Arc& arc : arcs_) arc.left = arc.capacity;
    double flow = 0;
    while (flow < used_[target]) {
      std::vector<uint32_t> by(classes_.size() + 1, UINT32_MAX); // the arc that reached it
      std::vector<uint32_t> queue = {source_};
      for (size_t q = 0; q < queue.size() && by[target] == UINT32_MAX; ++q)
        for (uint32_t arc : out_[queue[q]]) {
          uint32_t to = arcs_[arc].to;
          if (arcs_[arc].left <= kFlows || by[to] != UINT32_MAX || to == source_) continue;
          by[to] = arc;
          queue.push_back(to);
        }
      if (by[target] == UINT32_MAX) break;
      double amount = used_[target] - flow;
      for (uint32_t at = target; at != source_; at = arcs_[by[at] ^ 1].to)
        amount = std::min(amount, arcs_[by[at]].left);
      for (uint32_t at = target; at != source_; at = arcs_[by[at] ^ 1].to) {
        arcs_[by[at]].left -= amount;
        arcs_[by[at] ^ 1].left += amount;
      }
      flow += amount;
    }
    return flow;
  }

  /// Takes S, the classes that can still reach the target in the residual network: the smallest of
  /// the minimum cuts.
  void take_cut(uint32_t target, std::vector<bool>& covered, std::vector<FoundedCut>& cuts) {
    std::vector<bool> in(classes_.size() + 1);
    std::vector<uint32_t> queue = {target};
    in[target] = true;
    for (size_t q = 0; q < queue.size(); ++q)
      for (uint32_t arc : out_[queue[q]]) { // arc ^ 1 enters
        uint32_t from = arcs_[arc].to;
        if (in[from] || arcs_[arc ^ 1].left <= kFlows) continue;
        assert(from != source_ && "a cut separates the source from the target");
        in[from] = true;
        queue.push_back(from);
      }
    FoundedCut cut{classes_[target], {}};
    for (uint32_t i : queue) {
      covered[i] = true;
      for (NodeIx n : problem_.nodes(classes_[i]))
        if (problem_.usable(n) && llvm::none_of(problem_.children(n), [&](ClassIx child) {
              return inside(child) && in[cutter_.place_[child.index]];
            }))
          cut.support.push_back(n);
    }
    cuts.push_back(std::move(cut));
  }

  const CycleCutter& cutter_;
  const ExtractionProblem& problem_;
  int32_t component_;
  llvm::ArrayRef<ClassIx> classes_;
  llvm::ArrayRef<double> x_;
  std::vector<double> used_;    // y, by class of the component
  std::vector<uint32_t> level_; // by class of the component
  uint32_t source_;             // after the classes
  std::vector<Arc> arcs_;       // in pairs: an arc and its reverse
  std::vector<std::vector<uint32_t>> out_;
};

CycleCutter::CycleCutter(const ExtractionProblem& problem)
    : problem_(problem), component_of_(cyclic_components(problem)), place_(component_of_.size()) {
  for (uint32_t c = 0; c < component_of_.size(); ++c) {
    if (component_of_[c] < 0) continue;
    auto component = static_cast<size_t>(component_of_[c]);
    if (components_.size() <= component) components_.resize(component + 1);
    place_[c] = static_cast<uint32_t>(components_[component].classes.size());
    components_[component].classes.push_back({c});
  }
}

std::vector<FoundedCut> CycleCutter::separate(llvm::ArrayRef<double> x, size_t most) const {
  std::vector<FoundedCut> cuts;
  for (size_t i = 0; i < components_.size() && cuts.size() < most; ++i)
    ComponentFlow(*this, i, x).separate(cuts, most);
  return cuts;
}

} // namespace tg
