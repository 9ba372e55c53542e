// Tunes a set of operators by a plan: each step searches in full or reuses the best program of an
// earlier one. Bridges are tuned like any other. Where reuse finds nothing that runs, a full search
// takes its place, and the report says why. Source: ETO (README).
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
  std::optional<Measured> best; // none: nothing that was tried runs
  int64_t trials = 0;
  std::string note; // why a full search took the place of reuse
};

struct TuneReport {
  std::vector<TunedOperator> operators; // in the order of the plan's steps
  int64_t trials = 0;

  /// Of an operator of the graph; null if it was not tuned or nothing runs.
  const Measured* best_of(size_t op) const;
};

TuneReport tune(const OperatorGraph& graph, const ReusePlan& plan, Device& device,
                const SessionOptions& options = {});

/// Best programs, one a line, after a line with the device's name: "P100\n12.5 us: C2D [..]; ..".
std::string records_text(llvm::StringRef device, llvm::ArrayRef<Measured> records);
struct Records {
  std::string device;
  std::vector<Measured> programs;
};
/// Errors: `bad_data_file`, with the line.
Result<Records> read_records(llvm::StringRef text);

} // namespace tg::tune
