// Explains why an extracted graph equals the graph from which the e-graph was built, by the chain
// of rule applications from one to the other.
//
// While exploring, the e-graph records each application that changed it, with its rule and bindings
// (EGraph::record_history), and the original operands of nodes. Recording neither hashes nor
// searches, and undo and redo treat it like any other column. Merges are not recorded, because they
// follow from applications and congruence. Explanations are computed afterwards in three steps:
//
//   ledger   names each class by the term that it was made with; each application becomes an
//            equation of two terms, its rule's sides (explain_ledger.h)
//   closure  closes the equations under congruence, with a proof forest (term_closure.h)
//   proof    selects the equations that the result follows from, in the order of a rewriting from
//            the source's outputs to the result's; an application's equations are one step
//
// The paths in the forest are not the shortest (Flatt et al. 2022, "Small proofs from congruence
// closure"). So shortest paths are tried first and checked against a closure of their equations
// alone, and unneeded steps are removed.
#pragma once

#include "compiler/egraph/egraph.h"
#include "compiler/egraph/explain/derivation.h"
#include "compiler/rules/rule.h"
#include "lang/core/support/stop.h"

namespace tg {

/// The recorded history of an e-graph: all data that an explanation needs, without the e-graph.
struct History {
  struct Maker { // the node with which a class was made
    OpKind op{};
    AttrsId attrs;
    uint32_t first = 0, arity = 0; // in `operands`
  };
  std::vector<Maker> makers; // by class
  std::vector<ClassId> operands;
  std::vector<uint32_t> applications; // EGraph::history()
};

/// Requires EGraph::recording().
History history_of(const EGraph& egraph);

inline constexpr llvm::StringLiteral kExplainStopped =
    "the search for an explanation of the result was stopped";

/// Returns the chain from `source`, from which the e-graph was built, to `result`, which was
/// extracted from it. Both are over its symbols, and RuleIds are positions in `rules`. Errors:
/// `internal` if the history does not lead there; `limit_no_answer` if it was stopped.
Result<Derivation> explain(const History& history, llvm::ArrayRef<Rule> rules, const Graph& source,
                           const Graph& result, const StopToken& stop = {});

} // namespace tg
