// Products over the field have an implementation of their own (field/product.h).
// These tests compare it with the definition, for matrices, convolutions and minimal filtering
// of many shapes.
#include "compiler/ir/graph.h"
#include "compiler/verify/field/field.h"
#include "lang/core/semantics/impl.h"
#include "lang/core/support/random.h"

#include <gtest/gtest.h>

#include <random>

namespace tg {

/// The same scalar with another name, for which no code is specialised.
struct PlainField {
  Field f;
  friend PlainField operator+(PlainField a, PlainField b) { return {a.f + b.f}; }
  friend PlainField operator-(PlainField a, PlainField b) { return {a.f - b.f}; }
  friend PlainField operator*(PlainField a, PlainField b) { return {a.f * b.f}; }
  friend PlainField operator/(PlainField a, PlainField b) { return {a.f / b.f}; }
  friend PlainField operator-(PlainField a) { return {-a.f}; }
  PlainField& operator+=(PlainField b) { return *this = *this + b; }
};

template <> struct ScalarTraits<PlainField> { using Wide = PlainField; };
template <> struct Math<PlainField> {
  using M = Math<Field>;
  static PlainField literal(double value) { return {M::literal(value)}; }
  static PlainField integer(int64_t value) { return {M::integer(value)}; }
  static PlainField unary(OpKind op, PlainField x) { return {M::unary(op, x.f)}; }
  static PlainField maximum(PlainField x, PlainField y) { return {M::maximum(x.f, y.f)}; }
  static PlainField binary(OpKind op, PlainField x, PlainField y) {
    return {M::binary(op, x.f, y.f)};
  }
  static PlainField select(PlainField c, PlainField x, PlainField y) {
    return {M::select(c.f, x.f, y.f)};
  }
  static PlainField cast(DType to, PlainField x) { return {M::cast(to, x.f)}; }
  static int64_t index(PlainField, int64_t) { return 0; }
  static PlainField missing() { return {M::missing()}; }
  static int64_t argmax(llvm::ArrayRef<PlainField>) { return 0; }
  static PlainField max_of(llvm::ArrayRef<PlainField> values) { return values[0]; }
  static void softmax(llvm::MutableArrayRef<PlainField>) {}
  struct External { // required by operators that are not tested here
    External(llvm::StringRef, llvm::StringRef) {}
    void shape(llvm::ArrayRef<int64_t>) {}
    void element(PlainField) {}
    PlainField at(int64_t) const { return {}; }
  };
};

namespace {

class Products : public testing::Test {
protected:
  int64_t between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(rng_() % static_cast<uint64_t>(high - low + 1));
  }
  bool chance() { return between(0, 1) == 1; }

  NodeId input(Shape shape) {
    return graph_.input("x" + std::to_string(inputs_++), f32(std::move(shape)));
  }
  NodeId maybe(Shape shape) { return chance() ? input(std::move(shape)) : graph_.none(); }
  ValueId value(Value v) { return graph_.symbols().value(v); }
  Value pair(int64_t high) { return Value::of_ints({between(1, high), between(1, high)}); }
  Value pad() {
    if (chance()) return Value::of_enum(chance() ? "same" : "valid");
    return Value::of_ints({between(0, 2), between(0, 2), between(0, 2), between(0, 2)});
  }
  Value act() { return Value::of_enum(chance() ? "none" : "tanh"); }

  /// Returns the operator's shape without bias and residual, or an empty shape if it is ill-typed.
  Shape shape_of(OpKind op, llvm::ArrayRef<ValueId> attrs, NodeId x, NodeId y) {
    NodeId node = graph_.add(op, attrs, {x, y, graph_.none(), graph_.none()});
    return node.valid() ? graph_.type(node).shape : Shape();
  }

