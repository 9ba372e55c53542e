// The worklist of greedy algorithms. A node is queued when the last of its children gets a value,
// and again when a child gets a better one; it is in the queue at most once.
#pragma once

#include "compiler/extract/problem.h"

#include <llvm/ADT/BitVector.h>

#include <deque>

namespace tg {

class NodeWorklist {
public:
  /// `FirstCome`: the order in which nodes became ready. `ChildrenFirst`: sweeps over all classes,
  /// children before users; without cycles each node is visited once.
  enum class Order : uint8_t { FirstCome, ChildrenFirst };

  /// Starts with the usable nodes that have no children.
  NodeWorklist(const ExtractionProblem& problem, Order order);

  bool empty() const { return waiting_ == 0; }
  NodeIx pop();
  /// Notes that the class has its first or a better value, and queues its users that miss no
  /// other child.
  void update_users(ClassIx cls, bool first);

private:
  void push(NodeIx node);

  const ExtractionProblem& problem_;
  std::vector<uint32_t> missing_; // by node: distinct children without a value
  size_t waiting_ = 0;
  std::deque<NodeIx> queue_; // FirstCome
  // ChildrenFirst: the place of each node, and the node at each place.
  std::vector<uint32_t> place_;
  std::vector<NodeIx> at_;
  llvm::BitVector queued_; // by node or by place
  int last_ = -1;
};

} // namespace tg
