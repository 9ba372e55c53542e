// Prices of groups without a device: a roofline over the launches of the device profile's backend
// (runtime/cuda/grouping.h). A group takes one launch and the maximum of its operators' arithmetic
// and of its traffic. The traffic is its reads and writes outside of itself, each value once. A
// group of one operator has that operator's price. Attention that the library runs as one operation
// moves queries, keys, values and results, but no scores. Layouts are chosen as the backend chooses
// them, by the roofline. Changing the layout of an image is a transpose, and a channels-first
// convolution in a half type includes the library's transposes around it.
#pragma once

#include "compiler/extract/cost/analytic.h"
#include "compiler/extract/cost/cost.h"

namespace tg {

namespace cuda {
struct AssumedPrices; // runtime/cuda/grouping.h
}

/// Returns the prices by which layouts are chosen. `costs` must outlive them.
cuda::AssumedPrices assumed_prices(const AnalyticCost& costs);

/// `costs` must outlive the result.
std::unique_ptr<GroupPricer> make_cuda_groups(const AnalyticCost& costs);

} // namespace tg
