// Random instances of every operator in the table (random_operator.h), without a list of names,
// as graphs with floats of any dtype and operands of several kinds.
#pragma once

#include "tests/property/programs/random_operator.h"
#include "tests/unit/cpu/compare.h"

#include <cmath>
#include <optional>

namespace tg::test {

/// An operator with operands of these types. Floats are f32; a graph may replace that.
struct Instance {
  OpKind op;
  std::vector<Value> attrs;
  std::vector<TensorType> operands; // none(): absent
};

/// Draws this many of each operator, except `extern op`, for which no test here registers kernels.
inline std::vector<Instance> instances(uint64_t seed, size_t of_each) {
  std::vector<Instance> all;
  for (const OpInfo& info : all_ops()) {
    if (info.has(Trait::Leaf) || info.has(Trait::Sugar) || info.kind == OpKind::Extern) continue;
    size_t names = 0;
    RandomOperator random(seed * 1000 + static_cast<uint64_t>(info.kind),
                          [&](Graph& graph, const TensorType& type) {
                            return graph.input("x" + std::to_string(names++), type);
                          });
    for (size_t i = 0; i < of_each; ++i) {
      Graph graph(std::make_shared<Symbols>(), "drawn");
      NodeId id = random.add(graph, info);
      EXPECT_TRUE(id.valid()) << "no operands were found for " << std::string(info.name);
      if (!id.valid()) break;
      Instance one{info.kind, {}, {}};
      for (ValueId value : graph.attrs(id)) one.attrs.push_back(graph.symbols().value(value));
      for (NodeId operand : graph.operands(id)) one.operands.push_back(graph.type(operand));
      all.push_back(std::move(one));
    }
  }
  return all;
}

/// The kind of an instance's operands.
enum class Operands : uint8_t {
  Inputs,
  Weights,  // all but the first, like a layer's parameters
  Views,    // transposed inputs, a layout that no kernel prefers
  Products, // floats are products with an activation, which kernels fuse
};

class InstanceGraph {
public:
  /// `draw` selects the forms of operands.
  InstanceGraph(const Instance& instance, DType floats, Operands operands, uint64_t draw)
      : floats_(floats), form_(operands), draw_(draw) {
    std::vector<NodeId> nodes;
    for (const TensorType& type : instance.operands)
      nodes.push_back(type.is_none() ? b_.none() : operand(typed(type)));
    llvm::SmallVector<ValueId> attrs;
    for (const Value& value : instance.attrs) attrs.push_back(b_.graph.symbols().value(value));
    NodeId y = b_.graph.add(instance.op, attrs, nodes);
    if (!y.valid()) return;
    const TensorType type = b_.graph.type(y);
    // Half of the results are pieces of a concat, which their kernels write in place.
    if (draw_ % 2 != 0 && type.rank() > 0)
      y = b_.op(OpKind::Concat, {y, b_.input("piece", type.shape, type.dtype)}, {Value::of_int(0)});
    b_.output(y);
    is_valid_ = true;
  }

  /// Returns false if the operator does not support the dtype.
  bool is_valid() const { return is_valid_; }
  const Graph& graph() const { return b_.graph; }

private:
  struct TypedBuilder : Builder {
    NodeId input(llvm::StringRef name, Shape shape, DType dtype) {
      return graph.input(name, {dtype, shape});
    }
    NodeId weight(llvm::StringRef path, Shape shape, DType dtype) {
      return graph.weight(path, {dtype, shape}, "normal(1)");
    }
  };

  TensorType typed(TensorType type) const {
    if (type.dtype == DType::F32) type.dtype = floats_;
    return type;
  }
  std::string name() { return "x" + std::to_string(names_++); }
  NodeId input(const Shape& shape, DType dtype) { return b_.input(name(), shape, dtype); }
  NodeId weight(const Shape& shape, DType dtype) { return b_.weight(name(), shape, dtype); }

  NodeId operand(const TensorType& type) {
    bool first = names_ == 0;
    // Integers are indices, for which random inputs are drawn and weights would be zeros.
    bool constant = form_ == Operands::Weights && !first && is_float(type.dtype);
    if (constant) return weight(type.shape, type.dtype);
    if (form_ == Operands::Views && type.rank() >= 2) return view(type);
    if (form_ == Operands::Products && is_float(type.dtype) && type.rank() >= 2)
      return product(type);
    return input(type.shape, type.dtype);
  }

  NodeId view(const TensorType& type) {
    Shape turned = type.shape;
    std::swap(turned.end()[-1], turned.end()[-2]);
    std::vector<int64_t> perm;
    for (int64_t i = 0; i < type.rank(); ++i) perm.push_back(i);
    std::swap(perm.end()[-1], perm.end()[-2]);
    return b_.op(OpKind::Transpose, {input(turned, type.dtype)}, {Value::of_ints(perm)});
  }

  /// A convolution for an image, otherwise a matrix product, with an input or a weight.
  NodeId product(const TensorType& type) {
    constexpr const char* kActs[] = {"none", "relu", "tanh", "sigmoid", "gelu", "relu6"};
    Value activation = act(kActs[(draw_ + static_cast<uint64_t>(names_)) % std::size(kActs)]);
    bool by_input = draw_ / 2 % 2 != 0;
    auto second = [&](const Shape& shape) {
      return by_input ? input(shape, type.dtype) : weight(shape, type.dtype);
    };
    constexpr int64_t kDepth = 3;
    Shape from = type.shape;
    if (type.rank() == 4) {
      from[1] = kDepth;
      NodeId x = input(from, type.dtype), w = second({type.shape[1], kDepth, 1, 1});
      return b_.op(OpKind::Conv2d, {x, w, b_.none(), b_.none()},
                   {pair(1, 1), act("valid"), pair(1, 1), activation});
    }
    from.back() = kDepth;
    NodeId x = input(from, type.dtype), w = second({kDepth, type.shape.back()});
    return b_.op(OpKind::Matmul, {x, w, b_.none(), b_.none()}, {activation});
  }

  DType floats_;
  Operands form_;
  uint64_t draw_;
  TypedBuilder b_;
  size_t names_ = 0;
  bool is_valid_ = false;
};

/// Returns "" if all elements agree: NaN with NaN, equal infinities, numbers within `slack`
/// of the largest, or of `least`. Integers and bools must be equal, unless the slack is infinite.
inline std::string first_disagreement(const Tensor& got, const Tensor& want, double slack,
                                      double least = 1e-30) {
  if (got.type() != want.type()) return "it is " + got.type().text();
  std::vector<double> g = got.doubles(), w = want.doubles();
  double largest = least;
  for (double x : w)
    if (std::isfinite(x)) largest = std::max(largest, std::abs(x));
  if (!is_float(want.type().dtype) && std::isfinite(slack)) slack = 0;
  for (size_t i = 0; i < w.size(); ++i) {
    bool same = std::isnan(w[i])   ? std::isnan(g[i])
                : std::isinf(w[i]) ? g[i] == w[i]
                                   : std::abs(g[i] - w[i]) <= slack * largest;
    if (!same)
      return "element " + std::to_string(i) + " is " + std::to_string(g[i]) + ", not " +
             std::to_string(w[i]);
  }
  return "";
}

} // namespace tg::test
