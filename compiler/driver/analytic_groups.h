// Prices of groups without a device: a roofline over what the backend of a device profile would
// launch (runtime/cuda/grouping.h). A group takes one launch and the longer of its operators'
// arithmetic and of its traffic, which is what it reads and writes outside of itself, each value
// once. A group of one operator has that operator's price.
#pragma once

#include "compiler/extract/analytic.h"
#include "compiler/extract/group_price.h"

namespace tg {

/// `costs` must outlive it. Null in builds without the backend that does the grouping.
std::unique_ptr<GroupPricer> make_analytic_groups(const AnalyticCost& costs);

} // namespace tg
