// Chooses channels first or last by region. Every image of a run (a value of four axes)
// has one of the two layouts, and so do the kernels that convolutions read.
// Convolutions have a price in each layout. A value that is read in the other layout is converted,
// at a price. Generated kernels between convolutions work in any layout, but pay for converting.
// Inputs, outputs and operands of products, reshapes and transposes stay row-major.
//
// The cheapest choice is a minimum cut: steps and values are nodes,
// prices of channels first and last are their links to the two ends,
// and conversions are links between them (Kolmogorov and Zabih,
// What Energy Functions Can Be Minimized via Graph Cuts, 2004).
// A region is a connected part on one side of the cut.
#pragma once

#include "runtime/cuda/codegen/plan_edit.h"
#include "runtime/cuda/codegen/pull.h"

namespace tg::cuda {

/// Prices in microseconds.
struct LayoutPrices {
  /// The price of a convolution whose image, result and kernel have this layout; nullopt:
  /// not supported in this layout.
  std::function<std::optional<double>(const PlanStep&, bool channels_last)> convolution;
  std::function<double(const TensorType&)> conversion;
};

/// Returns for each value whether it has channels last.
std::vector<bool> choose_layouts(const Plan& plan, const LayoutPrices& prices);

struct PlanWithLayouts {
  EditedPlan edited;
  std::vector<bool> channels_last; // for each value, including new ones
  int conversions = 0;             // inserted conversions
  int regions = 0;                 // connected regions with channels last
};
/// Inserts a conversion (`identity`) wherever a convolution, an output or a step
/// with a fixed layout reads a value of the other layout.
PlanWithLayouts assign_layouts(const Plan& plan, std::vector<bool> channels_last);

/// Returns true for row-major strides; the strides of axes of one element are ignored.
bool is_row_major(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> strides);

/// Returns strides by a table of choices, which must outlive the function;
/// values beyond it are row-major.
StridesOf strides_of(const Plan& plan, const std::vector<bool>& channels_last);

} // namespace tg::cuda
