// The peak of live bytes of an order, counted afresh at each position.
#pragma once

#include "compiler/emit/plan_from_graph.h"

#include <llvm/ADT/STLExtras.h>

namespace tg {

/// Returns the highest sum of bytes of run-time results that are alive at once. A node may occur
/// several times; its readers read the latest result. Views count like other results.
inline int64_t naive_peak(const Graph& graph, llvm::ArrayRef<NodeId> order) {
  auto is_output = [&](NodeId id) {
    return llvm::any_of(graph.outputs(),
                        [&](const GraphOutput& output) { return output.node == id; });
  };
  auto last_use = [&](size_t made) {
    size_t last = made;
    for (size_t at = made + 1; at < order.size(); ++at) {
      if (llvm::is_contained(graph.operands(order[at]), order[made])) last = at;
      if (order[at] == order[made]) return last;
    }
    return is_output(order[made]) ? order.size() : last;
  };
  std::vector<size_t> last(order.size());
  for (size_t made = 0; made < order.size(); ++made) last[made] = last_use(made);
  int64_t peak = 0;
  for (size_t now = 0; now < order.size(); ++now) {
    auto dies = [&](NodeId operand) {
      for (size_t made = now; made-- > 0;)
        if (order[made] == operand) return last[made] == now;
      return false;
    };
    int64_t live = 0;
    for (size_t made = 0; made <= now; ++made)
      if (last[made] >= now) live += (graph.type(order[made]).bytes() + 63) / 64 * 64;
    if (in_place_operand(graph, order[now], dies) >= 0)
      live -= (graph.type(order[now]).bytes() + 63) / 64 * 64;
    peak = std::max(peak, live);
  }
  return peak;
}

} // namespace tg
