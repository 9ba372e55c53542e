// Joins matches for multi-pattern rules. The matches of each source are joined source by source
// with a hash join on the common variables, never by a Cartesian product. A joint match is new if
// one of its parts is fresh: if a merge makes two old parts join, it renames and so freshens one of
// them.
//
// Joins of two sources are not stored. A cursor returns their rows in chunks, so a rule with
// millions of joint matches only needs memory for its parts, and a limit stops it early.
#pragma once

#include "compiler/egraph/match/match.h"

#include <deque>

namespace tg {

/// Joint matches of a rule: roots, then classes, then values in the rule's numbering.
struct JointRows {
  uint32_t roots = 0, classes = 0, values = 0;
  Rows rows;
  llvm::ArrayRef<uint32_t> row(size_t i) const { return {rows[i], rows.width}; }
};

/// A chained hash index over rows on the words at `key`, and another one over fresh rows only, for
/// joins that need a fresh row.
struct RowIndex {
  struct Chains {
    std::vector<uint32_t> heads, next; // row + 1; 0 ends. Empty if no row is chained
  };
  uint32_t pattern = 0;
  llvm::SmallVector<uint32_t, 8> key;
  Chains all, fresh;
  uint32_t mask = 0;
};

/// Iterates over the join of a rule's sources. Must not outlive the Joiner's rows.
class JointCursor {
public:
  /// Appends up to `count` new joint matches. For a symmetric rule, returns each pair once, and no
  /// pairs of matches of the same class. Returns false if stopped; adds no rows if there are no
  /// more.
  bool fill(size_t count, JointRows& out, StopCheck stop);
  /// Returns an empty set of rows in the rule's form.
  JointRows form() const;
  size_t memory_bytes() const { return left_.rows.memory_bytes(); }

private:
  friend class Joiner;
  const RowIndex::Chains& chains() const;
  void load_left();
  bool fits(uint32_t other) const;
  void emit(uint32_t other, JointRows& out) const;

  const EGraph* egraph_ = nullptr;
  const CompiledRule* rule_ = nullptr;
  size_t source_ = 1; // joined to the earlier sources
  bool only_fresh_ = true;
  // Left: rows of the first source, or joint rows of several.
  const Rows* first_ = nullptr;
  JointRows left_;
  // Right: rows of the source, indexed by the variables in common with the left.
  const Rows* right_ = nullptr;
  const RowIndex* index_ = nullptr;
  llvm::SmallVector<uint32_t, 8> left_key_; // word positions in joint rows, as index_->key
  // Position: the left row in joint form, and the next candidate.
  size_t row_ = 0;
  bool loaded_ = false;
  uint32_t link_ = 0;
  bool left_fresh_ = false;
  llvm::SmallVector<uint32_t, 24> current_;
};

/// Matches of all patterns that are sources of multi-pattern rules, and their joins.
class Joiner {
public:
  Joiner(const EGraph& egraph, const RuleBook& book)
      : egraph_(egraph), book_(book), machine_(egraph), found_(book.patterns().size()) {}

  /// Finds all matches of the rule's sources, once for each pattern, and marks those that are fresh
  /// since the mark. Returns false if stopped.
  bool search(const CompiledRule& rule, uint32_t since, StopCheck stop);
  /// Requires search(). Returns false if stopped.
  bool start(const CompiledRule& rule, JointCursor& cursor, StopCheck stop);
  void clear();
  size_t memory_bytes() const;

private:
  JointCursor cursor(const CompiledRule& rule, size_t source);
  const RowIndex& index(uint32_t pattern, llvm::ArrayRef<uint32_t> key);

  const EGraph& egraph_;
  const RuleBook& book_;
  Machine machine_;
  std::vector<std::optional<Rows>> found_; // by pattern
  std::deque<RowIndex> indexes_;           // a deque: cursors point to them
};

} // namespace tg
