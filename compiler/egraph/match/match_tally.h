// What a search of the whole e-graph would find, from what changed since the last one. For each
// pattern it keeps how many matches each root has; a root is searched again only if something near
// it changed. So schedules that go by the number of all matches, as egg's backoff, need not pay for
// finding the old ones again and again.
//
// Invariant: a root's number holds until a node within the pattern's depth below it changes, dies
// or is filtered (the change log tells the first, a look at all nodes the others); the sum over all
// roots is what a search afresh would count. Matches come in the order of that search, by the
// stamps of their roots.
#pragma once

#include "compiler/egraph/match/match.h"

#include <llvm/ADT/DenseMap.h>

namespace tg {

class MatchTally {
public:
  MatchTally(const EGraph& egraph, const RuleBook& book)
      : egraph_(egraph), book_(book), machine_(egraph), patterns_(book.patterns().size()) {}

  /// Begins a round: notes what changed since the last one. Requires a rebuilt e-graph.
  void look();
  /// How many matches the pattern has, and in `rows` those that are new since the round before, or
  /// all where it was not asked for then or `afresh` is set. Above `limit` the number says only
  /// that there are more, and there are no rows.
  size_t search(uint32_t pattern, size_t limit, bool afresh, Rows& rows);
  size_t memory_bytes() const;

private:
  struct Known {
    uint32_t round = 0; // in which it was true; 0: never
    size_t total = 0;
    llvm::DenseMap<uint32_t, uint32_t> by_root; // roots that have matches
  };
  void collect_gone();
  const Frontier& all();
  llvm::ArrayRef<ENodeId> changed_roots(const Pattern& pattern);
  void search_root(const Pattern& pattern, ENodeId root, uint32_t since, Known& known, Rows& rows);

  const EGraph& egraph_;
  const RuleBook& book_;
  Machine machine_;
  std::vector<Known> patterns_;
  Frontier changed_, all_;
  bool all_made_ = false; // in this round
  uint32_t round_ = 0, since_ = 0, mark_ = 0;
  // Nodes that died or were filtered: all that are known, and those new in this round.
  std::vector<bool> gone_;
  size_t gone_count_ = 0;
  std::vector<ENodeId> lately_gone_, roots_;
  Rows found_; // of one root
};

} // namespace tg
