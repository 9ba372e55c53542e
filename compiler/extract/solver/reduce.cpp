// The reductions work on a mutable copy (one child list per node), in the order of reduce.h. The
// result is renumbered, pruned (prune.cpp) and reduced again, until no step applies. Each step
// keeps at least one optimal solution:
//   - dominated: replacing the node by the better one needs no new class, so it adds no cycle and
//     no cost;
//   - contracted: the class is chosen exactly when its one user is, with its one node.
#include "compiler/extract/solver/reduce.h"

#include "compiler/extract/poll.h"
#include "compiler/extract/problem.h"

#include <llvm/ADT/BitVector.h>
#include <llvm/ADT/SmallVector.h>

#include <algorithm>
#include <cassert>
#include <utility>

namespace tg {

namespace {

using FewClasses = llvm::SmallVector<uint32_t, 4>; // sorted, each once

class Reduction {
public:
  /// `pruned`, by node: nodes that are left out.
  Reduction(const ExtractionProblem& problem, const GreedyResult& greedy,
            const std::vector<bool>& pruned, Poll& poll)
      : from_(problem), greedy_(greedy), pruned_(pruned), poll_(poll), nodes_(problem.node_count()),
        classes_(problem.class_count()), bytes_matter_(problem.byte_limit() != kInfiniteCost) {}

  /// Reduces the problem. Returns nullopt if stopped; then each step ends where it is.
  std::optional<ReducedProblem> run() {
    fix_free_classes();
    take_nodes();
    drop_dominated();
    mark_reachable();
    if (force_classes()) { // with fewer children more is dominated and less is reached
      drop_dominated();
      mark_reachable();
    }
    contract_chains();
    if (poll_.now()) return std::nullopt;
    ReducedProblem out = build();
    if (poll_.now()) return std::nullopt;
    return out;
  }

private:
  struct NodeState {
    bool alive = false;
    double cost = 0;
    FewClasses children;
  };
  struct ClassState {
    bool fixed = false; // free: chosen as greedy chose
    bool contracted = false;
    bool reachable = false;
    bool root = false;
    uint32_t users = 0; // living, reachable nodes that have it as a child
    llvm::SmallVector<uint32_t, 4> nodes;
  };

  /// Returns true if greedy's choice is free. With rewards, another could have a negative cost.
  bool is_free(uint32_t cls) const { return greedy_.tree_cost[cls] == 0 && !from_.has_rewards(); }

  bool stores(uint32_t cls) const { return bytes_matter_ && from_.stored_bytes({cls}) > 0; }

  void fix_free_classes() {
    for (uint32_t c = 0; c < classes_.size(); ++c)
      classes_[c].fixed = is_free(c) && !stores(c) && stores_nothing(c);
    for (ClassIx root : from_.roots()) classes_[root.index].root = true;
  }

  /// Returns true if greedy's node requires no stored operand. Nodes below a load node are
  /// load nodes too.
  bool stores_nothing(uint32_t cls) const {
    NodeIx node = greedy_.choice.node[cls];
    return !bytes_matter_ || from_.load(node) || from_.children(node).empty();
  }

  /// A free class whose result is stored keeps one node without children.
  bool only_stored(uint32_t cls) const {
    return is_free(cls) && stores(cls) && stores_nothing(cls);
  }

  void take_nodes() {
    for (uint32_t n = 0; n < nodes_.size() && !poll_.after(8); ++n) {
      uint32_t cls = from_.class_of({n}).index;
      if (!from_.usable({n}) || pruned_[n] || classes_[cls].fixed) continue;
      if (only_stored(cls) && !(greedy_.choice.node[cls] == NodeIx{n})) continue;
      bool extractable = true;
      FewClasses& children = nodes_[n].children;
      for (ClassIx child : from_.children({n})) {
        extractable &= greedy_.tree_cost[child.index] != kInfiniteCost;
        if (!classes_[child.index].fixed && !only_stored(cls)) children.push_back(child.index);
      }
      if (!extractable) continue;
      llvm::sort(children);
      children.erase(std::unique(children.begin(), children.end()), children.end());
      nodes_[n].alive = true;
      nodes_[n].cost = from_.cost({n});
      classes_[cls].nodes.push_back(n);
    }
  }

  /// Returns true if `a` makes `b` superfluous. Among equals the earlier node stays.
  bool dominates(uint32_t a, uint32_t b) const {
    const NodeState &x = nodes_[a], &y = nodes_[b];
    if (x.cost > y.cost || x.children.size() > y.children.size()) return false;
    if (x.cost == y.cost && x.children.size() == y.children.size() && a > b) return false;
    if (bytes_matter_ && from_.load({a}) != from_.load({b})) return false;
    return std::includes(y.children.begin(), y.children.end(), x.children.begin(),
                         x.children.end());
  }

