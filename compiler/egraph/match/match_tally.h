// Computes the result of a search of the whole e-graph from the changes since the last one. For
// each pattern it stores the number of matches of each root. A root is searched again only after a
// change near it. So schedules that depend on the number of all matches, as egg's backoff, do not
// have to find old matches repeatedly.
//
// Invariant: a root's number is valid until a node within the pattern's depth below it changes,
// dies or is filtered. (The change log records changes; deaths and filtering are found by a scan of
// all nodes.) The sum over all roots equals the count of a search from scratch. Matches come in the
// order of that search, by the stamps of their roots.
#pragma once

#include "compiler/egraph/match/match.h"

#include <llvm/ADT/DenseMap.h>

namespace tg {

class MatchTally {
public:
  MatchTally(const EGraph& egraph, const RuleBook& book)
      : egraph_(egraph), book_(book), machine_(egraph), patterns_(book.patterns().size()) {}

  /// Starts a round: records the changes since the last one. Requires a rebuilt e-graph.
  void look();
  /// Returns the number of matches of the pattern. Sets `rows` to the matches that are new since
  /// the previous round, or to all if the pattern was not searched then or `afresh` is set. If the
  /// number exceeds `limit`, it is only a lower bound, and `rows` is empty.
  size_t search(uint32_t pattern, size_t limit, bool afresh, Rows& rows);
  size_t memory_bytes() const;

private:
  struct Known {
    uint32_t round = 0; // for which the counts are valid; 0: none
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
  // Nodes that died or were filtered: all of them, and the new ones of this round.
  std::vector<bool> gone_;
  size_t gone_count_ = 0;
  std::vector<ENodeId> lately_gone_, roots_;
  Rows found_; // of one root
};

} // namespace tg
