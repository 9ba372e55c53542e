// What a whole graph costs by what a device launches at once. A backend that fuses when it loads a
// graph runs several operators as one group; the sum of the operators' prices then says little of
// which of two graphs is faster. The compiler knows only this interface; the driver fills it with
// prices that are measured, or with a roofline over the groups that a backend would make.
#pragma once

#include "compiler/ir/graph.h"

#include <limits>

namespace tg {

struct GroupPrice {
  double microseconds = std::numeric_limits<double>::infinity(); // of one run
  size_t groups = 0;                                             // that are launched
};

class GroupPricer {
public:
  virtual ~GroupPricer() = default;
  /// One for each graph, infinite for what the device does not take. Deterministic as long as the
  /// pricer lives; groups that were priced before cost little to ask for again.
  virtual std::vector<GroupPrice> price(llvm::ArrayRef<const Graph*> graphs) = 0;
};

} // namespace tg
