// Channels first or last, by region: every image of a run (a value of four axes) lies one way or
// the other, and so do the kernels that convolutions read. Convolutions have a price in each; a
// value that is read the other way is converted, at a price; what generated kernels do between
// convolutions they do in any layout, but pay for turning one into the other. Inputs, outputs and
// what products, reshapes and transposes read stay row-major.
//
// The cheapest choice is a minimum cut: steps and values are nodes, prices of channels first and
// last their links to the two ends, conversions the links among them (Kolmogorov and Zabih, What
// Energy Functions Can Be Minimized via Graph Cuts, 2004). Regions fall out of it: a connected part
// on one side of the cut.
#pragma once

#include "runtime/cuda/codegen/plan_edit.h"
#include "runtime/cuda/codegen/pull.h"

namespace tg::cuda {

/// Microseconds.
struct LayoutPrices {
  /// Of a convolution whose image, result and kernel lie so; nullopt: not in this layout.
  std::function<std::optional<double>(const PlanStep&, bool channels_last)> convolution;
  std::function<double(const TensorType&)> conversion;
};

/// Of each value: channels last.
std::vector<bool> choose_layouts(const Plan& plan, const LayoutPrices& prices);

struct LaidOutPlan {
  EditedPlan edited;
  std::vector<bool> channels_last; // of each value, new ones too
  int conversions = 0;             // steps that were put in
  int regions = 0;                 // connected parts with channels last
};
/// Puts in a conversion (`identity`) wherever a convolution, an output or a step that knows one
/// layout reads a value of the other.
LaidOutPlan lay_out(const Plan& plan, std::vector<bool> channels_last);

/// Row-major, whatever the strides of axes of one element say.
bool lies_plainly(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> strides);

/// By a table of choices, which outlives it; values beyond it lie plainly.
StridesOf strides_of(const Plan& plan, const std::vector<bool>& channels_last);

} // namespace tg::cuda
