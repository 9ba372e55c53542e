// An e-graph together with rules, as something to act on: what can be done in a state, doing it,
// and going back. The common ground of the tree searches; local search acts on it too.
//
// Two grains of action. A rule everywhere: all its matches, one iteration, as published. And a
// match: one place. Matches are found as the e-graph grows: `find_new` looks around what changed
// since a mark, so that the matches of a state are those of the states before it and a few more.
// Matches with equal rule, values and types form a group: twelve equal layers have one group for
// what can be done in each of them.
#pragma once

#include "compiler/egraph/apply.h"
#include "compiler/egraph/egraph.h"
#include "compiler/search/saturate.h"

#include <string>

namespace tg {

/// One place where one rule can be applied.
struct Match {
  RuleId rule{};
  uint64_t group = 0;                    // equal for what looks equal, over any symbols
  llvm::SmallVector<uint32_t, 12> words; // a row: roots, classes, values in the rule's numbering
};

struct ExplorerOptions {
  size_t node_limit = 2'000;
  /// Most matches of one rule that one search returns.
  size_t match_limit = 1'000;
  CycleFilter cycle_filter = CycleFilter::Efficient;
  Numerics numerics = Numerics::Risky; // rules of a class above this are left out
};

class Explorer {
public:
  Explorer(EGraph& egraph, llvm::ArrayRef<Rule> rules, const ExplorerOptions& options);

  EGraph& egraph() { return egraph_; }
  const EGraph& egraph() const { return egraph_; }
  const std::vector<const CompiledRule*>& rules() const { return enabled_; }
  const CompiledRule& rule(RuleId id) const { return *by_id_[id]; }
  bool enabled(RuleId id) const { return llvm::is_contained(enabled_, by_id_[id]); }
  bool full() const { return egraph_.node_count() >= options_.node_limit; }

  /// Rebuilds, and filters what closes cycles. Every action ends with it.
  void settle();
  /// To call after rollback and redo: the cycle filter's order belongs to another state.
  void moved() { order_is_old_ = true; }

  // --- a rule everywhere ------------------------------------------------------------------------
  struct Step {
    size_t matches = 0, applied = 0, cyclic = 0;
    bool complete = true; // no limit stopped it
  };
  Step apply_everywhere(const CompiledRule& rule);
  /// For each enabled rule, in their order:
  /// whether each of its left sides occurs somewhere, by itself.
  std::vector<bool> occurring();

  // --- a match ----------------------------------------------------------------------------------
  /// Appends the matches of all rules that something changed since the mark is part of, of all
  /// groups or of those that are wanted.
  void find_new(
      uint32_t since, std::vector<Match>& out,
      llvm::function_ref<bool(uint64_t)> wanted = [](uint64_t) { return true; });
  /// Applies a match as it stands, which may be one of an earlier state; or one that was found in
  /// the original of which this e-graph is a replica: then `from` says what its values are here.
  /// Does not settle.
  Outcome apply(const Match& match, SymbolMap* from = nullptr);

  size_t memory_bytes() const;

private:
  size_t find(const CompiledRule& rule, uint32_t since);
  void look_since(uint32_t since);
  bool occurs(uint32_t pattern);
  Outcome apply_row(const CompiledRule& rule, size_t row);
  void append(const CompiledRule& rule, std::vector<Match>& out,
              llvm::function_ref<bool(uint64_t)> wanted);
  uint64_t group_of(const CompiledRule& rule, llvm::ArrayRef<uint32_t> joint);
  /// A row of the rule's only source, in the form of joint rows.
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
  std::vector<int8_t> occurs_; // by pattern, in what is looked at; -1: not known yet
  Rows rows_;
  JointRows joint_;
  bool order_is_old_ = false;
};

/// A number for a state that does not depend on the order of the steps that led there, nor on the
/// numbering of nodes and classes: a sum over classes of hashes of their terms, bottom up. Usable
/// nodes below the roots count. Equal only within one symbol table.
uint64_t fingerprint(const EGraph& egraph);

// Where a rule was applied, in words: an operator of an e-graph is named by what it is and by the
// nearest weights or inputs below it, which is how people know the layers of a network.

/// "conv2d f32[1, 64, 54, 54] of fire2.squeeze.weight"; "relu f32[4, 8] of x" where there is no
/// weight. Looks down first operands for a few levels.
std::string place_text(const EGraph& egraph, ENodeId node);

} // namespace tg
