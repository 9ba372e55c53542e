// The generated kernels of a plan, each compiled and loaded once.
#pragma once

#include "runtime/cuda/codegen/generate.h"
#include "runtime/cuda/tuning/plan_db.h"
#include "runtime/cuda/tuning/scratch.h"

#include <llvm/ADT/StringMap.h>

namespace tg::cuda {

/// One row: a generated kernel, its tunables, and its resource use.
struct KernelRow {
  std::string name;
  KernelSchedule schedule{};
  Tunables tunables;
  int64_t blocks = 1;
  KernelUse use;
  int uses = 0; // units that launch it
};

class KernelTable {
public:
  explicit KernelTable(GpuDevice& device) : device_(device) {}

  /// Returns the row of a kernel and counts one more unit that launches it.
  Result<uint32_t> row(Kernel& kernel, CubinCache& cache);
  const KernelRow& operator[](uint32_t row) const { return rows_[row]; }
  const std::vector<KernelRow>& rows() const { return rows_; }
  Result<void> launch(uint32_t row, llvm::ArrayRef<Address> parameters, Stream stream) const;

  /// Returns the microseconds of a kernel for these steps alone, on scratch memory;
  /// measured only once if there is a database.
  Result<double> time(ScratchTimer& timer, CubinCache& cache, PlanDb* known, const Plan& plan,
                      const Group& group, const StridesOf& strides);

private:
  Result<uint32_t> find_or_load(Kernel& kernel, CubinCache& cache);

  GpuDevice& device_;
  std::vector<KernelRow> rows_;
  std::vector<Function> functions_; // of rows
  llvm::StringMap<uint32_t> known_; // rows by name
};

} // namespace tg::cuda
