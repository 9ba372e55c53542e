// Whose kernel an operator runs on, as it was measured: rows in the file of the cost database,
// which looks after damage, foreign files and processes side by side. They are kept by processor,
// instruction set, oneDNN's version and the revision of our tiles; threads are part of an
// operator's text. A row that says something else than these words is no answer, and costs a
// measurement.
#pragma once

#include "runtime/measure/cost_db.h"

#include <mutex>
#include <optional>

namespace tg::cpu {

/// Rule: neither is faster than what the rule says.
enum class Whose : uint8_t { Rule, Ours, Library };

class KernelChoices {
public:
  /// "" for the user's cache folder. Never fails: see CostDb::notes.
  static std::unique_ptr<KernelChoices> open(llvm::StringRef path, llvm::StringRef processor);
  /// Of its rows.
  static CostEnvironment environment(llvm::StringRef processor);

  /// Of an operator (operator_text); none: not measured.
  std::optional<Whose> find(llvm::StringRef op);
  /// `microseconds`: of the faster one. Where the operator now runs otherwise, prices of its kind,
  /// whole runs, and what searches found by these are forgotten.
  void keep(llvm::StringRef op, Whose whose, double microseconds);
  const std::vector<std::string>& notes() const { return rows_->notes(); }

private:
  explicit KernelChoices(std::unique_ptr<CostDb> rows) : rows_(std::move(rows)) {}

  std::mutex mutex_;
  std::unique_ptr<CostDb> rows_;
};

} // namespace tg::cpu
