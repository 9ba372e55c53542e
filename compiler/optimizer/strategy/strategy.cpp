#include "compiler/optimizer/strategy/strategy.h"

namespace tg {

#define TG_STRATEGY(id, name, instance) const SearchStrategy& instance();
#include "compiler/optimizer/strategy/strategies.def"
#undef TG_STRATEGY

namespace {

struct Row {
  Search search;
  llvm::StringLiteral name;
  const SearchStrategy& (*instance)();
};
constexpr Row kRows[] = {
#define TG_STRATEGY(id, name, instance) {Search::id, name, instance},
#include "compiler/optimizer/strategy/strategies.def"
#undef TG_STRATEGY
};

const Row& row_of(Search search) { return kRows[static_cast<size_t>(search)]; }

} // namespace

const SearchStrategy& strategy_of(const OptimizeOptions& options) {
  return options.strategy ? *options.strategy : row_of(options.search).instance();
}

llvm::StringRef search_name(Search search) { return row_of(search).name; }

llvm::StringRef search_name(const OptimizeOptions& options) {
  return options.strategy ? llvm::StringRef(options.strategy_name) : search_name(options.search);
}

} // namespace tg
