#include "compiler/verify/counterexample/probe.h"

#include "lang/core/support/random.h"

#include <llvm/ADT/STLExtras.h>

#include <algorithm>
#include <cmath>

namespace tg {

std::optional<int64_t> index_limit(const Graph& graph, NodeId leaf) {
  std::vector<bool> from(graph.size());
  from[leaf.index] = true;
  std::optional<int64_t> limit;
  for (uint32_t i = leaf.index + 1; i < graph.size(); ++i) {
    llvm::ArrayRef<NodeId> operands = graph.operands({i});
    OpKind op = graph.node({i}).op;
    int picks = op_info(op).index_operand();
    if (picks >= 0 && from[operands[static_cast<size_t>(picks)].index]) {
      int64_t size = graph.type(operands[0])[static_cast<size_t>(graph.attr({i}, 0).number)];
      limit = std::min(limit.value_or(size), size);
    } else if (op_info(op).has(Trait::Layout)) {
      from[i] = llvm::any_of(operands, [&](NodeId id) { return from[id.index]; });
    }
  }
  return limit;
}

namespace {

double integer_at(const RandomStream& stream, uint64_t i) {
  return static_cast<double>(static_cast<int64_t>(stream.bits(i) % 5)) - 2;
}

double mixed_at(const RandomStream& stream, uint64_t i) {
  uint64_t bits = stream.bits(2 * i);
  double u = 2 * stream.uniform(2 * i + 1) - 1;
  switch (bits % 6) {
  case 0: return 0;
  case 1: return bits & 64 ? 1 : -1;
  case 2: return bits & 64 ? 0.5 : -0.5;
  case 3: return 30 * u;
  case 4: return 1e-6 * u;
  default: return u;
  }
}

/// Draws indices in range, small integers of both signs, and truth values 0 or 1.
NodeValues whole_numbers(Probe probe, uint64_t seed, const Graph& graph, NodeId id) {
  seed += static_cast<uint64_t>(probe) << 32; // different for each probe
  RandomStream stream(seed, graph.attr(id, 0).text);
  NodeValues values(static_cast<size_t>(graph.type(id).elements()));
  std::optional<int64_t> limit = index_limit(graph, id);
  if (graph.type(id).dtype == DType::Bool) limit = 2;
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = limit ? static_cast<double>(stream.bits(i) % static_cast<uint64_t>(*limit))
                      : static_cast<double>(stream.bits(i) % 9) - 4;
  return values;
}

} // namespace

llvm::StringRef probe_name(Probe probe) {
  switch (probe) {
  case Probe::Plain: return "numbers in (-1, 1)";
  case Probe::Positive: return "numbers in (0, 1)";
  case Probe::Integers: return "small integers";
  case Probe::Mixed: return "zeros, ties, tiny and large numbers";
  }
  return "";
}

LeafSource probe_leaves(Probe probe, uint64_t seed) {
  LeafSource uniform =
      random_leaves(seed, [=](llvm::StringRef) { return probe == Probe::Positive; });
  return [probe, seed, uniform](const Graph& graph, NodeId id) {
    if (!is_float(graph.type(id).dtype)) return whole_numbers(probe, seed, graph, id);
    if (probe == Probe::Plain || probe == Probe::Positive) return uniform(graph, id);
    RandomStream stream(seed, graph.attr(id, 0).text);
    NodeValues values(static_cast<size_t>(graph.type(id).elements()));
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = probe == Probe::Integers ? integer_at(stream, i) : mixed_at(stream, i);
    return values;
  };
}

std::optional<int64_t> first_difference(llvm::ArrayRef<double> a, llvm::ArrayRef<double> b,
                                        double tolerance, double least) {
  double largest = least; // cancellation leaves rounding errors behind
  for (llvm::ArrayRef<double> side : {a, b})
    for (double x : side)
      if (std::isfinite(x)) largest = std::max(largest, std::abs(x));
  for (size_t i = 0; i < a.size(); ++i) {
    bool finite = std::isfinite(a[i]) && std::isfinite(b[i]);
    bool same = finite ? std::abs(a[i] - b[i]) <= tolerance * largest
                       : (std::isnan(a[i]) && std::isnan(b[i])) || a[i] == b[i];
    if (!same) return static_cast<int64_t>(i);
  }
  return std::nullopt;
}

} // namespace tg
