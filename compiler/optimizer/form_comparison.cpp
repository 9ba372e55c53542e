#include "compiler/optimizer/form_comparison.h"

#include "compiler/optimizer/explanation.h"
#include "compiler/optimizer/instance_uses.h"

#include <algorithm>
#include <cmath>

namespace tg {

namespace {

/// Share of the price of the operators that only one of two graphs has. Calibrated prices order 84
/// to 90% of the graphs correctly whose times differ by more than 5%, and closer ones by chance
/// (bench/results/prices.md). Operators that both graphs have do not count: their errors are equal.
constexpr double kUnclearShare = 0.05;

/// Returns the price that a form saves by joining the operators of the graph into one. A joined
/// operator that maps or moves elements reads its operands and writes its result once, so it is
/// assumed to cost as much as the most expensive of them. For other operators the result is 0,
/// because another runtime's kernel may be slower than the separate operators.
double saved_by_joining(const Graph& graph, double price_us, PriceCache& prices) {
  GraphInstances priced = instances_of(graph);
  double dearest = 0;
  for (const OpInstance& instance : priced.instances) {
    const OpInfo& info = op_info(instance.op);
    bool maps = info.has(Trait::Leaf | Trait::Layout | Trait::Pointwise) ||
                instance.op == OpKind::Cast || instance.op == OpKind::Clip;
    if (!maps) return 0;
    dearest = std::max(dearest, prices.price(instance));
  }
  return std::max(0.0, price_us - dearest);
}

} // namespace

Preference FormComparison::prefer(const UsedForm& source, const UsedForm& found) {
  if (source.digest == found.digest) return Preference::None;
  Graph before = with_kernels(source.graph), after = with_kernels(found.graph);
  GraphRank of_source = rank(source, before), of_found = rank(found, after);
  if (of_found.is_before(of_source, margin_us(before, after))) return Preference::Found;
  return costs_more(of_found.cost_us, of_source.cost_us) ? Preference::Source : Preference::None;
}

/// Returns the graph with the kernels that this machine would use. After the deadline they are
/// chosen without a solver.
Graph FormComparison::with_kernels(const Graph& graph) const {
  Extractor extractor = options_.time.end().asked() ? Extractor::GreedyDag : Extractor::Best;
  return with_fused_kernels(graph, rules_, prices_, options_.explore.numerics, extractor);
}

GraphRank FormComparison::rank(const UsedForm& form, const Graph& with_kernels) {
  double cost = price_graph(with_kernels, prices_);
  for (const Graph& one : form.joined) {
    auto [known, first] = saved_.try_emplace(digest(one), 0);
    if (first)
      known->second = saved_by_joining(one, price_graph(this->with_kernels(one), prices_), prices_);
    cost -= known->second;
  }
  return {cost, form.operators};
}

/// Returns the difference in price from which on one graph is clearly cheaper than the other.
double FormComparison::margin_us(const Graph& a, const Graph& b) {
  InstanceUses uses;
  uses.add(a, 1);
  uses.add(b, -1);
  double changed_us = std::max(uses.excess_us(1, prices_), uses.excess_us(-1, prices_));
  return std::isfinite(changed_us) ? kUnclearShare * changed_us : 0;
}

} // namespace tg
