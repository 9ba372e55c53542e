#include "compiler/egraph/explain/makers.h"

#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/STLExtras.h>

#include <algorithm>

namespace tg {

namespace {

constexpr uint32_t kOfSource = UINT32_MAX - 2; // the largest two are DenseMap's own

class Makers {
public:
  Makers(const ExplainLedger& ledger, const Derivation& chain, const StopToken& stop)
      : ledger_(ledger), stop_(stop) {
    for (NodeId node : chain.start) introduce(node, {}, kOfSource);
    llvm::ArrayRef<RuleApplication> all = ledger.applications();
    for (uint32_t i = 0; i < all.size(); ++i)
      for (NodeId root : all[i].right) introduce(root, all[i].classes, i);
  }

  void require_proof(llvm::ArrayRef<TermClosure::Edge> proof) {
    for (const TermClosure::Edge& edge : proof) need(ledger_.equation(edge.why).application);
  }

  /// Requires that a term and all terms below it can be made.
  void require(NodeId root) {
    open_.push_back(root);
    while (!open_.empty()) {
      NodeId term = open_.back();
      open_.pop_back();
      if (required_.insert(term.index).second) make(term);
    }
  }

  /// Follows the requirements of applications and of equal operands until there are no new ones.
  void close() {
    while (!stop_.asked() && (!new_.empty() || !left_.empty())) {
      while (!new_.empty()) {
        const RuleApplication& a = ledger_.application(new_.back());
        new_.pop_back();
        for (NodeId root : a.left) require(root);
      }
      if (left_.empty()) continue;
      std::vector<NodeId> left = std::move(left_), right = std::move(right_);
      left_.clear(), right_.clear();
      require_proof(ledger_.closure.proof(left, right, TermClosure::ProofPaths::Forest, stop_));
    }
  }

  const llvm::DenseSet<uint32_t>& needed() const { return needed_; }

private:
  /// Records an application as the maker of new terms, down to the bindings of its variables.
  void introduce(NodeId root, llvm::ArrayRef<NodeId> bound, uint32_t application) {
    llvm::SmallVector<NodeId, 16> open{root};
    while (!open.empty()) {
      NodeId term = open.back();
      open.pop_back();
      if (llvm::is_contained(bound, term) || !maker_.try_emplace(term.index, application).second)
        continue;
      llvm::append_range(open, ledger_.terms.operands(term));
    }
  }

  void need(uint32_t application) {
    if (needed_.insert(application).second) new_.push_back(application);
  }

  void make(NodeId term) {
    auto maker = maker_.find(term.index);
    if (maker != maker_.end()) {
      if (maker->second != kOfSource) need(maker->second);
      return;
    }
    llvm::append_range(open_, ledger_.terms.operands(term));
    NodeId like = made_congruent(term);
    if (!like.valid()) return;
    open_.push_back(like);
    for (auto [mine, its] : llvm::zip(ledger_.terms.operands(term), ledger_.terms.operands(like)))
      if (!(mine == its)) left_.push_back(its), right_.push_back(mine);
  }

  /// Returns the first made term with the same operator and attributes over equal operands.
  NodeId made_congruent(NodeId term) const {
    const Node& node = ledger_.terms.node(term);
    NodeId best;
    uint32_t first = 0;
    for (uint32_t member : ledger_.closure.members(term)) {
      const Node& other = ledger_.terms.node({member});
      auto maker = maker_.find(member);
      if (maker == maker_.end() || other.op != node.op || !(other.attrs == node.attrs) ||
          other.operand_count != node.operand_count)
        continue;
      bool equal = llvm::all_of(
          llvm::zip(ledger_.terms.operands(term), ledger_.terms.operands({member})),
          [&](auto pair) { return ledger_.closure.same(std::get<0>(pair), std::get<1>(pair)); });
      uint32_t order = maker->second == kOfSource ? 0 : maker->second + 1;
      if (equal && (!best.valid() || order < first)) best = {member}, first = order;
    }
    return best;
  }

  const ExplainLedger& ledger_;
  StopToken stop_;
  llvm::DenseMap<uint32_t, uint32_t> maker_; // by term: the application that made it first
  llvm::DenseSet<uint32_t> required_, needed_;
  std::vector<uint32_t> new_;        // needed applications whose left sides are not required yet
  std::vector<NodeId> open_;         // terms to make
  std::vector<NodeId> left_, right_; // pairs of equal operands without a proof yet
};

DerivationStep forward_step(const RuleApplication& a) {
  DerivationStep step;
  step.rule = a.rule, step.classes = a.classes, step.values = a.values, step.inlined = a.inlined;
  for (uint32_t side = 0; side < a.left.size(); ++side)
    step.exchanges.push_back({a.left[side], a.right[side], side});
  return step;
}

} // namespace

std::vector<DerivationStep> makers(const ExplainLedger& ledger, const Derivation& chain,
                                   llvm::ArrayRef<TermClosure::Edge> proof, const StopToken& stop) {
  Makers all(ledger, chain, stop);
  all.require_proof(proof);
  for (NodeId node : chain.end) all.require(node);
  for (const TermClosure::Edge& edge : proof) {
    all.require(edge.from);
    all.require(edge.to);
  }
  all.close();
  llvm::DenseSet<uint32_t> proved;
  for (const TermClosure::Edge& edge : proof) proved.insert(ledger.equation(edge.why).application);
  std::vector<uint32_t> order;
  for (uint32_t application : all.needed())
    if (!proved.contains(application)) order.push_back(application);
  llvm::sort(order);
  std::vector<DerivationStep> steps;
  for (uint32_t application : order) steps.push_back(forward_step(ledger.application(application)));
  return steps;
}

} // namespace tg
