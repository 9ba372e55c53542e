// Shared by choosing, emitting and running the code of grouped convolutions:
// the division of output channels into sets, and the counts of a tile's step.
// Only for the files of grouped.h.
#pragma once

#include "runtime/cpu/tile/grouped.h"

#include <algorithm>

namespace tg::tile {

/// The arguments of one call of emitted code, which reads this struct.
struct GroupedCall {
  const float* x = nullptr; // as if a column was `before` to the left; first row that is read
  const float* w = nullptr; // of the first set, and of the first row of the kernel
  float* y = nullptr;
  const float* bias = nullptr;
  const float* residual = nullptr;
  int64_t rows = 1; // of the result, equal except for their addresses
  int64_t sets = 1;
  int64_t x_set = 0; // bytes between sets
  int64_t kernel_rows = 0;
  PlaneLoop planes;
  const int32_t* mask = nullptr;         // of the lanes of the last vector
  const int32_t* x_mask = nullptr;       // of the inputs of one load
  const int32_t* permutations = nullptr; // [input][lane]
  float six = 6;
};

/// The columns of the kernel whose weights are in registers at once, for a set of one vector.
inline int64_t taps_at_once(const ConvolutionShape& s) {
  constexpr int64_t kMost = 4;
  return ceil_div(s.kernel.columns, ceil_div(s.kernel.columns, kMost));
}

/// The inputs of one iteration: a row of few taps alone would not hide the loop overhead.
inline int64_t unrolled_inputs(const GroupedShape& s) {
  constexpr int64_t kTaps = 4;
  return std::clamp<int64_t>(kTaps / s.kernel.columns, 1, s.inputs);
}

inline int64_t vectors_of(const GroupedShape& s) { return ceil_div(s.outputs, s.lanes()); }

/// The groups that share a vector: as many as have their inputs within one load.
inline int64_t groups_of_vector(const GroupedShape& s) {
  int64_t fit = s.lanes() / std::max(s.inputs, s.outputs);
  return std::max<int64_t>(1, std::min(fit, s.groups));
}

/// Returns true if the inputs and outputs of a group each fill four lanes: a permutation within
/// groups of four lanes suffices.
inline bool are_quarters(const GroupedShape& s, const GroupedTile& t) {
  return t.groups > 1 && s.inputs == 4 && s.outputs == 4;
}

inline constexpr int64_t kFewWeights = 16 << 10; // bytes that stay in the first level

/// Returns true if the weights of a set come from the second level, or further away.
inline bool streams_weights(const GroupedShape& s, int64_t vectors) {
  return 4 * s.taps() * s.inputs * vectors * s.lanes() > kFewWeights;
}

/// Returns true for one tap and one group: a product of pixels and a matrix.
inline bool is_product(const GroupedShape& s) { return s.taps() == 1 && s.groups == 1; }
/// Returns true for one tap in each plane and one group: a sum of products.
inline bool is_product_of_planes(const GroupedShape& s) {
  return s.kernel.rows * s.kernel.columns == 1 && s.groups == 1;
}

/// Groups or parts of them, adjacent in y.
struct SetSteps {
  int64_t sets, in_group; // of all; of a group
  int64_t outputs;        // from set to set
  int64_t inputs;         // the same; 0 if the sets of a group share its inputs
  int64_t last_outputs;   // of the last set of a group, or of all
  SetSteps(const GroupedShape& s, const GroupedTile& t) {
    if (t.groups > 1) {
      sets = ceil_div(s.groups, t.groups);
      in_group = 1;
      outputs = t.groups * s.outputs;
      inputs = t.groups * s.inputs;
      last_outputs = (s.groups - (sets - 1) * t.groups) * s.outputs;
      return;
    }
    in_group = ceil_div(vectors_of(s), t.vectors); // vectors of the last set may be zeros
    sets = s.groups * in_group;
    outputs = in_group > 1 ? t.vectors * s.lanes() : s.outputs;
    inputs = in_group > 1 ? 0 : s.inputs;
    last_outputs = s.outputs - (in_group - 1) * outputs;
  }
  bool last_differs() const { return last_outputs != outputs; }
  /// Returns the index among all channels of y; for the set after the last, the number of channels.
  int64_t first_output(int64_t set) const {
    if (set == sets) return (sets / in_group - 1) * group_outputs() + last_group_outputs();
    return set / in_group * group_outputs() + set % in_group * outputs;
  }
  /// Returns the outputs between groups, or between sets if these have several groups.
  int64_t group_outputs() const {
    return in_group > 1 ? (in_group - 1) * outputs + last_outputs : outputs;
  }
  int64_t last_group_outputs() const { return (in_group - 1) * outputs + last_outputs; }
};

/// Returns the columns of the widest tile.
inline int64_t widest_tile(const GroupedShape& s, const GroupedTile& t) {
  return ceil_div(s.result.columns, ceil_div(s.result.columns, t.columns));
}

inline int64_t set_weights(const GroupedShape& s, const GroupedTile& t) {
  return s.taps() * s.inputs * t.vectors * s.lanes();
}

/// Returns an upper bound of emitted bytes: ten for an instruction with an address,
/// and a constant for the start and end of each tile.
int64_t grouped_code_bound(const GroupedShape& s, const GroupedTile& t);

} // namespace tg::tile
