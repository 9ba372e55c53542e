// Convolutions of sequences: images of one row, which may be long. The middle of the row, all of
// whose columns see all taps, is cut into rows of an image one below the other, which share some
// pixels where they meet. So bands of it are near for all sets of channels, and threads share it
// out; both ends are convolutions of their own, by the same weights. Code is that of grouped.h, or
// of depthwise.h where each of several groups has one channel.
//
// Invariant: a result has the bits that the row as a whole would give it.
#pragma once

#include "runtime/cpu/tile/caches.h"
#include "runtime/cpu/tile/grouped.h"

namespace tg::tile {

class LongRows {
public:
  static bool is_depthwise(const GroupedShape& s) {
    return s.groups > 1 && s.inputs == 1 && s.outputs == 1;
  }
  /// Whether there is enough of a middle for some rows.
  static bool suits(const GroupedShape& shape);
  /// The middle as an image: by its tile all weights are packed, Grouped::pack(to, w, middle), or
  /// Depthwise::pack.
  static GroupedShape middle(const GroupedShape& shape);
  /// `columns` of each of so many rows, all of which see all taps, one behind the other.
  static GroupedShape cut(const GroupedShape& shape, const Plane& size);
  static ConvolutionSchedule default_schedule(const GroupedShape& middle,
                                              const ConvolutionTail& tail, int threads,
                                              const Caches& caches);
  /// Requires a schedule that suits the middle. Errors: as of Grouped::make.
  static Result<std::unique_ptr<Convolution>> make(const GroupedShape& shape,
                                                   const ConvolutionTail& tail,
                                                   const ConvolutionSchedule& schedule,
                                                   int threads);
};

} // namespace tg::tile
