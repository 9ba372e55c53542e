// Prices of groups without a device: a roofline over what the backend of a device profile would
// launch (runtime/cuda/grouping.h). A group takes one launch and the longer of its operators'
// arithmetic and of its traffic, which is what it reads and writes outside of itself, each value
// once. A group of one operator has that operator's price. Attention that the library takes as one
// operation moves queries, keys, values and results, and no scores. Layouts are chosen as the
// backend chooses them, by the roofline: turning an image is a transpose, and a convolution in a
// half type that lies channels first costs what the library turns around it.
#pragma once

#include "compiler/extract/cost/analytic.h"
#include "compiler/extract/cost/cost.h"

namespace tg {

namespace cuda {
struct AssumedPrices; // runtime/cuda/grouping.h
}

/// By which layouts are chosen. `costs` must outlive them.
cuda::AssumedPrices assumed_prices(const AnalyticCost& costs);

/// `costs` must outlive it.
std::unique_ptr<GroupPricer> make_cuda_groups(const AnalyticCost& costs);

} // namespace tg
