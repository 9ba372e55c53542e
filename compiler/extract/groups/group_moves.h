// Steps from one choice to its neighbours, for a search whose objective is not a sum over nodes
// (group_refine.h). Three kinds:
//
//   switch   a class takes another of its nodes
//   open     a class that is not used comes into use, and all classes that could use it change over
//            (one joined product instead of several)
//   close    all users of a class make do without it (several products instead of a joined one)
//
// Networks repeat themselves, and what gains in one layer gains in all: moves that change the same
// operators on the same types, between the same neighbours, are one family, to be tried together.
#pragma once

#include "compiler/extract/extract.h"
#include "compiler/extract/greedy/greedy.h"

namespace tg {

struct GroupMove {
  /// Classes in use, each once, and the nodes that they take.
  llvm::SmallVector<std::pair<ClassIx, NodeIx>, 2> switches;
  double estimate = 0; // by operators' prices, of what is added
};
/// Moves alike, the first found first.
using MoveFamily = std::vector<GroupMove>;

/// What unused classes would take: with nodes in use for nothing.
GreedyResult marginal_trees(const ExtractionProblem& problem, const Choice& choice);

/// The families around a choice (trimmed, sound), at most so many, those that add least first.
std::vector<MoveFamily> find_moves(const EGraph& egraph, const EGraphProblem& problem,
                                   const Choice& choice, const GreedyResult& marginal, size_t most);

/// The choice after a move, trimmed; nullopt where it has a circle or stores too much.
std::optional<Choice> after_move(const ExtractionProblem& problem, const Choice& choice,
                                 const GreedyResult& marginal,
                                 llvm::ArrayRef<std::pair<ClassIx, NodeIx>> switches);

} // namespace tg
