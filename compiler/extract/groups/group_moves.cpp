#include "compiler/extract/groups/group_refine.h"

#include <llvm/ADT/MapVector.h>
#include <llvm/ADT/STLExtras.h>

#include <algorithm>
#include <map>
#include <set>

namespace tg {

namespace {

using Words = std::vector<uint32_t>;

class MoveFinder {
public:
  MoveFinder(const EGraph& egraph, const EGraphProblem& all, const Choice& choice,
             const GreedyResult& marginal)
      : egraph_(egraph), all_(all), problem_(all.problem), choice_(choice), marginal_(marginal),
        users_(problem_.class_count()) {
    for (uint32_t c = 0; c < choice.node.size(); ++c)
      if (choice.node[c].valid() && !problem_.load(choice.node[c])) used_.push_back({c});
    for (ClassIx cls : used_) {
      std::set<uint32_t> children;
      for (ClassIx child : problem_.children(choice_[cls])) children.insert(child.index);
      for (uint32_t child : children) users_[child].push_back(cls);
    }
  }

  std::vector<MoveFamily> run(size_t most) {
    for (ClassIx cls : used_) add_switches(cls);
    add_openings();
    for (ClassIx cls : used_) add_closing(cls);
    std::vector<MoveFamily> families;
    for (auto& [signature, family] : families_) families.push_back(std::move(family));
    llvm::stable_sort(families, [](const MoveFamily& a, const MoveFamily& b) {
      return a.front().estimate < b.front().estimate;
    });
    if (families.size() > most) families.resize(most);
    return families;
  }

private:
  bool in_use(ClassIx cls) const { return choice_[cls].valid(); }
  double own_change(ClassIx cls, NodeIx node) const {
    return problem_.cost(node) - problem_.cost(choice_[cls]);
  }
  /// Returns the cost of the classes that come into use below nodes. Classes that several nodes
  /// need count once.
  double below(llvm::ArrayRef<std::pair<ClassIx, NodeIx>> switches) const {
    std::set<uint32_t> fresh;
    double sum = 0;
    for (auto [cls, node] : switches)
      for (ClassIx child : problem_.children(node))
        if (!in_use(child) && fresh.insert(child.index).second)
          sum = add_costs(sum, marginal_.tree_cost[child.index]);
    return sum;
  }
  /// Visits the alternatives of a class in use.
  template <class Visit> void for_others(ClassIx cls, const Visit& visit) const {
    for (NodeIx node : problem_.nodes(cls))
      if (!(node == choice_[cls]) && problem_.usable(node) && !all_.kernel(node)) visit(node);
  }

  void add_switches(ClassIx cls) {
    for_others(cls, [&](NodeIx node) {
      GroupMove move{{{cls, node}}, own_change(cls, node)};
      add(std::move(move));
      for (ClassIx child : problem_.children(node))
        if (!in_use(child)) openers_[child.index].push_back({cls, node});
    });
  }

  /// Adds a move for each unused class: each class that could use it takes its cheapest
  /// node that does.
  void add_openings() {
    for (const auto& [cls, all] : openers_) {
      llvm::MapVector<uint32_t, NodeIx> best;
      for (auto [user, node] : all) {
        auto [it, fresh] = best.insert({user.index, node});
        if (!fresh && problem_.cost(node) < problem_.cost(it->second)) it->second = node;
      }
      if (best.size() < 2) continue;
      GroupMove move;
      for (auto [user, node] : best) {
        move.switches.push_back({{user}, node});
        move.estimate += own_change({user}, node);
      }
      add(std::move(move));
    }
  }

  void add_closing(ClassIx cls) {
    if (users_[cls.index].size() < 2 || llvm::is_contained(problem_.roots(), cls)) return;
    GroupMove move;
    move.estimate = -problem_.cost(choice_[cls]);
    for (ClassIx user : users_[cls.index]) {
      NodeIx best;
      double least = kInfiniteCost;
      for_others(user, [&](NodeIx node) {
        if (llvm::is_contained(problem_.children(node), cls)) return;
        double cost = add_costs(own_change(user, node), below({{user, node}}));
        if (cost >= least) return;
        least = cost;
        best = node;
      });
      if (!best.valid()) return;
      move.switches.push_back({user, best});
      move.estimate += own_change(user, best);
    }
    add(std::move(move));
  }

