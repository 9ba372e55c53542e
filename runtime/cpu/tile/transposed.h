// Transposed convolutions, images channels last. A result meets the taps of one phase alone: those
// a multiple of the stride away from where it lies. So the results of each phase, a pixel of every
// `stride` rows and columns, are a convolution of stride 1 by a part of the kernel turned around,
// which code of grouped.h or depthwise.h makes; it writes pixels that are `stride` pixels apart.
//
// Phases beside each other that read the same pixels are one convolution, whose outputs are those
// of all of them: in y they lie one behind the other. Kernels of 2 x 2 with a stride of 2 become
// two products that write whole lines.
//
// Invariant: nothing is multiplied by a zero between pixels, or by padding.
#pragma once

#include "runtime/cpu/tile/caches.h"
#include "runtime/cpu/tile/grouped.h"

namespace tg::tile {

/// `before`: what is cut off the result above and to the left. A result is at least one pixel.
struct TransposedShape : GroupedShape {};

/// Results that are a convolution of their own.
struct TransposedPhase {
  GroupedShape shape; // of that convolution
  Plane first;        // of its pixels in the result
  int64_t merged = 1; // phases side by side, whose outputs it has
  Plane tap;          // of the kernel, the first that the first of these phases meets; -1: none
  Plane tap_step;     // from tap to tap

  bool is_depthwise() const { return shape.groups > 1 && shape.inputs == 1 && shape.outputs == 1; }
};

class Transposed {
public:
  /// Whether there can be code for it.
  static bool suits(const TransposedShape& shape);
  static std::vector<TransposedPhase> phases(const TransposedShape& shape);
  /// Of a processor that has both: that of its widest phase.
  static Isa faster_isa(const TransposedShape& shape);

  /// One for each phase, in their order.
  using Schedules = std::vector<ConvolutionSchedule>;
  static Schedules default_schedules(const TransposedShape& shape, const ConvolutionTail& tail,
                                     int threads, const Caches& caches);
  /// One for all, as far as it suits a phase: of fewer channels, say. Requires no groups.
  static Schedules fitted(const TransposedShape& shape, const ConvolutionSchedule& schedule);

  /// Without a residual. Errors: `device` where the processor lacks the instruction set, or gives
  /// no memory for code, or shape or schedules do not suit.
  static Result<std::unique_ptr<Convolution>> make(const TransposedShape& shape,
                                                   const ConvolutionTail& tail,
                                                   const Schedules& schedules, int threads);

  static int64_t weight_elements(const TransposedShape& shape, const Schedules& schedules);
  /// w[groups * inputs][outputs][row][column], as it lies, to packed weights of each phase.
  static void pack(float* to, const float* w, const TransposedShape& shape,
                   const Schedules& schedules);
  /// All that packed weights and biases depend on but those that are packed.
  static std::string order(const TransposedShape& shape, const Schedules& schedules);
  /// Of a bias as the code reads it: once for each of the phases that are merged.
  static int64_t bias_elements(const TransposedShape& shape);
  static void pack_bias(float* to, const float* bias, const TransposedShape& shape);
};

} // namespace tg::tile
