// The order of a row kernel's work. Independent reductions share a pass over the row,
// and values that a later pass needs again are kept in registers.
// Also finds loads that are neighbours in memory, so that one instruction fetches them.
#pragma once

#include "runtime/cuda/codegen/kernel.h"

#include <set>

namespace tg::cuda {

/// The number of threads that keeps a large GPU busy. With fewer threads, latency matters,
/// not registers.
inline constexpr int64_t kEnoughThreads = int64_t{1} << 18;

struct Pass {
  std::vector<uint32_t> stages;   // computed in this pass
  bool stores = false;            // the last pass
  std::vector<ExprId> early = {}; // loads for later passes that do not depend on this one
};

struct Phases {
  std::vector<Pass> passes;
  /// Expressions computed in one pass and read in a later one, ascending.
  std::set<ExprId> kept;
};
Phases plan_phases(const Kernel& kernel);

/// Returns the inputs of an expression: arguments, and values in its index and condition.
llvm::SmallVector<ExprId, 6> dependencies(const Kernel& kernel, ExprId id);
/// Returns the expressions of a pass, ascending, without those that earlier passes kept (`stop`).
std::set<ExprId> reachable(const Kernel& kernel, llvm::ArrayRef<ExprId> roots,
                           const std::set<ExprId>& stop);
llvm::SmallVector<ExprId, 16> roots_of(const Kernel& kernel, const Pass& phase);

/// Returns the number of elements in a 16-byte access.
int pack_width(DType dtype, int vector);

/// For a load that begins or belongs to a pack: its leader and position.
struct Pack {
  ExprId leader = 0;
  int position = 0, width = 1;
};
/// Returns the packs of loads among these expressions; single loads are omitted.
std::map<ExprId, Pack> find_packs(Kernel& kernel, const std::set<ExprId>& exprs);
/// Returns true if lanes first .. first + width - 1 of the store are neighbours
/// and the first one is aligned.
bool packs(Kernel& kernel, const Store& store, size_t first, int width);

} // namespace tg::cuda
