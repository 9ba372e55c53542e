// matmul of f32 and bf16 on register tiles of our own (runtime/cpu/tile), where these are the
// faster ones.
#pragma once

#include "runtime/cpu/lowering/lowering.h"
#include "runtime/cpu/tile/product.h"

#include <optional>

namespace tg::cpu {

/// Emitted once a process; null where the processor lacks the instruction set.
const tile::TileKernels* tiles_of(tile::Isa isa);

/// Operands and result, all of the tiles' dtype but the bias, which is f32; bias and residual may
/// be absent.
struct ProductPlaces {
  Place x, w, y;
  std::optional<Place> bias, residual;
};

/// Adds an op that runs the product on `op.threads`; what else it says comes from `op`.
void add_product(Lowering& l, const PlanStep& step, Op op, tile::Product product,
                 ProductPlaces places);

/// The tiles for a product, null where oneDNN is to do it: where l.products says so, or, left to
/// the rule, where it is as fast.
const tile::TileKernels* tiles_for(const Lowering& l, const PlanStep& step);

/// The best tiles for f32 or bf16 that this processor has and DNNL_MAX_CPU_ISA allows; null where
/// there are none.
const tile::TileKernels* best_tiles(DType dtype = DType::F32);

/// A step between elements of an axis, 1 where the axis has no second one.
int64_t step_of(const Place& p, size_t axis);
/// The offset of matrix `index` of the batch that the leading axes of `shape` span.
int64_t start_of(const Place& p, const Shape& shape, int64_t index);

struct ChosenSchedule {
  tile::Schedule schedule;
  bool tuned = false;

  /// "6x16", "6x16 tuned".
  std::string text(tile::Isa isa) const {
    return tile_text(schedule, isa) + (tuned ? " tuned" : "");
  }
};
/// As it was tuned (schedules_of), else by rule.
ChosenSchedule product_schedule(const Lowering& l, const PlanStep& step,
                                const tile::ProductShape& shape, tile::Isa isa, int threads);

/// By these tiles. Operands are read where they lie if rows or columns lie side by side.
Result<void> lower_tile_matmul(Lowering& l, const PlanStep& step, const tile::TileKernels& tiles);

} // namespace tg::cpu
