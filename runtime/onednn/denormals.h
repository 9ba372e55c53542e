// Whether a run computes on denormal numbers (f32 below 1.2e-38). Many processors are slow on them,
// by up to a hundred times, so that weights, constants or activations that decay into them make a
// network slower than prices say, which are taken on plain numbers. The processor keeps a flag in
// each thread of an operand that was denormal; nothing in oneDNN or here clears it. Its flag of
// results that were is no sign: an exponential of -1e9, which masks attention, raises it on the way
// to 0.
#pragma once

namespace tg::cpu {

/// Whether one of so many threads had a denormal operand since this was last asked; false where the
/// processor does not say. Other flags stay (nan_guard.h).
bool take_denormal_flag(int threads);

} // namespace tg::cpu
