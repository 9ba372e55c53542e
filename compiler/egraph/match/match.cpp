#include "compiler/egraph/match/match.h"

namespace tg {

void Frontier::mark(const EGraph& egraph, ENodeId node) {
  if (node_seen_[node.index] == generation_) return;
  node_seen_[node.index] = generation_;
  by_op_[static_cast<size_t>(egraph.node(node).op)].push_back(node);
  next_level_.push_back(node);
}

void Frontier::close_level() {
  std::array<uint32_t, kOpCount> ends{};
  for (size_t op = 0; op < kOpCount; ++op) ends[op] = static_cast<uint32_t>(by_op_[op].size());
  level_ends_.push_back(ends);
  std::swap(level_, next_level_);
  next_level_.clear();
}

void Frontier::compute(const EGraph& egraph, uint32_t since, uint32_t depth,
                       const std::bitset<kOpCount>& inner, llvm::ArrayRef<ENodeId> gone) {
  for (auto& list : by_op_) list.clear();
  level_ends_.clear();
  next_level_.clear();
  node_seen_.resize(egraph.node_bound(), 0);
  class_seen_.resize(egraph.class_bound(), 0);
  ++generation_;
  llvm::ArrayRef<ENodeId> changes = egraph.changes_since(since);
  for (size_t i = 0; i < changes.size(); ++i) {
    ENodeId node = changes[i];
    if (egraph.node(node).stamp != since + i || !egraph.node(node).alive()) continue;
    mark(egraph, node);
  }
  for (ENodeId node : gone) mark(egraph, node);
  close_level();
  for (uint32_t distance = 1; distance <= depth; ++distance) {
    for (ENodeId node : level_) {
      if (!inner.test(static_cast<size_t>(egraph.node(node).op))) continue;
      ClassId id = class_of(egraph, node);
      if (class_seen_[id.index] == generation_) continue;
      class_seen_[id.index] = generation_;
      egraph.for_users(id, [&](ENodeId user) { mark(egraph, user); });
    }
    close_level();
  }
}

llvm::ArrayRef<ENodeId> Frontier::roots(OpKind op, uint32_t depth) const {
  size_t level = std::min<size_t>(depth, level_ends_.size() - 1);
  return llvm::ArrayRef<ENodeId>(by_op_[static_cast<size_t>(op)])
      .take_front(level_ends_[level][static_cast<size_t>(op)]);
}

size_t Frontier::memory_bytes() const {
  size_t bytes = (node_seen_.capacity() + class_seen_.capacity() + level_.capacity() +
                  next_level_.capacity()) *
                 sizeof(uint32_t);
  for (const auto& list : by_op_) bytes += list.capacity() * sizeof(ENodeId);
  return bytes;
}

void Matcher::search_since(uint32_t since) {
  since_ = since;
  frontier_.compute(egraph_, since, book_.depth(), book_.inner_ops());
}

Matcher::End Matcher::search(const Pattern& pattern, size_t limit, size_t& start, Rows& rows,
                             StopCheck stop) {
  rows.width = pattern.width();
  llvm::ArrayRef<ENodeId> roots = frontier_.roots(pattern.steps[0].op, pattern.depth);
  size_t first = start < roots.size() ? start : 0;
  for (size_t i = 0; i < roots.size(); ++i) {
    size_t at = first + i < roots.size() ? first + i : first + i - roots.size();
    machine_.match(pattern, roots[at], since_, limit, rows);
    if (rows.size() >= limit) return start = at + 1, End::Limit;
    if ((i & 255) == 255 && stop()) return End::Stopped;
  }
  return End::Complete;
}

void Matcher::search_pointwise(Rows& rows) const {
  rows.width = 1;
  for (const OpInfo& op : all_ops()) {
    if (!op.has(Trait::Pointwise)) continue;
    for (ENodeId node : frontier_.roots(op.kind, 1))
      if (egraph_.node(node).state == 0) rows.words.push_back(node.index);
  }
}

} // namespace tg
