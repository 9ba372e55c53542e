// Incremental matching. A match is new if it contains a node that changed since the last search. So
// the candidate roots are the changed nodes and, level by level, their users, up to the depth of
// the deepest pattern.
#pragma once

#include "compiler/egraph/match/machine.h"
#include "compiler/rules/book.h"

#include <llvm/ADT/STLExtras.h>

#include <array>

namespace tg {

/// Nodes near a change, by operator and by distance.
class Frontier {
public:
  /// `inner` holds the operators through which a change can affect a pattern above it. `gone` holds
  /// nodes that died or were filtered, which count as changes as well.
  void compute(const EGraph& egraph, uint32_t since, uint32_t depth,
               const std::bitset<kOpCount>& inner, llvm::ArrayRef<ENodeId> gone = {});
  /// Returns live and gone nodes with the operator that changed, or that have a change at most
  /// `depth` levels below.
  llvm::ArrayRef<ENodeId> roots(OpKind op, uint32_t depth) const;
  size_t memory_bytes() const;

private:
  void mark(const EGraph& egraph, ENodeId node);
  void close_level();

  std::array<std::vector<ENodeId>, kOpCount> by_op_;       // nearest first
  std::vector<std::array<uint32_t, kOpCount>> level_ends_; // lengths of by_op_ after each level
  std::vector<ENodeId> level_, next_level_;
  std::vector<uint32_t> node_seen_, class_seen_; // equal to generation_ if seen in this pass
  uint32_t generation_ = 0;
};

/// Stops a running search or application; called periodically.
using StopCheck = llvm::function_ref<bool()>;

class Matcher {
public:
  Matcher(const EGraph& egraph, const RuleBook& book)
      : egraph_(egraph), book_(book), machine_(egraph) {}

  /// Computes the frontier of all changes since the mark, for later searches.
  void search_since(uint32_t since);
  enum class End : uint8_t { Complete, Limit, Stopped };
  /// Finds new matches of a pattern, at most `limit`. Starts at root number `start` and wraps
  /// around. At the limit, sets `start` to where to continue.
  End search(const Pattern& pattern, size_t limit, size_t& start, Rows& rows, StopCheck stop);
  /// Finds the nodes on which a native rule may have a new result.
  void search_pointwise(Rows& rows) const;
  size_t memory_bytes() const { return frontier_.memory_bytes(); }

private:
  const EGraph& egraph_;
  const RuleBook& book_;
  Machine machine_;
  Frontier frontier_;
  uint32_t since_ = 0;
};

} // namespace tg
