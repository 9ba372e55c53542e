// Lowers conv2d, conv3d and conv_transpose2d of f32 to our own kernels (runtime/cpu/tile),
// if these are faster.
#pragma once

#include "runtime/cpu/lowering/lowering.h"
#include "runtime/cpu/tile/depthwise.h"
#include "runtime/cpu/tile/grouped.h"
#include "runtime/cpu/tile/transposed.h"

namespace tg::cpu {

/// Lowers conv2d and conv3d: depthwise, grouped, and with one or several taps.
/// Returns false, without any effect, if oneDNN should run it: if l.products says so or,
/// by the default rule, if it is as fast.
Result<bool> lower_tile_convolution(Lowering& l, const PlanStep& step);
/// The same for conv_transpose2d.
Result<bool> lower_tile_conv_transpose2d(Lowering& l, const PlanStep& step);

/// Returns the instruction set, among the usable ones, for which a convolution's code is emitted.
tile::Isa convolution_isa(const tile::GroupedShape& shape);
tile::Isa convolution_isa(const tile::DepthwiseShape& shape);
tile::Isa convolution_isa(const tile::TransposedShape& shape);

} // namespace tg::cpu
