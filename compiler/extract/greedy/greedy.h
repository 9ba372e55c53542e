// Greedy extraction on tree cost: in every class the node whose own cost plus the costs of its
// children is least, shared work counted once per use. Source: egg (POPL 2021), TENSAT (MLSys
// 2021, section 5); here in worklist form, so that the work is proportional to what changes.
#pragma once

#include "compiler/extract/problem.h"

#include <llvm/ADT/STLExtras.h>

#include <functional>
#include <optional>

namespace tg {

struct GreedyResult {
  /// For every class that can be extracted, roots or not.
  Choice choice;
  /// By class; infinite where nothing can be extracted.
  std::vector<double> tree_cost;
};

/// The cheapest tree of every class. `costs` (by node) replaces the problem's own if given.
/// Negative costs count as 0: under a reward a tree would grow without end. The choice is acyclic
/// whatever the costs, zeros included. `stop`, asked now and then, ends the work: then costs are
/// not the least, some are missing, and choices may close cycles.
GreedyResult greedy_trees(const ExtractionProblem& problem,
                          llvm::ArrayRef<double> costs = llvm::ArrayRef<double>(),
                          llvm::function_ref<bool()> stop = {});

/// The greedy solution for the roots, trimmed to what they reach; nullopt if a root cannot be
/// extracted. Over the byte limit, the bytes that a node makes stored are priced higher and higher
/// until the choice keeps to it; nullopt if none does, or where `stop` said so.
std::optional<Choice> extract_greedy(const ExtractionProblem& problem,
                                     llvm::function_ref<bool()> stop = {});

/// The same under other costs by node (for rounding and warm starts).
std::optional<Choice> extract_greedy(const ExtractionProblem& problem, llvm::ArrayRef<double> costs,
                                     llvm::function_ref<bool()> stop = {});

/// A sound choice near one that may not be: greedy under costs that are small for what is wanted.
std::optional<Choice> extract_greedy_near(const ExtractionProblem& problem, const Choice& wanted,
                                          llvm::function_ref<bool()> stop = {});

/// Roots that have no acyclic derivation of finite cost; each once, in order of the roots.
std::vector<ClassIx> roots_without_solution(const ExtractionProblem& problem);

/// Greedy on the cost of distinct nodes: each class keeps the set of classes that its choice needs,
/// and takes the node whose set, united over its children, costs least; sharing inside a choice is
/// exact, sharing between choices is not foreseen. Source: the extraction gym's greedy-dag, here as
/// a worklist over sets that share their storage (dag_sets.h).
struct GreedyDagLimits {
  double seconds = 1e9;
  size_t memory_bytes = size_t{448} << 20; // of the sets; growing needs as much again
  std::function<bool()> stop = {};         // asked now and then: true is as the time limit
  const GreedyResult* trees = nullptr;     // the problem's own, where it is known
};

struct GreedyDagResult {
  Choice choice; // trimmed to what the roots reach
  /// What the sets of the roots say that it costs.
  double reported_cost = 0;
  /// Why the work ended before nothing could be improved; empty otherwise.
  std::string stopped;
};

/// nullopt if a root cannot be extracted, or the choice does not keep to the byte limit.
std::optional<GreedyDagResult> greedy_dag(const ExtractionProblem& problem,
                                          const GreedyDagLimits& limits = {});

/// The sharing-aware cost function of Monte Carlo tree search over tensor graphs (PACT 2024), as
/// published, so that its results can be reproduced; greedy_dag() is what to use instead.
///
/// A class keeps a history: classes that its choice has paid for, and how much. A node's children
/// are paid in order: the first that has a history in full, its history becomes the node's; a later
/// one nothing if it is in the history; else its cost less the largest amount in the history that
/// its own history has too (one overlap, not all), or its cost if it has no history.
///
/// What is known to be wrong with it: only one overlap is taken off, so that a nest of three levels
/// whose true cost is 7 is said to cost 8; amounts are what was paid when they were entered; the
/// order of children and of classes matters; it is not monotone, so stale amounts stay, and what is
/// chosen can even be cyclic (then greedy repairs it here; the paper does not say).
struct GreedySharedResult {
  Choice choice;            // trimmed to what the roots reach
  double reported_cost = 0; // what the cost function says
  std::string note;         // where the choice had to be repaired, or work ended early
};

/// nullopt if a root cannot be extracted. Negative costs count as 0. `stop`, asked often, ends the
/// work as the time limit does.
std::optional<GreedySharedResult> greedy_shared(const ExtractionProblem& problem, double seconds,
                                                llvm::function_ref<bool()> stop = {});

} // namespace tg