  /// Compares both evaluations of a node over the same random operands.
  void compare(OpKind op, llvm::ArrayRef<ValueId> attrs, llvm::ArrayRef<NodeId> operands) {
    std::string why;
    NodeId node = graph_.add(op, attrs, operands, &why);
    ASSERT_TRUE(node.valid()) << why;
    std::vector<PlainField> plain = evaluate<PlainField>(node);
    std::vector<Field> fast = evaluate<Field>(node);
    ASSERT_EQ(plain.size(), fast.size());
    for (size_t i = 0; i < plain.size(); ++i) ASSERT_EQ(plain[i].f, fast[i]) << dump(graph_);
    ++compared_;
  }

  template <class T> std::vector<T> evaluate(NodeId node) {
    std::vector<std::vector<T>> values;
    llvm::SmallVector<ConstView<T>, 4> views;
    llvm::SmallVector<llvm::ArrayRef<int64_t>, 4> shapes;
    for (NodeId operand : graph_.operands(node)) {
      const TensorType& type = graph_.type(operand);
      RandomStream stream(1, std::to_string(operand.index));
      values.emplace_back();
      for (int64_t i = 0; i < (type.is_none() ? 0 : type.elements()); ++i)
        values.back().push_back(T{Field::random(stream.bits(static_cast<uint64_t>(i)))});
      views.push_back({type.is_none() ? nullptr : values.back().data(), type.shape});
      shapes.push_back(type.shape);
    }
    llvm::SmallVector<const Value*, 4> attrs;
    for (size_t slot = 0; slot < graph_.attrs(node).size(); ++slot)
      attrs.push_back(&graph_.attr(node, slot));
    const TensorType& type = graph_.type(node);
    OpKind op = graph_.node(node).op;
    std::vector<T> result(static_cast<size_t>(type.elements()));
    std::vector<T> scratch(static_cast<size_t>(scratch_elements(op, attrs, shapes, type.shape)));
    evaluate_op<T>(op, attrs, views, {result.data(), type.shape}, scratch);
    return result;
  }

  std::mt19937_64 rng_{3};
  Graph graph_{std::make_shared<Symbols>(), "products"};
  size_t inputs_ = 0, compared_ = 0;
};

TEST_F(Products, AgreeForMatrices) {
  while (compared_ < 60) {
    int64_t m = between(1, 20), k = between(1, 60), n = between(1, 140);
    Shape batch;
    if (chance()) batch.push_back(between(1, 3));
    Shape left = chance() ? batch : Shape(), right = batch;
    left.append({m, k});
    right.append({k, n});
    NodeId x = input(left), y = input(right);
    llvm::SmallVector<ValueId, 1> attrs = {value(act())};
    Shape result = shape_of(OpKind::Matmul, attrs, x, y);
    compare(OpKind::Matmul, attrs, {x, y, maybe({n}), maybe(result)});
  }
}

TEST_F(Products, AgreeForWindows) {
  while (compared_ < 80) {
    int64_t groups = chance() ? 1 : between(2, 3), inputs = between(1, 6);
    int64_t outputs = groups * between(1, 9);
    NodeId x = input({between(1, 2), groups * inputs, between(1, 14), between(1, 14)});
    NodeId w = input({outputs, inputs, between(1, 4), between(1, 4)});
    llvm::SmallVector<ValueId, 4> attrs = {value(pair(3)), value(pad()), value(pair(2)),
                                           value(act())};
    Shape result = shape_of(OpKind::Conv2d, attrs, x, w);
    if (result.empty()) continue;
    compare(OpKind::Conv2d, attrs, {x, w, maybe({outputs}), maybe(result)});
  }
}

TEST_F(Products, AgreeForTiles) {
  while (compared_ < 30) {
    int64_t groups = chance() ? 1 : 2, inputs = between(1, 30), outputs = groups * between(1, 9);
    NodeId x = input({between(1, 2), groups * inputs, between(3, 30), between(3, 30)});
    NodeId u = input({chance() ? 16 : 36, outputs, inputs});
    llvm::SmallVector<ValueId, 2> attrs = {value(pad()), value(act())};
    Shape result = shape_of(OpKind::WinogradConv2d, attrs, x, u);
    if (result.empty()) continue;
    compare(OpKind::WinogradConv2d, attrs, {x, u, maybe({outputs}), maybe(result)});
  }
}

} // namespace
} // namespace tg
