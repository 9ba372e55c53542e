// Greedy extraction on tree cost: in every class the node whose own cost plus the costs of its
// children is least, shared work counted once per use. Source: egg (POPL 2021), TENSAT (MLSys
// 2021, section 5); here in worklist form, so that the work is proportional to what changes.
#pragma once

#include "compiler/extract/problem.h"

#include <llvm/ADT/STLExtras.h>

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

} // namespace tg
