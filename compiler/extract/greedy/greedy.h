// Greedy extraction by tree cost: each class takes the node with the least sum of its own cost and
// the costs of its children. Shared work counts once per use. Source: egg (POPL 2021), TENSAT
// (MLSys 2021, section 5); here with a worklist, so that the work is proportional to the changes.
#pragma once

#include "compiler/extract/problem.h"

#include <llvm/ADT/STLExtras.h>

#include <functional>
#include <optional>

namespace tg {

struct GreedyResult {
  /// For every extractable class, whether or not the roots reach it.
  Choice choice;
  /// By class; infinite if the class cannot be extracted.
  std::vector<double> tree_cost;
};

/// Returns the cheapest tree of every class. `costs` (by node) replaces the problem's own if given.
/// Negative costs count as 0, since a reward would make a tree grow without end. The choice is
/// acyclic for any costs, zeros included. `stop` is polled and ends the work; then costs may not be
/// minimal, some are missing, and choices may have cycles.
GreedyResult greedy_trees(const ExtractionProblem& problem,
                          llvm::ArrayRef<double> costs = llvm::ArrayRef<double>(),
                          llvm::function_ref<bool()> stop = {});

/// Returns the greedy solution for the roots, trimmed; nullopt if a root cannot be extracted. If it
/// exceeds the byte limit, greedy is repeated with an increasing price for stored bytes until the
/// choice keeps to the limit; nullopt if no price achieves that or `stop` ended the work.
std::optional<Choice> extract_greedy(const ExtractionProblem& problem,
                                     llvm::function_ref<bool()> stop = {});

/// The same with other costs by node (for rounding and warm starts).
std::optional<Choice> extract_greedy(const ExtractionProblem& problem, llvm::ArrayRef<double> costs,
                                     llvm::function_ref<bool()> stop = {});

/// Rounds a solution of a relaxation, by node: greedy with low costs for the nodes that it chooses.
/// The choice is acyclic even if the solution is not.
std::optional<Choice> extract_rounded(const ExtractionProblem& problem, llvm::ArrayRef<double> x,
                                      llvm::function_ref<bool()> stop = {});

/// Returns a sound choice near one that may be unsound: greedy with low costs for the wanted nodes.
std::optional<Choice> extract_greedy_near(const ExtractionProblem& problem, const Choice& wanted,
                                          llvm::function_ref<bool()> stop = {});

/// Returns the roots that have no acyclic derivation of finite cost, each once, in order of the
/// roots.
std::vector<ClassIx> roots_without_solution(const ExtractionProblem& problem);

/// Greedy by the cost of distinct nodes. Each class keeps the set of classes that its choice needs
/// and takes the node with the cheapest union of its children's sets. Sharing inside a choice is
/// exact; sharing between choices is not anticipated. Source: the extraction gym's greedy-dag, here
/// with a worklist over sets that share their storage (dag_sets.h).
struct GreedyDagLimits {
  double seconds = 1e9;
  size_t memory_bytes = size_t{448} << 20; // of the sets; growing them needs as much again
  std::function<bool()> stop = {};         // polled; true acts like the time limit
  const GreedyResult* trees = nullptr;     // of the problem, if already known
};

struct GreedyDagResult {
  Choice choice; // trimmed to the classes that the roots reach
  /// The cost of the union of the roots' sets.
  double reported_cost = 0;
  /// The reason why the work ended before convergence; empty otherwise.
  std::string stopped;
};

/// Returns nullopt if a root cannot be extracted or the choice exceeds the byte limit.
std::optional<GreedyDagResult> greedy_dag(const ExtractionProblem& problem,
                                          const GreedyDagLimits& limits = {});

/// The sharing-aware cost function of Monte Carlo tree search over tensor graphs (PACT 2024), as
/// published, so that its results can be reproduced. Otherwise use greedy_dag().
///
/// A class keeps a history: the classes that its choice has paid for, and the amounts. A node pays
/// for its children in order. The first child with a history is paid in full, and its history
/// becomes the node's. A later child that is in the history is free. Any other child costs its cost
/// less the largest amount in the history that its own history has too (one overlap, not all), or
/// its full cost if it has no history.
///
/// Known errors: only one overlap is subtracted, so a nest of three levels with true cost 7 is
/// reported as 8; amounts are those at the time when they were entered; the order of children and
/// of classes matters; the function is not monotone, so stale amounts remain, and the choice can
/// even be cyclic (then greedy repairs it here; the paper does not say what it does).
struct GreedySharedResult {
  Choice choice;            // trimmed
  double reported_cost = 0; // by the cost function
  std::string note;         // if the choice was repaired or the work ended early
};

/// Returns nullopt if a root cannot be extracted. Negative costs count as 0. `stop` is polled and
/// acts like the time limit.
std::optional<GreedySharedResult> greedy_shared(const ExtractionProblem& problem, double seconds,
                                                llvm::function_ref<bool()> stop = {});

} // namespace tg
