// conv2d, conv3d and conv_transpose2d of f32 on kernels of our own (runtime/cpu/tile), where these
// are the faster ones.
#pragma once

#include "runtime/cpu/lowering/lowering.h"
#include "runtime/cpu/tile/depthwise.h"
#include "runtime/cpu/tile/grouped.h"
#include "runtime/cpu/tile/transposed.h"

namespace tg::cpu {

/// conv2d and conv3d: depthwise ones, those in groups, those of several taps, and those of one.
/// False, and nothing has been done, where oneDNN is to do it: where l.products says so, or, left
/// to the rule, where it is as fast.
Result<bool> lower_tile_convolution(Lowering& l, const PlanStep& step);
/// The same of conv_transpose2d.
Result<bool> lower_tile_conv_transpose2d(Lowering& l, const PlanStep& step);

/// Of those that may be used, the instruction set that code for a convolution is emitted for.
tile::Isa convolution_isa(const tile::GroupedShape& shape);
tile::Isa convolution_isa(const tile::DepthwiseShape& shape);
tile::Isa convolution_isa(const tile::TransposedShape& shape);

} // namespace tg::cpu
