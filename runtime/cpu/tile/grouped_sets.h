// What those who choose, emit and run code of convolutions in groups share: how output channels are
// cut into sets, and how many of what a step of a tile needs. Only for the files of grouped.h.
#pragma once

#include "runtime/cpu/tile/grouped.h"

#include <algorithm>

namespace tg::tile {

/// One call of emitted code, which reads this struct.
struct GroupedCall {
  const float* x = nullptr; // as if a column lay `before` to the left; first row that is read
  const float* w = nullptr; // of the first set, and of the first row of the kernel
  float* y = nullptr;
  const float* bias = nullptr;
  const float* residual = nullptr;
  int64_t rows = 1; // of the result, equal but for where they lie
  int64_t sets = 1;
  int64_t x_set = 0; // bytes from set to set
  int64_t kernel_rows = 0;
  PlaneLoop planes;
  const int32_t* mask = nullptr;         // of the lanes of the last vector
  const int32_t* x_mask = nullptr;       // of the inputs that one load brings
  const int32_t* permutations = nullptr; // [input][lane]
  float six = 6;
};

/// Columns of the kernel whose weights are in registers at once, for a set of one vector.
inline int64_t taps_at_once(const ConvolutionShape& s) {
  constexpr int64_t kMost = 4;
  return ceil_div(s.kernel.columns, ceil_div(s.kernel.columns, kMost));
}

/// Inputs of one iteration: a row of few taps alone would not hide what a loop costs.
inline int64_t unrolled_inputs(const GroupedShape& s) {
  constexpr int64_t kTaps = 4;
  return std::clamp<int64_t>(kTaps / s.kernel.columns, 1, s.inputs);
}

inline int64_t vectors_of(const GroupedShape& s) { return ceil_div(s.outputs, s.lanes()); }

/// Groups that share a vector: as many as have their inputs within one load.
inline int64_t groups_of_vector(const GroupedShape& s) {
  int64_t fit = s.lanes() / std::max(s.inputs, s.outputs);
  return std::max<int64_t>(1, std::min(fit, s.groups));
}

/// Groups whose inputs and outputs each fill four lanes: a permutation inside of fours serves.
inline bool are_quarters(const GroupedShape& s, const GroupedTile& t) {
  return t.groups > 1 && s.inputs == 4 && s.outputs == 4;
}

inline constexpr int64_t kFewWeights = 16 << 10; // bytes that stay in the first level

/// Whether the weights of a set come from the second level, or further away.
inline bool streams_weights(const GroupedShape& s, int64_t vectors) {
  return 4 * s.taps() * s.inputs * vectors * s.lanes() > kFewWeights;
}

/// Of one tap, without groups: a product of pixels by a matrix.
inline bool is_product(const GroupedShape& s) { return s.taps() == 1 && s.groups == 1; }
/// Of one tap in each plane, the same: a sum of products.
inline bool is_product_of_planes(const GroupedShape& s) {
  return s.kernel.rows * s.kernel.columns == 1 && s.groups == 1;
}

/// Groups or their parts, side by side in y.
struct SetSteps {
  int64_t sets, in_group; // of all; of a group
  int64_t outputs;        // from set to set
  int64_t inputs;         // the same, where a group has but one
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
  /// Among all channels of y; of the one behind the last set, their number.
  int64_t first_output(int64_t set) const {
    if (set == sets) return (sets / in_group - 1) * group_outputs() + last_group_outputs();
    return set / in_group * group_outputs() + set % in_group * outputs;
  }
  /// From group to group, or from set to set where these hold several.
  int64_t group_outputs() const {
    return in_group > 1 ? (in_group - 1) * outputs + last_outputs : outputs;
  }
  int64_t last_group_outputs() const { return (in_group - 1) * outputs + last_outputs; }
};

/// Columns of the widest one.
inline int64_t widest_tile(const GroupedShape& s, const GroupedTile& t) {
  return ceil_div(s.result.columns, ceil_div(s.result.columns, t.columns));
}

inline int64_t set_weights(const GroupedShape& s, const GroupedTile& t) {
  return s.taps() * s.inputs * t.vectors * s.lanes();
}

/// An upper bound of emitted bytes: ten for an instruction with an address, and for each tile what
/// begins and ends it.
int64_t grouped_code_bound(const GroupedShape& s, const GroupedTile& t);

} // namespace tg::tile
