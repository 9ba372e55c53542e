// Which of a library's algorithms was fastest for an operation, kept across runs, so that a second
// load measures nothing. It lies in the file of the cost database (runtime/measure/cost_db.h),
// which looks after damage, foreign files and processes side by side; rows are apart from costs by
// their environment: GPU, driver, and library with its version. A changed one of these starts anew.
//
// An entry is text of the library's own making, and only a proposal: whoever reads it looks for the
// algorithm that it names among those that the library offers today, and measures where it finds
// none. Prices of what is launched at once (executable.h) are kept in the same way; their plan is
// for people.
#pragma once

#include "runtime/measure/cost_db.h"

#include <llvm/ADT/StringSet.h>

namespace tg::cuda {

/// What a plan is good for, beside the operation itself.
struct PlanEnvironment {
  std::string gpu;     // "NVIDIA H200, sm_90"
  std::string driver;  // "driver 13.0"
  std::string library; // "cuBLASLt 13.0.1"
};

struct PlanEntry {
  std::string plan; // in the words of whoever stored it
  double microseconds = 0;
  /// In which the median lies with 95% confidence, and of how many runs; 0 where that is not known.
  double low_us = 0, high_us = 0;
  int runs = 0;
};

class PlanDb {
public:
  /// "" keeps plans in memory. Never fails: see notes().
  static std::unique_ptr<PlanDb> open(llvm::StringRef path, const PlanEnvironment& environment);

  std::optional<PlanEntry> find(llvm::StringRef operation);
  void store(llvm::StringRef operation, const PlanEntry& entry);
  /// A plan that there is no more, or that does not run: noted and forgotten.
  void reject(llvm::StringRef operation, llvm::StringRef why);

  /// Whether this process has seen that the library runs the operation, by whichever algorithm.
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
