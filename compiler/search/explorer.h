// Applies rules to an e-graph and undoes them: the operations that tree search and local search
// are built on.
//
// There are two granularities of action. A rule can be applied everywhere: all its matches, as in
// one published saturation iteration. A single match can be applied at one place. Matches are found
// incrementally: `find_new` searches near the changes since a mark, so the matches of a state are
// those of its ancestors plus the new ones. Matches with equal rule, values and types form a group:
// in a network of twelve equal layers, the corresponding matches of all layers share one group.
#pragma once

#include "compiler/egraph/apply.h"
#include "compiler/egraph/egraph.h"
#include "compiler/search/saturate.h"

#include <string>

namespace tg {

/// A place where a rule can be applied.
struct Match {
  RuleId rule{};
  uint64_t group = 0;                    // equal for matches that look alike, over any symbol table
  llvm::SmallVector<uint32_t, 12> words; // a row: roots, classes and values in the rule's numbering
};

struct ExplorerOptions {
  size_t node_limit = 2'000;
  /// Maximum number of matches of one rule that one search returns.
  size_t match_limit = 1'000;
  CycleFilter cycle_filter = CycleFilter::Efficient;
  Numerics numerics = Numerics::Risky; // rules of a riskier class are skipped
};

class Explorer {
public:
  Explorer(EGraph& egraph, llvm::ArrayRef<Rule> rules, const ExplorerOptions& options);

  EGraph& egraph() { return egraph_; }
  const EGraph& egraph() const { return egraph_; }
  const std::vector<const CompiledRule*>& rules() const { return enabled_; }
  const CompiledRule& rule(RuleId id) const { return *by_id_[id]; }
  bool enabled(RuleId id) const { return llvm::is_contained(enabled_, by_id_[id]); }
  bool full() const { return node_count(egraph_) >= options_.node_limit; }

  /// Rebuilds the e-graph and filters the nodes that close cycles. Every action ends with it.
  void rebuild();
  /// Must be called after rollback and redo, because the cycle filter's order is then out of date.
  void moved() { order_is_old_ = true; }

  // --- a rule everywhere ------------------------------------------------------------------------
  struct Step {
    size_t matches = 0, applied = 0, cyclic = 0;
    bool complete = true; // no limit stopped it
  };
  Step apply_everywhere(const CompiledRule& rule);
  /// Returns, for each enabled rule in order, whether each of its left sides has a match by itself.
  std::vector<bool> occurring();

  // --- a match ----------------------------------------------------------------------------------
  /// Appends the matches of all rules that involve a change since the mark. `wanted` selects
  /// groups; by default all groups are included.
  void find_new(
      uint32_t since, std::vector<Match>& out,
      llvm::function_ref<bool(uint64_t)> wanted = [](uint64_t) { return true; });
  /// Applies a match unchanged. The match may come from an earlier state, or from the original of
  /// which this e-graph is a replica; in the latter case `from` maps its values to this e-graph's
  /// symbols. Does not rebuild.
  Outcome apply(const Match& match, SymbolMap* from = nullptr);

  size_t memory_bytes() const;

private:
  size_t find(const CompiledRule& rule, uint32_t since);
  void search_since(uint32_t since);
  bool occurs(uint32_t pattern);
  Outcome apply_row(const CompiledRule& rule, size_t row);
  void append(const CompiledRule& rule, std::vector<Match>& out,
              llvm::function_ref<bool(uint64_t)> wanted);
  uint64_t group_of(const CompiledRule& rule, llvm::ArrayRef<uint32_t> joint);
  /// Converts a row of a single-source rule to the form of joint rows.
  void widen(const CompiledRule& rule, const uint32_t* row,
             llvm::SmallVectorImpl<uint32_t>& words) const;
  void refresh_order();

  EGraph& egraph_;
  ExplorerOptions options_;
  RuleBook book_;
  Matcher matcher_;
  Joiner joiner_;
  Cycles cycles_;
  Applier applier_;
  SymbolHash symbol_hash_;
  std::vector<const CompiledRule*> enabled_, by_id_;
  std::vector<int8_t> occurs_; // by pattern: whether it occurs in the current frontier; -1: unknown
  Rows rows_;
  JointRows joint_;
  bool order_is_old_ = false;
};

// Describes where a rule was applied. An operator is named by its kind and by the nearest weight or
// input below it, as people name the layers of a network.

/// Returns a text such as "conv2d f32[1, 64, 54, 54] of fire2.squeeze.weight", or "relu f32[4, 8]
/// of x" if no weight is near. Searches first operands for a few levels only.
std::string place_text(const EGraph& egraph, ENodeId node);

} // namespace tg
