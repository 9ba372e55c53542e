// matmul of f32 on register tiles of our own (runtime/tile), where these are the faster ones.
#pragma once

#include "runtime/onednn/lowering/lowering.h"
#include "runtime/tile/register_tile.h"

namespace tg::cpu {

/// The tiles for a product, null where oneDNN is to do it: where l.products says so, or, left to
/// the rule, where it is as fast.
const tile::TileKernels* tiles_for(const Lowering& l, const PlanStep& step);

/// By these tiles. Operands are read where they lie if rows or columns lie side by side.
Result<void> lower_tile_matmul(Lowering& l, const PlanStep& step, const tile::TileKernels& tiles);

} // namespace tg::cpu
