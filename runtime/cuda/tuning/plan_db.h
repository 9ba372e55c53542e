// Stores the fastest of a library's algorithms for an operation across runs,
// so that a second load measures nothing. The data is in the file of the cost database
// (runtime/measure/cost_db.h), which handles damage, foreign files and concurrent processes.
// Rows are separated from costs by their environment: GPU, driver, and library with its version.
// A change of any of these starts from scratch.
//
// An entry is text in the library's own format, and only a proposal:
// the reader looks for the named algorithm among those that the library offers now,
// and measures if there is none. Prices of units (executable.h) are stored in the same way;
// their plan is for display.
#pragma once

#include "runtime/measure/cost_db.h"

#include <llvm/ADT/StringSet.h>

namespace tg::cuda {

/// The validity of a plan, in addition to the operation itself.
struct PlanEnvironment {
  std::string gpu;     // "NVIDIA H200, sm_90"
  std::string driver;  // "driver 13.0"
  std::string library; // "cuBLASLt 13.0.1"
};

struct PlanEntry {
  std::string plan; // in the format of the caller
  double microseconds = 0;
  /// The 95% confidence interval of the median, and its number of runs; 0 if unknown.
  double low_us = 0, high_us = 0;
  int runs = 0;
};

class PlanDb {
public:
  /// "" keeps plans in memory. Never fails: see notes().
  static std::unique_ptr<PlanDb> open(llvm::StringRef path, const PlanEnvironment& environment);

  std::optional<PlanEntry> find(llvm::StringRef operation);
  void store(llvm::StringRef operation, const PlanEntry& entry);
  /// Reports and removes a plan that no longer exists or does not run.
  void reject(llvm::StringRef operation, llvm::StringRef why);

  /// Returns true if the library has run the operation in this process, by any algorithm.
  bool has_run(llvm::StringRef operation) const { return ran_.contains(operation); }
  void note_run(llvm::StringRef operation) { ran_.insert(operation); }

  size_t hits() const { return hits_; }
  std::vector<std::string> notes() const;

private:
  explicit PlanDb(std::unique_ptr<CostDb> rows) : rows_(std::move(rows)) {}

  std::unique_ptr<CostDb> rows_;
  std::vector<std::string> rejected_;
  llvm::StringSet<> ran_;
  size_t hits_ = 0;
};

} // namespace tg::cuda
