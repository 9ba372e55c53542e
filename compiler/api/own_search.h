// A search that a program gives to an optimisation, in place of a strategy of strategies.def or in
// the open seat of the shipped search. The programs of bench/paper are made so: nothing is
// registered, and the library knows no search by name that it does not have.
#pragma once

#include "compiler/optimizer/strategy/strategy.h"
#include "compiler/search/mcts/policy.h"
#include "tangram/tangram.h"

/// What OptimizeOptions::own_search points to.
struct tangram::OwnSearch {
  std::string name = {};                                   // of the strategy, in reports
  std::shared_ptr<const tg::SearchStrategy> strategy = {}; // null: that of OptimizeOptions::search
  std::shared_ptr<tg::Policy> policy = {};                 // guides Search::Mcts
  /// Returns a note for the report, or an empty text.
  std::function<std::string(const tg::Graph& source, llvm::ArrayRef<tg::Rule> rules)> note = {};
};
