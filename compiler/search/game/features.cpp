#include "compiler/search/game/features.h"

#include <llvm/Support/DJB.h>

#include <algorithm>
#include <cmath>

namespace tg {

namespace {

constexpr size_t kResult = 0, kOperands = 4, kWeights = 12, kAttributes = 16;
constexpr size_t kShown = 2;      // operands whose dimensions are encoded; numbers per attribute
constexpr size_t kDimensions = 4; // dimensions per shape
constexpr size_t kShownWeights = 3, kShownAttributes = 5;
static_assert(kAttributes + kShownAttributes * kShown == kNodeTraits);

/// Clamps to [-16, 16], including infinite bounds of a clip. NaN becomes 0.
float scaled(double number) {
  if (std::isnan(number)) return 0;
  double size = std::min(std::log2(1 + std::abs(number)) / 8, 16.0);
  return static_cast<float>(number < 0 ? -size : size);
}

void put_shape(const TensorType& type, float* at) {
  llvm::ArrayRef<int64_t> shape = type.shape;
  if (shape.size() > kDimensions) shape = shape.take_back(kDimensions);
  for (size_t i = 0; i < shape.size(); ++i)
    at[kDimensions - shape.size() + i] = scaled(static_cast<double>(shape[i]));
}

void put_value(const Value& value, float* at) {
  switch (value.kind) {
  case Value::Kind::Int:
  case Value::Kind::Bool: at[0] = scaled(static_cast<double>(value.number)); break;
  case Value::Kind::Float: at[0] = scaled(value.real); break;
  case Value::Kind::Ints:
    for (size_t i = 0; i < std::min(value.ints.size(), kShown); ++i)
      at[i] = scaled(static_cast<double>(value.ints[i]));
    break;
  case Value::Kind::Enum:
  case Value::Kind::String:
    at[0] = static_cast<float>(1 + llvm::djbHash(value.text) % 1022) / 1024;
    break;
  case Value::Kind::Floats:
  case Value::Kind::Type: break;
  }
}

std::array<float, kNodeTraits> traits_of(const Graph& graph, NodeId id) {
  std::array<float, kNodeTraits> out = {};
  put_shape(graph.type(id), &out[kResult]);
  llvm::ArrayRef<NodeId> operands = graph.operands(id);
  for (size_t i = 0; i < std::min(operands.size(), kShown); ++i)
    if (graph.node(operands[i]).op != OpKind::None)
      put_shape(graph.type(operands[i]), &out[kOperands + i * kDimensions]);
  out[kWeights] = graph.node(id).weight_only;
  for (size_t i = 0; i < std::min(operands.size(), kShownWeights); ++i)
    out[kWeights + 1 + i] = graph.node(operands[i]).weight_only;
  llvm::ArrayRef<ValueId> attrs = graph.attrs(id);
  for (size_t i = 0; i < std::min(attrs.size(), kShownAttributes); ++i)
    put_value(graph.attr(id, i), &out[kAttributes + i * kShown]);
  return out;
}

} // namespace

bool is_leaf(OpKind op) { return op_info(op).has(Trait::Leaf); }

GraphFeatures features_of(const Graph& graph) {
  GraphFeatures out;
  std::vector<bool> reachable = graph.reachable();
  std::vector<uint32_t> place(graph.size(), UINT32_MAX);
  for (uint32_t i = 0; i < graph.size(); ++i) {
    if (!reachable[i] || is_leaf(graph.node({i}).op)) continue;
    place[i] = static_cast<uint32_t>(out.operators.size());
    out.operators.push_back(graph.node({i}).op);
    out.traits.push_back(traits_of(graph, {i}));
    for (NodeId operand : graph.operands({i}))
      if (place[operand.index] != UINT32_MAX)
        out.edges.emplace_back(place[operand.index], place[i]);
  }
  return out;
}

} // namespace tg
