// Convolutions of sequences: images of one row, which may be long.
// The middle of the row, whose columns use all taps, is cut into rows of an image,
// which overlap by some pixels. So bands of it stay in near caches for all sets of channels,
// and threads can share it. Both ends are separate convolutions with the same weights.
// The code is that of grouped.h, or of depthwise.h if each of several groups has one channel.
//
// Invariant: a result has the same bits as for the row as a whole.
#pragma once

#include "runtime/cpu/tile/caches.h"
#include "runtime/cpu/tile/grouped.h"

namespace tg::tile {

class LongRows {
public:
  static bool is_depthwise(const GroupedShape& s) {
    return s.groups > 1 && s.inputs == 1 && s.outputs == 1;
  }
  /// Returns true if the middle is large enough for several rows.
  static bool suits(const GroupedShape& shape);
  /// Returns the middle as an image. All weights are packed for its tile: Grouped::pack(to, w,
  /// middle), or Depthwise::pack.
  static GroupedShape middle(const GroupedShape& shape);
  /// Returns rows of `size.columns` columns, all of which use all taps, one after the other.
  static GroupedShape cut(const GroupedShape& shape, const Plane& size);
  static ConvolutionSchedule default_schedule(const GroupedShape& middle,
                                              const ConvolutionTail& tail, int threads,
                                              const Caches& caches);
  /// Requires a schedule that suits the middle. Errors: as for Grouped::make.
  static Result<std::unique_ptr<Convolution>> make(const GroupedShape& shape,
                                                   const ConvolutionTail& tail,
                                                   const ConvolutionSchedule& schedule,
                                                   int threads);
};

} // namespace tg::tile
