// Counts the operators in which graphs differ.
#pragma once

#include "compiler/extract/cost/cost.h"
#include "compiler/extract/extract.h"
#include "compiler/ir/graph.h"

#include <llvm/ADT/StringMap.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <string>
#include <vector>

namespace tg {

/// Counts equal operator instances over graphs with the same symbols.
class InstanceUses {
public:
  /// Adds a graph `sign` times.
  void add(const Graph& graph, double sign) {
    graphs_.push_back(instances_of(graph));
    for (const OpInstance& instance : graphs_.back().instances) {
      std::string key = instance_key(graph.symbols(), instance);
      auto [at, fresh] = place_.try_emplace(key, uses_.size());
      if (fresh) uses_.push_back({instance, 0});
      uses_[at->second].weight += sign;
    }
  }
  /// Returns the instances whose counts differ between the sides.
  std::vector<PriceUse> differing() const {
    std::vector<PriceUse> out;
    for (PriceUse use : uses_)
      if ((use.weight = std::abs(use.weight)) > 0) out.push_back(use);
    return out;
  }
  /// Returns the price of the instances that the side with this sign has in excess of the other.
  double excess_us(double sign, PriceCache& prices) const {
    double sum = 0;
    for (const PriceUse& use : uses_)
      if (use.weight * sign > 0) sum += use.weight * sign * prices.price(use.instance);
    return sum;
  }

private:
  std::deque<GraphInstances> graphs_; // storage of the uses
  std::vector<PriceUse> uses_;
  llvm::StringMap<size_t> place_;
};

} // namespace tg
