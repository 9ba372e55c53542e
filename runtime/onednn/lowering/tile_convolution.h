// conv2d of f32 on kernels of our own (runtime/tile), where these are the faster ones.
#pragma once

#include "runtime/onednn/lowering/lowering.h"

namespace tg::cpu {

/// Depthwise convolutions, those in groups, those of several taps, and those of one. False, and
/// nothing has been done, where oneDNN is to do it: where l.products says so, or, left to the rule,
/// where it is as fast.
Result<bool> lower_tile_conv2d(Lowering& l, const PlanStep& step);

} // namespace tg::cpu
