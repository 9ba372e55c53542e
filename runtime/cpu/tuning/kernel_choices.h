// Stores the measured choice of kernel for each operator: rows in the file of the cost database,
// which handles damage, foreign files and concurrent processes.
// The key has the processor, the instruction set, oneDNN's version and the revision of our tiles;
// threads are part of an operator's text. A row with any other text is ignored,
// and the operator is measured again.
#pragma once

#include "runtime/measure/cost_db.h"

#include <mutex>
#include <optional>

namespace tg::cpu {

/// Rule: neither kernel is faster than the default.
enum class KernelOwner : uint8_t { Rule, Ours, Library };

class KernelChoices {
public:
  /// "" is the user's cache folder. Never fails: see CostDb::notes.
  static std::unique_ptr<KernelChoices> open(llvm::StringRef path, llvm::StringRef processor);
  /// The environment of its rows.
  static CostEnvironment environment(llvm::StringRef processor);

  /// Returns the choice for an operator (operator_text); nullopt if not measured.
  std::optional<KernelOwner> find(llvm::StringRef op);
  /// `microseconds`: time of the faster kernel. If the choice for the operator changes,
  /// prices of its kind, whole runs, and search results based on them are removed.
  void keep(llvm::StringRef op, KernelOwner whose, double microseconds);
  const std::vector<std::string>& notes() const { return rows_->notes(); }

private:
  explicit KernelChoices(std::unique_ptr<CostDb> rows) : rows_(std::move(rows)) {}

  std::mutex mutex_;
  std::unique_ptr<CostDb> rows_;
};

} // namespace tg::cpu
