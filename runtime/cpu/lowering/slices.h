// Runs steps in slices, each on one thread. A primitive of oneDNN runs on its calling thread
// (OneLibraryThread in handles.h), so several threads run several primitives,
// each on a part of the images, rows or products of a step.
#pragma once

#include "runtime/cpu/lowering/geometry.h"
#include "runtime/cpu/lowering/lowering.h"

namespace tg::cpu {

/// The ops of one slice, in order.
using Slice = std::vector<Op>;

/// Sets kernel, implementation, buffers and scratch of `op`, which runs these slices
/// on `op.threads`. The implementation is that of the last op in a slice that belongs
/// to the step of `op`. Errors: `device`.
Result<void> set_slices(Op& op, std::vector<Slice> slices, dnnl_engine_t engine);

/// Lowers a step as `count` slices, each by lower(i). In runs, their ops are combined in one op,
/// which runs the slices on these threads; at load they run one after the other.
Result<void> add_sliced(Lowering& l, const PlanStep& step, const Threads& threads, int count,
                        llvm::function_ref<Result<void>(int)> lower);

/// Windows over a part of the images or of the rows.
struct WindowSlice {
  Geometry geometry;
  Place src, dst;
};
/// Divides windows over src[N, C, ...], whose results are dst[N, C, ...], into at most `parts`:
/// by images if there are several, else along the first image axis, in multiples of `unit` results.
/// Returns one slice, the whole, if that is not possible.
std::vector<WindowSlice> cut_windows(const Geometry& geometry, const Place& src, const Place& dst,
                                     int parts, int64_t unit);

} // namespace tg::cpu
