// The order of a row kernel's work: reductions that do not wait for each other share a pass over
// the row, and what a later pass needs again is kept in registers. And which loads of a kernel are
// neighbours in memory, so that one instruction fetches them.
#pragma once

#include "runtime/cuda/codegen/kernel.h"

#include <set>

namespace tg::cuda {

/// Threads that keep a large GPU busy. Where there are fewer, latencies count, not registers.
inline constexpr int64_t kEnoughThreads = int64_t{1} << 18;

struct Pass {
  std::vector<uint32_t> stages;   // computed in this pass
  bool stores = false;            // the last pass
  std::vector<ExprId> early = {}; // loads for later passes, which need not wait for this one
};

struct Phases {
  std::vector<Pass> passes;
  /// Expressions computed in one pass and read in a later one, ascending.
  std::set<ExprId> kept;
};
Phases plan_phases(const Kernel& kernel);

/// What an expression reads: arguments, values within its index and condition.
llvm::SmallVector<ExprId, 6> dependencies(const Kernel& kernel, ExprId id);
/// What a pass computes, ascending; not what earlier passes have kept (`stop`).
std::set<ExprId> reachable(const Kernel& kernel, llvm::ArrayRef<ExprId> roots,
                           const std::set<ExprId>& stop);
llvm::SmallVector<ExprId, 16> roots_of(const Kernel& kernel, const Pass& phase);

/// Elements of a 16-byte access.
int pack_width(DType dtype, int vector);

/// Of a load that begins or belongs to a pack: its leader and position.
struct Pack {
  ExprId leader = 0;
  int position = 0, width = 1;
};
/// Packs of loads among these expressions; alone-standing loads are left out.
std::map<ExprId, Pack> find_packs(Kernel& kernel, const std::set<ExprId>& exprs);
/// True if lanes first .. first + width - 1 of the store are neighbours, the first one aligned.
bool packs(Kernel& kernel, const Store& store, size_t first, int width);

} // namespace tg::cuda
