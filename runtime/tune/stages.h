// Loops beside the major nest, and sketches without tiles: their threads follow
// from the ranges alone, because there is no shape to choose. Source:
// ETO's technical report, section 5.2.
#pragma once

#include "runtime/tune/device.h"
#include "runtime/tune/ranges.h"

namespace tg::tune {

/// Returns the threads of flat stages, or of a shared reduction, from which a search starts:
/// 32, or the number of points if that is smaller.
Extents default_flat_threads(const Operator& op, Sketch sketch);

/// For each stage in order, tries the thread counts in range of those of `reused`
/// and keeps the best. Starts from the best program that ran, or from `start`.
void tune_flat_stages(Trials& trials, const Program& start, const Program& reused);

} // namespace tg::tune
