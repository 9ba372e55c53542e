// Lowers matmul of f32 and bf16 to our own register tiles (runtime/cpu/tile), if these are faster.
#pragma once

#include "runtime/cpu/lowering/lowering.h"
#include "runtime/cpu/tile/product.h"

#include <optional>

namespace tg::cpu {

/// Emitted once per process; null if the processor lacks the instruction set.
const tile::TileKernels* tiles_of(tile::Isa isa);

/// Operands and result, all of the tiles' dtype except the bias, which is f32;
/// bias and residual may be absent.
struct ProductPlaces {
  Place x, w, y;
  std::optional<Place> bias, residual;
};

/// Adds an op that runs the product on `op.threads`; its other fields come from `op`.
void add_product(Lowering& l, const PlanStep& step, Op op, tile::Product product,
                 ProductPlaces places);

/// Returns the tiles for a product; null if oneDNN should run it: if l.products says so or,
/// by the default rule, if it is as fast.
const tile::TileKernels* tiles_for(const Lowering& l, const PlanStep& step);

/// Returns the best tiles for f32 or bf16 that this processor has and DNNL_MAX_CPU_ISA allows;
/// null if there are none.
const tile::TileKernels* best_tiles(DType dtype = DType::F32);

/// Returns the step between elements of an axis; 1 for an axis with one element.
int64_t step_of(const Place& p, size_t axis);
/// Returns the offset of matrix `index` of the batch that the leading axes of `shape` span.
int64_t start_of(const Place& p, const Shape& shape, int64_t index);

struct ChosenSchedule {
  tile::Schedule schedule;
  bool tuned = false;

  /// Returns "6x16", "6x16 tuned".
  std::string text(tile::Isa isa) const {
    return tile_text(schedule, isa) + (tuned ? " tuned" : "");
  }
};
/// Returns the tuned schedule (schedules_of), else the default one.
ChosenSchedule product_schedule(const Lowering& l, const PlanStep& step,
                                const tile::ProductShape& shape, tile::Isa isa, int threads);

/// Lowers with these tiles. Operands are read in place if rows or columns are adjacent.
Result<void> lower_tile_matmul(Lowering& l, const PlanStep& step, const tile::TileKernels& tiles);

} // namespace tg::cpu
