// A sweep walks over the bits of the waiting nodes and restarts at the end. So taking the next node
// costs almost nothing, however many wait.
#include "compiler/extract/greedy/worklist.h"

#include "compiler/extract/problem.h"

namespace tg {

NodeWorklist::NodeWorklist(const ExtractionProblem& problem, Order order)
    : problem_(problem), missing_(problem.node_count()),
      queued_(static_cast<unsigned>(problem.node_count())) {
  for (uint32_t c = 0; c < problem.class_count(); ++c)
    for (NodeIx node : problem.users({c})) ++missing_[node.index];
  if (order == Order::ChildrenFirst) {
    place_.resize(problem.node_count());
    at_.reserve(problem.node_count());
    for (ClassIx cls : children_first(problem))
      for (NodeIx node : problem.nodes(cls)) {
        place_[node.index] = static_cast<uint32_t>(at_.size());
        at_.push_back(node);
      }
  }
  for (uint32_t n = 0; n < problem.node_count(); ++n)
    if (missing_[n] == 0) push({n});
}

void NodeWorklist::push(NodeIx node) {
  uint32_t bit = place_.empty() ? node.index : place_[node.index];
  if (queued_.test(bit) || !problem_.usable(node)) return;
  queued_.set(bit);
  ++waiting_;
  if (place_.empty()) queue_.push_back(node);
}

NodeIx NodeWorklist::pop() {
  --waiting_;
  if (place_.empty()) {
    NodeIx node = queue_.front();
    queue_.pop_front();
    queued_.reset(node.index);
    return node;
  }
  last_ = last_ < 0 ? queued_.find_first() : queued_.find_next(static_cast<unsigned>(last_));
  if (last_ < 0) last_ = queued_.find_first();
  queued_.reset(static_cast<unsigned>(last_));
  return at_[static_cast<size_t>(last_)];
}

void NodeWorklist::update_users(ClassIx cls, bool first) {
  for (NodeIx user : problem_.users(cls)) {
    if (first) --missing_[user.index];
    if (missing_[user.index] == 0) push(user);
  }
}

} // namespace tg
