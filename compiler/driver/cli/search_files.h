// Files that searches read and write: traces for `tg report`, and what was learned of rules.
#pragma once

#include "compiler/driver/cli/session.h"
#include "compiler/optimizer/optimize.h"

namespace tg::cli {

/// The trace of a search as JSON: figures, costs over time, rules over time, the tree, the steps,
/// and both graphs with what differs marked. Errors: `cannot_write`.
Result<void> write_trace(Session& session, const SearchTrace& trace, const Graph& source,
                         const Optimized& result, llvm::ArrayRef<Rule> rules);

/// `{"rule": {"tried": 12, "paid": 3, "gain": 0.1}, ...}`. Errors: `cannot_read`,
/// `bad_priors_file`.
Result<PriorTable> read_priors(llvm::StringRef path);
Result<void> write_priors(Session& session, const PriorTable& table, llvm::StringRef path);

class FilePriors final : public PriorStore {
public:
  explicit FilePriors(PriorTable table) : table_(std::move(table)) {}
  const PriorTable& priors() const override { return table_; }

private:
  PriorTable table_;
};

} // namespace tg::cli
