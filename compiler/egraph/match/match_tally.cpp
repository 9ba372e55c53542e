#include "compiler/egraph/match/match_tally.h"

#include <algorithm>

namespace tg {

void MatchTally::look() {
  ++round_;
  all_made_ = false;
  since_ = mark_;
  mark_ = egraph_.change_mark();
  collect_gone();
  if (round_ > 1) // the first round searches every pattern from scratch
    changed_.compute(egraph_, since_, book_.depth(), book_.inner_ops(), lately_gone_);
}

/// Deaths and filtering are not in the change log. Neither is ever undone here, so comparing their
/// number shows whether there are new ones.
void MatchTally::collect_gone() {
  lately_gone_.clear();
  size_t count = egraph_.node_bound() - node_count(egraph_) + filtered_count(egraph_);
  if (count == gone_count_) return;
  gone_count_ = count;
  gone_.resize(egraph_.node_bound(), false);
  for (uint32_t index = 0; index < egraph_.node_bound(); ++index) {
    if (egraph_.node({index}).state == 0 || gone_[index]) continue;
    gone_[index] = true;
    lately_gone_.push_back({index});
  }
}

/// All live nodes of this round.
const Frontier& MatchTally::all() {
  if (!all_made_) all_.compute(egraph_, 0, 0, book_.inner_ops());
  all_made_ = true;
  return all_;
}

/// Returns the roots near a change, in the order of all(). Nodes that changed themselves are nearly
/// sorted already.
llvm::ArrayRef<ENodeId> MatchTally::changed_roots(const Pattern& pattern) {
  llvm::ArrayRef<ENodeId> near = changed_.roots(pattern.steps[0].op, pattern.depth);
  roots_.assign(near.begin(), near.end());
  auto older = [&](ENodeId a, ENodeId b) { return egraph_.node(a).stamp < egraph_.node(b).stamp; };
  auto others = std::is_sorted_until(roots_.begin(), roots_.end(), older);
  if (others == roots_.end()) return roots_;
  std::sort(others, roots_.end(), older);
  std::inplace_merge(roots_.begin(), others, roots_.end(), older);
  return roots_;
}

size_t MatchTally::search(uint32_t pattern_index, size_t limit, bool afresh, Rows& rows) {
  const Pattern& pattern = book_.patterns()[pattern_index];
  Known& known = patterns_[pattern_index];
  rows.clear();
  rows.width = pattern.width();
  bool whole = afresh || known.round == 0 || known.round + 1 != round_;
  if (whole) known = Known();
  known.round = 0; // until the count is complete
  for (ENodeId root : whole ? all().roots(pattern.steps[0].op, 0) : changed_roots(pattern)) {
    search_root(pattern, root, whole ? 0 : since_, known, rows);
    if (whole && known.total > limit) break;
  }
  if (known.total > limit) {
    rows.clear();
    return known.total;
  }
  known.round = round_;
  return known.total;
}

/// Counts all matches of a root, and appends the fresh ones.
void MatchTally::search_root(const Pattern& pattern, ENodeId root, uint32_t since, Known& known,
                             Rows& rows) {
  found_.clear();
  machine_.match_all(pattern, root, since, found_);
  uint32_t count = static_cast<uint32_t>(found_.fresh.size());
  auto before = known.by_root.find(root.index);
  if (before != known.by_root.end()) {
    known.total -= before->second;
    if (count == 0) known.by_root.erase(before);
  }
  if (count == 0) return;
  known.total += count;
  known.by_root[root.index] = count;
  for (uint32_t i = 0; i < count; ++i)
    if (found_.fresh[i]) rows.words.insert(rows.words.end(), found_[i], found_[i] + found_.width);
}

size_t MatchTally::memory_bytes() const {
  size_t bytes = changed_.memory_bytes() + all_.memory_bytes() + gone_.capacity() / 8 +
                 (lately_gone_.capacity() + roots_.capacity()) * sizeof(ENodeId) +
                 found_.memory_bytes();
  for (const Known& known : patterns_) bytes += known.by_root.getMemorySize();
  return bytes;
}

} // namespace tg