  void drop_dominated() {
    constexpr size_t kMostCompared = 512; // nodes of a class, for the quadratic step
    if (from_.has_rewards()) return;      // a node that needs more may earn more
    for (ClassState& cls : classes_) {
      if (cls.nodes.size() > kMostCompared) continue;
      if (poll_.after(1 + cls.nodes.size() * cls.nodes.size())) return;
      llvm::erase_if(cls.nodes, [&](uint32_t b) {
        nodes_[b].alive = llvm::none_of(
            cls.nodes, [&](uint32_t a) { return a != b && nodes_[a].alive && dominates(a, b); });
        return false;
      });
      llvm::erase_if(cls.nodes, [&](uint32_t n) { return !nodes_[n].alive; });
    }
  }

  void mark_reachable() {
    for (ClassState& cls : classes_) {
      cls.reachable = false;
      cls.users = 0;
    }
    std::vector<uint32_t> stack;
    auto reach = [&](uint32_t cls) {
      if (classes_[cls].reachable || classes_[cls].fixed) return;
      classes_[cls].reachable = true;
      stack.push_back(cls);
    };
    for (uint32_t c = 0; c < classes_.size(); ++c)
      if (classes_[c].root) reach(c);
    while (!stack.empty() && !poll_.after(8)) {
      uint32_t cls = stack.back();
      stack.pop_back();
      for (uint32_t n : classes_[cls].nodes) {
        for (uint32_t child : nodes_[n].children) {
          ++classes_[child].users;
          reach(child);
        }
      }
    }
  }

  /// Makes roots of the classes that every solution uses, and removes them from the children
  /// of nodes outside their strongly connected component. Returns true if there are any
  /// besides the roots.
  bool force_classes() {
    std::vector<uint32_t> members; // reachable classes
    for (uint32_t c = 0; c < classes_.size(); ++c)
      if (classes_[c].reachable) members.push_back(c);
    if (poll_.now() || members.size() > kMostForLandmarks) return false;
    ExtractionProblem rest = without_costs(members);
    std::vector<llvm::BitVector> needs = landmarks(rest, poll_);
    if (poll_.now()) return false;
    bool any = false;
    for (ClassIx root : rest.roots())
      for (unsigned needed : needs[root.index].set_bits())
        any |= !std::exchange(classes_[members[needed]].root, true);
    drop_root_children(rest, members);
    return any;
  }

  /// Returns the remaining problem with its classes numbered as in `members`.
  ExtractionProblem without_costs(const std::vector<uint32_t>& members) const {
    std::vector<ClassIx> number(classes_.size());
    ExtractionProblem rest;
    for (uint32_t c : members) number[c] = rest.add_class();
    llvm::SmallVector<ClassIx, 8> children;
    for (uint32_t c : members) {
      for (uint32_t n : classes_[c].nodes) {
        children.clear();
        for (uint32_t child : nodes_[n].children) children.push_back(number[child]);
        rest.add_node(number[c], 0, children);
      }
      if (classes_[c].root) rest.add_root(number[c]);
    }
    rest.seal();
    return rest;
  }

  void drop_root_children(const ExtractionProblem& rest, const std::vector<uint32_t>& members) {
    std::vector<int32_t> of_rest = cyclic_components(rest), component(classes_.size(), -1);
    for (uint32_t i = 0; i < members.size(); ++i) component[members[i]] = of_rest[i];
    for (uint32_t c : members)
      for (uint32_t n : classes_[c].nodes)
        llvm::erase_if(nodes_[n].children, [&](uint32_t child) {
          bool may_close_a_cycle = component[c] >= 0 && component[c] == component[child];
          return classes_[child].root && !may_close_a_cycle && !stores(child);
        });
  }

  bool contractible(uint32_t cls) const {
    const ClassState& c = classes_[cls];
    return c.reachable && !c.root && !c.contracted && c.users == 1 && c.nodes.size() == 1 &&
           !stores(cls);
  }

  void contract_chains() {
    std::vector<uint32_t> user(classes_.size(), UINT32_MAX); // the only user, if there is just one
    for (const ClassState& cls : classes_) {
      if (!cls.reachable) continue;
      for (uint32_t n : cls.nodes)
        for (uint32_t child : nodes_[n].children) user[child] = n;
    }
    std::vector<uint32_t> work;
    for (uint32_t c = static_cast<uint32_t>(classes_.size()); c-- > 0;) work.push_back(c);
    while (!work.empty() && !poll_.after(8)) {
      uint32_t cls = work.back();
      work.pop_back();
      if (contractible(cls)) contract(cls, user, work);
    }
  }

