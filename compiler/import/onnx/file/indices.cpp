#include "compiler/import/onnx/file/indices.h"

#include <optional>

namespace tg::onnx {
namespace {

/// Returns the elements of a constant of integers, each value once if it is repeated.
std::optional<llvm::SmallVector<int64_t, 8>> wholes(const Graph& graph, NodeId id) {
  if (graph.node(id).op != OpKind::Constant || is_float(graph.type(id).dtype)) return std::nullopt;
  const Value& value = graph.attr(id, 0);
  llvm::SmallVector<int64_t, 8> all(value.ints.begin(), value.ints.end());
  for (double x : value.reals) all.push_back(static_cast<int64_t>(x));
  return all;
}

bool is_all(const Graph& graph, NodeId id, llvm::function_ref<bool(int64_t)> holds) {
  auto known = wholes(graph, id);
  return known && !known->empty() && llvm::all_of(*known, holds);
}

/// Returns true if `id` is x + size, in either order.
bool is_sum(const Graph& graph, NodeId id, NodeId x, int64_t size) {
  if (graph.node(id).op != OpKind::Add) return false;
  llvm::ArrayRef<NodeId> sides = graph.operands(id);
  auto adds = [&](NodeId a, NodeId b) {
    return a == x && is_all(graph, b, [&](int64_t n) { return n == size; });
  };
  return adds(sides[0], sides[1]) || adds(sides[1], sides[0]);
}

/// Returns {otherwise, x} of select(x < 0, otherwise, x).
std::optional<std::pair<NodeId, NodeId>> replaced_below_zero(const Graph& graph, NodeId id) {
  if (graph.node(id).op != OpKind::Select) return std::nullopt;
  llvm::ArrayRef<NodeId> parts = graph.operands(id);
  bool less = graph.node(parts[0]).op == OpKind::Less;
  if (!less || graph.operands(parts[0])[0] != parts[2] || graph.type(parts[2]) != graph.type(id))
    return std::nullopt;
  if (!is_all(graph, graph.operands(parts[0])[1], [](int64_t n) { return n == 0; }))
    return std::nullopt;
  return std::pair(parts[1], parts[2]);
}

} // namespace

NodeId counted_from_end(const Graph& graph, NodeId indices, int64_t size) {
  auto parts = replaced_below_zero(graph, indices);
  return parts && is_sum(graph, parts->first, parts->second, size) ? parts->second : NodeId();
}

NodeId kept_from_end(const Graph& graph, NodeId indices, int64_t size) {
  auto parts = replaced_below_zero(graph, indices);
  bool beyond = parts && is_all(graph, parts->first, [&](int64_t n) { return n >= size; });
  return beyond ? parts->second : NodeId();
}

} // namespace tg::onnx
