// Why a graph that was extracted equals the graph that an e-graph was made from: the chain of rule
// applications from one to the other.
//
// While exploring, the e-graph notes of each application that changed something which rule it was
// and what it bound (EGraph::record_history), and the operands that nodes were made with; nothing
// is hashed or searched, and undo and redo treat it like any other column. Merges need no record of
// their own: they follow from applications and congruence. An explanation is made of that
// afterwards, in three steps:
//
//   ledger   each class is named by the term that it was made with; each application then is an
//            equation of two terms, its rule's sides (explain_ledger.h)
//   closure  the equations and congruence, with a proof forest (term_closure.h)
//   proof    the equations that the result follows from, in the order of a rewriting from the
//            source's outputs to the result's; an application's equations are one step
//
// As Flatt et al. (2022, "Small proofs from congruence closure") found, the forest's paths are not
// the shortest: so shortest ways are tried first, checked against a closure of their equations
// alone, and what is not needed is taken out.
#pragma once

#include "compiler/egraph/egraph.h"
#include "compiler/egraph/explain/derivation.h"
#include "compiler/rules/rule.h"
#include "lang/core/support/stop.h"

namespace tg {

/// What an e-graph noted of its way to a state: all that an explanation needs, without the e-graph.
struct History {
  struct Maker { // the node that a class was made with
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
    "the explanation of the result was ended before it was found";

/// The chain from `source`, which the e-graph was made from, to `result`, which was extracted from
/// it; both over its symbols, RuleIds as positions in `rules`. Errors: `internal` if the history
/// does not lead there; `limit_no_answer` if it was stopped.
Result<Derivation> explain(const History& history, llvm::ArrayRef<Rule> rules, const Graph& source,
                           const Graph& result, const StopToken& stop = {});

} // namespace tg
