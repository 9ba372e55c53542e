#include "runtime/cuda/tuning/plan_db.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/Twine.h>

namespace tg::cuda {

std::unique_ptr<PlanDb> PlanDb::open(llvm::StringRef path, const PlanEnvironment& environment) {
  CostEnvironment rows;
  rows.processor = environment.gpu;
  rows.instruction_set = environment.driver;
  rows.library = environment.library;
  rows.layout = "plan"; // no cost environment has this layout
  return std::unique_ptr<PlanDb>(new PlanDb(CostDb::open(path, rows)));
}

std::optional<PlanEntry> PlanDb::find(llvm::StringRef operation) {
  std::optional<CostRow> row = rows_->find_row(operation);
  if (!row || row->implementation.empty()) return std::nullopt;
  ++hits_;
  return PlanEntry{row->implementation, row->microseconds, row->low_us, row->high_us, row->runs};
}

void PlanDb::store(llvm::StringRef operation, const PlanEntry& entry) {
  rows_->store(CostRow{operation.str(), entry.microseconds, entry.plan, entry.low_us, entry.high_us,
                       entry.runs});
}

void PlanDb::reject(llvm::StringRef operation, llvm::StringRef why) {
  std::string note = (llvm::Twine("the plan for `") + operation + "` is not used: " + why).str();
  if (!llvm::is_contained(rejected_, note)) rejected_.push_back(std::move(note));
  store(operation, {}); // an empty name
}

std::vector<std::string> PlanDb::notes() const {
  std::vector<std::string> notes = rows_->notes();
  llvm::append_range(notes, rejected_);
  return notes;
}

} // namespace tg::cuda
