// Multi-pattern rules: matches of each source are joined on the variables that the sources share,
// by hash, source after source; never a Cartesian product. A joint match is new if one of its parts
// is fresh: what made two old parts fit was a merge, which renamed, and so freshened, one of them.
#pragma once

#include "compiler/egraph/match.h"

namespace tg {

/// Rows of a rule's joint matches: roots, then classes, then values in the rule's numbering.
struct JointRows {
  uint32_t roots = 0, classes = 0, values = 0;
  Rows rows;
  llvm::ArrayRef<uint32_t> row(size_t i) const { return {rows[i], rows.width}; }
};

/// Matches of all patterns that are sources of multi-pattern rules, and their joins.
class Joiner {
public:
  Joiner(const EGraph& egraph, const RuleBook& book)
      : egraph_(egraph), book_(book), machine_(egraph), found_(book.patterns().size()) {}

  /// All matches of the sources of the rule, once for each pattern; fresh by the mark. False if
  /// stopped.
  bool search(const CompiledRule& rule, uint32_t since, StopCheck stop);
  /// New joint matches, at most `limit` rows. A symmetric rule gets each pair once. Matches of one
  /// class with itself are left out. False if stopped.
  bool join(const CompiledRule& rule, size_t limit, JointRows& out, StopCheck stop);
  void clear();
  size_t memory_bytes() const;

private:
  /// Chained hash index over the rows of a source, on the words at `key`.
  struct Index {
    std::vector<uint32_t> heads, next; // row + 1; 0 ends
    uint32_t mask = 0;
  };
  struct Step {
    const Rows* rows = nullptr;
    const PatternUse* use = nullptr;
    llvm::SmallVector<uint32_t, 8> key_source, key_target; // word positions of shared variables
  };
  Step plan(const CompiledRule& rule, size_t source, const JointRows& layout) const;
  static uint32_t hash(const uint32_t* row, llvm::ArrayRef<uint32_t> key);
  static void build(const Step& step, Index& index);
  void seed(const CompiledRule& rule, JointRows& out) const;
  bool extend(const CompiledRule& rule, size_t source, JointRows& from, JointRows& to, size_t limit,
              StopCheck stop) const;
  bool fits(const JointRows& from, size_t row, const Step& step, uint32_t other, size_t source,
            bool symmetric) const;

  const EGraph& egraph_;
  const RuleBook& book_;
  Machine machine_;
  std::vector<std::optional<Rows>> found_; // by pattern
};

} // namespace tg
