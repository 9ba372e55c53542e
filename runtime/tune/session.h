// Tunes a set of operators by a plan: each step searches in full or reuses the best program
// of an earlier step. Bridges are tuned like any other operator.
// If reuse finds nothing that runs, a full search replaces it, and the report gives the reason.
// Source: ETO (README).
#pragma once

#include "runtime/tune/pairs/selection.h"
#include "runtime/tune/reuse.h"
#include "runtime/tune/search/full_search.h"

namespace tg::tune {

struct SessionOptions {
  FullSearchOptions full;
  ReuseOptions reuse;
};

struct TunedOperator {
  TuneStep step;
  std::optional<Measured> best; // none: no program that was tried runs
  int64_t trials = 0;
  std::string note; // reason if a full search replaced reuse
};

struct TuneReport {
  std::vector<TunedOperator> operators; // in the order of the plan's steps
  int64_t trials = 0;

  /// Returns the result for an operator of the graph; null if it was not tuned or nothing runs.
  const Measured* best_of(size_t op) const;
};

TuneReport tune(const OperatorGraph& graph, const ReusePlan& plan, Device& device,
                const SessionOptions& options = {});

/// Formats the best programs, one per line, after a line with the device's name: "P100\n12.5 us:
/// C2D [..]; ..".
std::string records_text(llvm::StringRef device, llvm::ArrayRef<Measured> records);
struct Records {
  std::string device;
  std::vector<Measured> programs;
};
/// Errors: `bad_data_file`, with the line number.
Result<Records> read_records(llvm::StringRef text);

} // namespace tg::tune