  void add(GroupMove move) {
    move.estimate = add_costs(move.estimate, below(move.switches));
    if (move.estimate == kInfiniteCost) return;
    std::vector<Words> parts;
    for (auto [cls, node] : move.switches) parts.push_back(signature(cls, node));
    llvm::sort(parts);
    Words whole;
    for (const Words& part : parts) llvm::append_range(whole, part);
    families_[whole].push_back(std::move(move));
  }

  /// Describes both nodes with their types, and the users of the class.
  Words signature(ClassIx cls, NodeIx to) const {
    Words words;
    for (NodeIx node : {choice_[cls], to}) describe(node, words);
    Words around;
    for (ClassIx user : users_[cls.index])
      around.push_back(static_cast<uint32_t>(egraph_.node(enode(choice_[user])).op));
    llvm::sort(around);
    words.push_back(static_cast<uint32_t>(around.size()));
    llvm::append_range(words, around);
    return words;
  }
  void describe(NodeIx node, Words& words) const {
    const ENode& row = egraph_.node(enode(node));
    for (uint32_t word : {static_cast<uint32_t>(row.op), row.attrs.index,
                          class_at(egraph_, row.home).type.index, row.arity})
      words.push_back(word);
    for (ClassId child : egraph_.children(enode(node)))
      words.push_back(class_at(egraph_, child).type.index);
  }
  ENodeId enode(NodeIx node) const { return all_.node[node.index]; }

  const EGraph& egraph_;
  const EGraphProblem& all_;
  const ExtractionProblem& problem_;
  const Choice& choice_;
  const GreedyResult& marginal_;
  std::vector<ClassIx> used_;                                           // at run time
  std::vector<std::vector<ClassIx>> users_;                             // of each class
  std::map<uint32_t, std::vector<std::pair<ClassIx, NodeIx>>> openers_; // by unused class
  llvm::MapVector<Words, MoveFamily, std::map<Words, unsigned>> families_;
};

} // namespace

GreedyResult marginal_trees(const ExtractionProblem& problem, const Choice& choice) {
  std::vector<double> costs(problem.node_count());
  for (uint32_t n = 0; n < costs.size(); ++n) {
    bool used = choice[problem.class_of({n})] == NodeIx{n};
    costs[n] = used ? 0 : problem.cost({n});
  }
  return greedy_trees(problem, costs);
}

std::vector<MoveFamily> find_moves(const EGraph& egraph, const EGraphProblem& problem,
                                   const Choice& choice, const GreedyResult& marginal,
                                   size_t most) {
  return MoveFinder(egraph, problem, choice, marginal).run(most);
}

std::optional<Choice> after_move(const ExtractionProblem& problem, const Choice& choice,
                                 const GreedyResult& marginal,
                                 llvm::ArrayRef<std::pair<ClassIx, NodeIx>> switches) {
  Choice wanted = choice, next(problem.class_count());
  for (auto [cls, node] : switches) wanted.node[cls.index] = node;
  std::vector<ClassIx> open(problem.roots().begin(), problem.roots().end());
  while (!open.empty()) {
    ClassIx cls = open.back();
    open.pop_back();
    if (next[cls].valid()) continue;
    NodeIx node = wanted[cls].valid() ? wanted[cls] : marginal.choice[cls];
    if (!node.valid()) return std::nullopt;
    next.node[cls.index] = node;
    llvm::append_range(open, problem.children(node));
  }
  CheckedChoice checked = check_choice(problem, next);
  if (!checked.ok() || checked.stored_bytes > problem.byte_limit()) return std::nullopt;
  return next;
}

} // namespace tg
