#include "compiler/optimizer/placed_times.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/StringMap.h>

namespace tg {

PlacedInstances placed_instances(const Graph& graph, const PlacedNodes& nodes) {
  PlacedInstances out;
  out.of = instances_of(graph);
  llvm::DenseMap<uint32_t, double> time_of;
  for (const PlacedNodes::One& one : nodes.nodes) time_of[one.node.index] += one.microseconds;
  llvm::StringMap<size_t> place;
  std::vector<double> count;
  for (size_t i = 0; i < out.of.instances.size(); ++i) {
    auto time = time_of.find(out.of.nodes[i].index);
    if (time == time_of.end()) continue;
    const OpInstance& instance = out.of.instances[i];
    auto [at, fresh] = place.try_emplace(instance_key(graph.symbols(), instance), count.size());
    if (fresh) {
      out.times.push_back({instance, 0});
      count.push_back(0);
    }
    out.times[at->second].microseconds += time->second;
    out.sum_us += time->second;
    ++count[at->second];
  }
  for (size_t i = 0; i < count.size(); ++i) out.times[i].microseconds /= count[i];
  return out;
}

} // namespace tg
