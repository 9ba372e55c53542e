// The worklist of greedy algorithms: a node is looked at when the last of its children gets a
// value, and again when one gets a better one; at most once at a time.
#pragma once

#include "compiler/extract/problem.h"

#include <llvm/ADT/BitVector.h>

#include <deque>

namespace tg {

class NodeWorklist {
public:
  /// `FirstCome`: in the order in which they came to be ready. `ChildrenFirst`: in sweeps over all
  /// classes, children before users; where there is no cycle each node is looked at once.
  enum class Order : uint8_t { FirstCome, ChildrenFirst };

  /// Holds the usable nodes without children.
  NodeWorklist(const ExtractionProblem& problem, Order order);

  bool empty() const { return waiting_ == 0; }
  NodeIx pop();
  /// The class has a value, or a better one: its users wait, as far as they miss nothing else.
  void update_users(ClassIx cls, bool first);

private:
  void push(NodeIx node);

  const ExtractionProblem& problem_;
  std::vector<uint32_t> missing_; // by node: distinct children without a value
  size_t waiting_ = 0;
  std::deque<NodeIx> queue_; // FirstCome
  // ChildrenFirst: where a node stands, and who stands there.
  std::vector<uint32_t> place_;
  std::vector<NodeIx> at_;
  llvm::BitVector queued_; // by node, or by place
  int last_ = -1;
};

} // namespace tg
