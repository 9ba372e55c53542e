#include "compiler/search/portfolio/bounds.h"

#include <utility>

namespace tg {

std::vector<GraphBound> bounds_on(double cost_us, llvm::ArrayRef<GraphBound> known) {
  constexpr double kTolerance = 1e-9; // relative: sums in another order
  auto preferred = [](const GraphBound& a, const GraphBound* b) {
    return !b || std::pair(a.saturated, a.nodes) >= std::pair(b->saturated, b->nodes);
  };
  const GraphBound *proved = nullptr, *largest = nullptr;
  for (const GraphBound& bound : known) {
    if (bound.best_us > cost_us * (1 + kTolerance)) continue;
    if (!largest || bound.nodes >= largest->nodes) largest = &bound;
    if (bound.optimal() && preferred(bound, proved)) proved = &bound;
  }
  std::vector<GraphBound> out;
  if (proved) out.push_back(*proved);
  if (largest && (!proved || largest->nodes > proved->nodes)) out.push_back(*largest);
  return out;
}

} // namespace tg
