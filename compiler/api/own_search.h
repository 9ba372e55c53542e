// A search that a program passes to an optimisation, instead of a strategy of strategies.def or as
// a policy of the default search. The programs of bench/paper use it. Nothing is registered, so the
// library knows only its own searches by name.
#pragma once

#include "compiler/optimizer/strategy/strategy.h"
#include "compiler/search/mcts/policy.h"
#include "tangram/tangram.h"

/// The target of OptimizeOptions::own_search.
struct tangram::OwnSearch {
  std::string name = {};                                   // strategy name in reports
  std::shared_ptr<const tg::SearchStrategy> strategy = {}; // null: that of OptimizeOptions::search
  std::shared_ptr<tg::Policy> policy = {};                 // guides Search::Mcts
  /// Returns a note for the report, or an empty text.
  std::function<std::string(const tg::Graph& source, llvm::ArrayRef<tg::Rule> rules)> note = {};
};
