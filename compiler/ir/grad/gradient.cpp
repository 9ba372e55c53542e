#include "compiler/ir/grad/gradient.h"

#include "compiler/ir/grad/rules.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/STLExtras.h>

#include <algorithm>

namespace tg {

namespace {

using grad::Reverse;

/// Keeps a repeated or reshaped number a single constant, because the loss's constant seed
/// propagates far.
class GradientBuilder : public NodeBuilder {
public:
  using NodeBuilder::NodeBuilder;

private:
  NodeId simplified(NodeId made) override {
    OpKind op = graph().node(made).op;
    if (op != OpKind::Reshape && op != OpKind::Broadcast) return made;
    NodeId x = graph().operands(made)[0];
    if (graph().node(x).op != OpKind::Constant || graph().attr(x, 0).reals.size() != 1) return made;
    return filled(graph().attr(x, 0).reals[0], type(made));
  }
};

/// One traversal downwards: at the top level from the loss to the targets, nested from the
/// operators that replace another one to its operands.
class Walk {
public:
  Walk(NodeBuilder& build, llvm::ArrayRef<NodeId> targets, llvm::ArrayRef<NodeId> ends)
      : b_(build) {
    lowest_ = UINT32_MAX;
    for (NodeId target : targets) {
      targets_.insert(target.index);
      lowest_ = std::min(lowest_, target.index);
    }
    for (NodeId end : ends) ends_.insert(end.index);
  }

  /// Returns false if an operator has no gradient.
  bool run(NodeId root, NodeId seed, NoGradient& why) {
    const std::vector<uint32_t> below = reached(root);
    for (uint32_t i : below)
      if (targets_.count(i) ||
          (passes({i}) && llvm::any_of(b_.graph().operands({i}),
                                       [&](NodeId x) { return depends_.count(x.index); })))
        depends_.insert(i);
    shares_[root.index] = {seed};
    for (uint32_t i : llvm::reverse(below)) {
      bool open = depends_.count(i) && passes({i}) && shares_.count(i);
      if (open && !step({i}, sum({i}), why)) return false;
    }
    return true;
  }

  /// Returns an invalid node if no gradient reached the target.
  NodeId gradient(NodeId node) {
    return targets_.count(node.index) && shares_.count(node.index) ? sum(node) : NodeId();
  }

private:
  bool passes(NodeId node) const {
    return !ends_.count(node.index) && grad::carries(b_.graph(), node);
  }

  /// Returns all nodes below the root that may depend on a target, operands first.
  std::vector<uint32_t> reached(NodeId root) const {
    std::vector<uint32_t> found, worklist = {root.index};
    llvm::DenseSet<uint32_t> seen = {root.index};
    while (!worklist.empty()) {
      uint32_t at = worklist.back();
      worklist.pop_back();
      if (at < lowest_) continue;
      found.push_back(at);
      if (!passes({at})) continue;
      for (NodeId operand : b_.graph().operands({at}))
        if (seen.insert(operand.index).second) worklist.push_back(operand.index);
    }
    llvm::sort(found);
    return found;
  }

  bool step(NodeId node, NodeId dy, NoGradient& why) {
    Reverse::Walk below = [&](Reverse& r, NodeId equal) {
      llvm::SmallVector<NodeId, 5> targets;
      for (size_t i = 0; i < r.operands.size(); ++i)
        if (r.wanted(i)) targets.push_back(r.operands[i]);
      Walk walk(b_, targets, r.operands);
      NoGradient inside;
      if (!walk.run(equal, r.dy, inside)) return r.refuse(inside.why);
      llvm::DenseSet<uint32_t> given; // if operands are the same node, the first receives it all
      for (size_t i = 0; i < r.operands.size(); ++i)
        if (NodeId share = walk.gradient(r.operands[i]);
            r.wanted(i) && share.valid() && given.insert(r.operands[i].index).second)
          r.add_gradient(i, share);
    };
    std::vector<bool> wanted;
    for (NodeId operand : b_.graph().operands(node))
      wanted.push_back(depends_.count(operand.index));
    Reverse reverse(b_, node, dy, std::move(wanted), below);
    grad::rule_of(b_.graph().node(node).op)(reverse);
    if (!reverse.why().empty()) {
      why.why = reverse.why();
      for (NodeId at = node; at.valid(); at = user_.lookup(at.index)) why.way.push_back(at);
      std::reverse(why.way.begin(), why.way.end());
      return false;
    }
    for (size_t i = 0; i < reverse.operands.size(); ++i)
      if (reverse.wanted(i)) receive(reverse.operands[i], reverse.given()[i], node);
    return true;
  }

  void receive(NodeId operand, NodeId share, NodeId user) {
    if (!share.valid()) return;
    std::vector<NodeId>& shares = shares_[operand.index];
    if (shares.empty()) user_[operand.index] = user;
    shares.push_back(share);
  }

  /// Returns the sum of all shares. It is complete, because users come after the node in the order.
  NodeId sum(NodeId node) {
    std::vector<NodeId>& shares = shares_[node.index];
    shares = {grad::sum_of_shares(b_, std::move(shares))};
    return shares[0];
  }

  NodeBuilder& b_;
  llvm::DenseSet<uint32_t> targets_, ends_, depends_;
  uint32_t lowest_;
  llvm::DenseMap<uint32_t, std::vector<NodeId>> shares_; // gradients received by each node
  llvm::DenseMap<uint32_t, NodeId> user_;                // the first user that sent one
};

} // namespace

std::optional<std::vector<NodeId>> gradients(Graph& graph, NodeId loss, llvm::ArrayRef<NodeId> wrt,
                                             llvm::ArrayRef<NodeId> constant, NoGradient& why) {
  GradientBuilder build(graph);
  Walk walk(build, wrt, constant);
  if (!walk.run(loss, build.filled(1, graph.type(loss)), why)) return std::nullopt;
  std::vector<NodeId> result;
  for (NodeId node : wrt) {
    NodeId found = walk.gradient(node);
    result.push_back(found.valid() ? found : build.filled(0, graph.type(node)));
  }
  if (build.failed()) {
    why = {build.take_fault(), {loss}};
    return std::nullopt;
  }
  return result;
}

} // namespace tg