  void contract(uint32_t cls, std::vector<uint32_t>& user, std::vector<uint32_t>& work) {
    uint32_t inner = classes_[cls].nodes[0], outer = user[cls];
    if (bytes_matter_ && from_.load({inner}) != from_.load({outer})) return;
    uint32_t outer_class = from_.class_of({outer}).index;
    if (llvm::is_contained(nodes_[inner].children, outer_class)) return; // it would need itself
    NodeState& node = nodes_[outer];
    node.cost += nodes_[inner].cost;
    node.children.erase(llvm::find(node.children, cls));
    for (uint32_t child : nodes_[inner].children) {
      auto place = llvm::lower_bound(node.children, child);
      if (place != node.children.end() && *place == child) {
        --classes_[child].users;
      } else {
        node.children.insert(place, child);
      }
      if (user[child] == inner || classes_[child].users == 1) user[child] = outer;
      work.push_back(child);
    }
    classes_[cls].contracted = true;
    nodes_[inner].alive = false;
    work.push_back(outer_class);
  }

  ReducedProblem build() {
    ReducedProblem out;
    out.fixed = Choice(classes_.size());
    out.class_in_reduced.resize(classes_.size());
    for (uint32_t c = 0; c < classes_.size(); ++c) {
      const ClassState& cls = classes_[c];
      // Includes classes below a class that is only stored.
      if (is_free(c)) out.fixed.node[c] = greedy_.choice.node[c];
      if (cls.contracted) out.fixed.node[c] = {cls.nodes[0]};
      if (!cls.reachable || cls.contracted) continue;
      out.class_in_reduced[c] = out.problem.add_class();
      out.problem.set_stored_bytes(out.class_in_reduced[c], from_.stored_bytes({c}));
    }
    for (uint32_t c = 0; c < classes_.size() && !poll_.after(8); ++c)
      if (out.class_in_reduced[c].valid())
        for (uint32_t n : classes_[c].nodes) add_node(out, c, n);
    for (uint32_t c = 0; c < classes_.size(); ++c)
      if (classes_[c].root && out.class_in_reduced[c].valid())
        out.problem.add_root(out.class_in_reduced[c]);
    out.problem.set_byte_limit(from_.byte_limit());
    out.problem.seal();
    return out;
  }

  void add_node(ReducedProblem& out, uint32_t cls, uint32_t n) const {
    llvm::SmallVector<ClassIx, 8> children;
    for (uint32_t child : nodes_[n].children) children.push_back(out.class_in_reduced[child]);
    NodeIx added = out.problem.add_node(out.class_in_reduced[cls], nodes_[n].cost, children);
    if (from_.load({n})) out.problem.set_load(added);
    out.origin.push_back({n});
  }

  const ExtractionProblem& from_;
  const GreedyResult& greedy_;
  const std::vector<bool>& pruned_;
  Poll& poll_;
  std::vector<NodeState> nodes_;
  std::vector<ClassState> classes_;
  bool bytes_matter_;
};

} // namespace

std::optional<ReducedProblem> reduce(const ExtractionProblem& problem, const GreedyResult& greedy,
                                     llvm::function_ref<bool()> stop) {
  Poll poll(stop);
  std::vector<bool> pruned(problem.node_count());
  while (true) {
    std::optional<ReducedProblem> reduced = Reduction(problem, greedy, pruned, poll).run();
    if (!reduced) return std::nullopt;
    std::vector<bool> superfluous = superfluous_nodes(reduced->problem, poll);
    if (poll.now()) return std::nullopt;
    bool again = false;
    for (uint32_t n = 0; n < superfluous.size(); ++n) {
      if (!superfluous[n]) continue;
      again = true;
      pruned[reduced->origin[n].index] = true;
    }
    if (!again) return reduced;
  }
}

Choice ReducedProblem::expand(const ExtractionProblem& original, const Choice& reduced) const {
  Choice choice = fixed;
  for (uint32_t c = 0; c < class_in_reduced.size(); ++c) {
    if (!class_in_reduced[c].valid()) continue;
    NodeIx node = reduced[class_in_reduced[c]];
    if (node.valid()) choice.node[c] = origin[node.index];
  }
  if (check_choice(original, choice).ok()) trim(original, choice);
  return choice;
}

} // namespace tg
