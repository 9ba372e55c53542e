// Transposed convolutions of channels-last images. A result uses only the taps of one phase:
// those whose distance from its position is a multiple of the stride.
// So the results of each phase, one pixel out of every `stride` rows and columns,
// are a convolution of stride 1 with a part of the flipped kernel.
// The code of grouped.h or depthwise.h computes it and writes pixels that are `stride` pixels
// apart.
//
// Adjacent phases that read the same pixels are merged into one convolution with the outputs
// of all of them, which are adjacent in y. Kernels of 2 x 2 with a stride of 2 become two products
// that write whole lines.
//
// Invariant: nothing is multiplied by a zero between pixels, or by padding.
#pragma once

#include "runtime/cpu/tile/caches.h"
#include "runtime/cpu/tile/grouped.h"

namespace tg::tile {

/// `before`: the size cut off the result above and to the left. A result has at least one pixel.
struct TransposedShape : GroupedShape {};

/// Results that are a separate convolution.
struct TransposedPhase {
  GroupedShape shape; // of that convolution
  Plane first;        // of its pixels in the result
  int64_t merged = 1; // adjacent phases whose outputs it has
  Plane tap;          // of the kernel, the first that the first of these phases uses; -1: none
  Plane tap_step;     // between taps

  bool is_depthwise() const { return shape.groups > 1 && shape.inputs == 1 && shape.outputs == 1; }
};

class Transposed {
public:
  /// Returns true if code can be emitted for it.
  static bool suits(const TransposedShape& shape);
  static std::vector<TransposedPhase> phases(const TransposedShape& shape);
  /// Requires both instruction sets: returns the one for its widest phase.
  static Isa faster_isa(const TransposedShape& shape);

  /// One for each phase, in order.
  using Schedules = std::vector<ConvolutionSchedule>;
  static Schedules default_schedules(const TransposedShape& shape, const ConvolutionTail& tail,
                                     int threads, const Caches& caches);
  /// Returns one schedule for all phases, adapted to each phase (such as one with fewer channels).
  /// Requires no groups.
  static Schedules fitted(const TransposedShape& shape, const ConvolutionSchedule& schedule);

  /// Without a residual. Errors: `device` if the processor lacks the instruction set,
  /// no memory for code is available, or shape or schedules do not suit.
  static Result<std::unique_ptr<Convolution>> make(const TransposedShape& shape,
                                                   const ConvolutionTail& tail,
                                                   const Schedules& schedules, int threads);

  static int64_t weight_elements(const TransposedShape& shape, const Schedules& schedules);
  /// Packs w[groups * inputs][outputs][row][column], in its memory order, to packed weights
  /// of each phase.
  static void pack(float* to, const float* w, const TransposedShape& shape,
                   const Schedules& schedules);
  /// Returns everything that packed weights and biases depend on, except the values to pack.
  static std::string order(const TransposedShape& shape, const Schedules& schedules);
  /// The size of a bias as the code reads it: once for each of the merged phases.
  static int64_t bias_elements(const TransposedShape& shape);
  static void pack_bias(float* to, const float* bias, const TransposedShape& shape);
};

} // namespace tg::tile
