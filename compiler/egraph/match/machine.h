// E-matching: runs a compiled pattern from one node by backtracking over a flat stack with one
// level per step (de Moura and Bjørner, CADE 2007, without code sharing). Filtered nodes do not
// match.
//
// Matches are rows of words in one buffer: root node, classes and values in the pattern's
// numbering. A row is fresh if one of its nodes changed since a mark; all other rows were found
// before.
#pragma once

#include "compiler/egraph/egraph.h"
#include "compiler/rules/pattern.h"

namespace tg {

/// Rows of one width.
struct Rows {
  uint32_t width = 1;
  std::vector<uint32_t> words;
  std::vector<bool> fresh; // by row; empty if all are fresh
  size_t size() const { return words.size() / width; }
  const uint32_t* operator[](size_t i) const { return words.data() + i * width; }
  void clear() { words.clear(), fresh.clear(); }
  size_t memory_bytes() const { return words.capacity() * sizeof(uint32_t); }
};

class Machine {
public:
  explicit Machine(const EGraph& egraph) : egraph_(egraph) {}
  /// Appends the fresh matches of the pattern with this root until `rows` has `limit` rows.
  /// Requires a rebuilt e-graph.
  void match(const Pattern& pattern, ENodeId root, uint32_t since, size_t limit, Rows& rows);
  /// Appends all matches, and marks the fresh ones.
  void match_all(const Pattern& pattern, ENodeId root, uint32_t since, Rows& rows);

private:
  struct Level {
    uint32_t node = 0;   // chosen
    uint32_t cursor = 0; // next to try
    uint32_t left = 0;
    bool fresh = false; // this or an earlier choice changed since the mark
  };
  void run(const Pattern& pattern, ENodeId root, uint32_t since, Rows& rows);
  bool accept(const PatternStep& step, ENodeId node);
  void open(const Pattern& pattern, uint32_t level);
  bool advance(const Pattern& pattern, uint32_t level, uint32_t since);
  void emit(const Pattern& pattern, Rows& rows) const;

  const EGraph& egraph_;
  bool fresh_only_ = true;
  size_t limit_ = SIZE_MAX;
  llvm::SmallVector<Level, 8> levels_;
  llvm::SmallVector<uint32_t, 16> classes_, values_;
};

} // namespace tg
