#include "compiler/ir/evaluate.h"

#include "lang/core/support/random.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tg {

LeafSource random_leaves(uint64_t seed, std::function<bool(llvm::StringRef)> positive) {
  return [seed, positive = std::move(positive)](const Graph& graph, NodeId id) {
    const std::string& name = graph.attr(id, 0).text;
    bool above_zero = positive && positive(name);
    RandomStream stream(seed, name);
    NodeValues values(static_cast<size_t>(graph.type(id).elements()));
    bool flags = graph.type(id).dtype == DType::Bool;
    for (size_t i = 0; i < values.size(); ++i) {
      if (flags) {
        values[i] = stream.uniform(i) < 0.5;
        continue;
      }
      double u = above_zero ? stream.uniform(i) : 2 * stream.uniform(i) - 1;
      values[i] = std::copysign(std::max(std::abs(u), 0x1p-10), u);
    }
    return values;
  };
}

Result<std::vector<NodeValues>> evaluate(const Graph& graph, const LeafSource& leaves,
                                         llvm::ArrayRef<NodeId> wanted) {
  return Evaluation<double>(graph, wanted).run(leaves);
}

Result<std::vector<NodeValues>> evaluate(const Graph& graph, const LeafSource& leaves) {
  llvm::SmallVector<NodeId, 4> wanted;
  for (const GraphOutput& output : graph.outputs()) wanted.push_back(output.node);
  return evaluate(graph, leaves, wanted);
}

double max_rel_diff(llvm::ArrayRef<double> a, llvm::ArrayRef<double> b) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (a.size() != b.size()) return kInfinity;
  double distance = 0, scale = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!std::isfinite(a[i]) || !std::isfinite(b[i])) return kInfinity;
    distance = std::max(distance, std::abs(a[i] - b[i]));
    scale = std::max(scale, std::abs(b[i]));
  }
  return distance == 0 ? 0 : distance / scale; // b is all zeros: infinity
}

} // namespace tg
