// Tests the operator table's traits on rational functions, over random networks of every operator:
// (1) operators that are only Rational call no other function, and Opaque ones do;
// (2) on integers, where float64 is exact, rational operators give the same results in the field.
#include "compiler/ir/evaluate.h"
#include "compiler/verify/field/field.h"
#include "lang/core/semantics/impl.h"
#include "lang/core/support/random.h"
#include "tests/property/backends/random_graph.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace tg {

/// A double that counts the calls of Math.
struct Counted {
  double x = 0;
  friend Counted operator+(Counted a, Counted b) { return {a.x + b.x}; }
  friend Counted operator-(Counted a, Counted b) { return {a.x - b.x}; }
  friend Counted operator*(Counted a, Counted b) { return {a.x * b.x}; }
  friend Counted operator/(Counted a, Counted b) { return {a.x / b.x}; }
  friend Counted operator-(Counted a) { return {-a.x}; }
  Counted& operator+=(Counted b) { return *this = *this + b; }
};

namespace {
size_t asked = 0;
}

template <> struct ScalarTraits<Counted> { using Wide = Counted; };
template <> struct Math<Counted> {
  static Counted literal(double value) { return {value}; }
  static Counted integer(int64_t value) { return {static_cast<double>(value)}; }
  static Counted unary(OpKind op, Counted x) {
    return ++asked, Counted{Math<double>::unary(op, x.x)};
  }
  static Counted maximum(Counted x, Counted y) { return ++asked, x.x < y.x ? y : x; }
  static Counted binary(OpKind op, Counted x, Counted y) {
    return ++asked, Counted{Math<double>::binary(op, x.x, y.x)};
  }
  static Counted select(Counted condition, Counted x, Counted y) { return condition.x ? x : y; }
  static Counted cast(DType to, Counted x) { return ++asked, Counted{Math<double>::cast(to, x.x)}; }
  static int64_t index(Counted x, int64_t size) { return ++asked, Math<double>::index(x.x, size); }
  static Counted missing() { return {}; }
  static int64_t argmax(llvm::ArrayRef<Counted>) { return ++asked, 0; }
  static Counted max_of(llvm::ArrayRef<Counted> values) { return ++asked, values[0]; }
  static void softmax(llvm::MutableArrayRef<Counted>) { ++asked; }
  struct External {
    External(llvm::StringRef, llvm::StringRef) { ++asked; }
    void shape(llvm::ArrayRef<int64_t>) {}
    void element(Counted) {}
    Counted at(int64_t) const { return {}; }
  };
  static Counted of_dtype(DType, Counted x) { return x; }
};

namespace test {
namespace {

bool has_activation(const Graph& graph, NodeId id) {
  int slot = op_info(graph.node(id).op).attr_slot("act");
  return slot >= 0 && graph.attr(id, static_cast<size_t>(slot)).text != "none";
}

TEST(Semantics, CallOnlyTheMathOfTheirTraits) {
  std::set<OpKind> seen;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    RandomGraph random(seed, 20);
    const Graph& graph = random.graph;
    for (uint32_t i = 0; i < graph.size(); ++i) {
      const OpInfo& info = op_info(graph.node({i}).op);
      if (info.has(Trait::Leaf | Trait::Fused) || has_activation(graph, {i})) continue;
      if (!is_float(graph.type({i}).dtype)) continue;
      // Evaluates only this node, over zeros.
      std::vector<std::vector<Counted>> values;
      llvm::SmallVector<ConstView<Counted>, 4> operands;
      llvm::SmallVector<llvm::ArrayRef<int64_t>, 4> shapes;
      for (NodeId operand : graph.operands({i})) {
        const TensorType& type = graph.type(operand);
        values.emplace_back(static_cast<size_t>(type.elements()));
        operands.push_back({type.is_none() ? nullptr : values.back().data(), type.shape});
        shapes.push_back(type.shape);
      }
      llvm::SmallVector<const Value*, 4> attrs;
      for (size_t slot = 0; slot < graph.attrs({i}).size(); ++slot)
        attrs.push_back(&graph.attr({i}, slot));
      const TensorType& type = graph.type({i});
      std::vector<Counted> result(static_cast<size_t>(type.elements()));
      std::vector<Counted> scratch(
          static_cast<size_t>(scratch_elements(info.kind, attrs, shapes, type.shape)));
      asked = 0;
      evaluate_op<Counted>(info.kind, attrs, operands, {result.data(), type.shape}, scratch);
      if (!info.has(Trait::Opaque)) {
        EXPECT_EQ(asked, 0u) << std::string(info.name);
      } else if (!info.has(Trait::Rational)) {
        EXPECT_GT(asked, 0u) << std::string(info.name);
      }
      seen.insert(info.kind);
    }
  }
  EXPECT_GE(seen.size(), 25u);
}

TEST(Semantics, FieldAndFloat64AgreeOnIntegers) {
  size_t compared = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    RandomGraph random(seed, 12);
    const Graph& graph = random.graph;
    // Nodes without a division or an irrational function below them.
    std::vector<bool> whole(graph.size());
    llvm::SmallVector<NodeId, 8> wanted;
    for (uint32_t i = 0; i < graph.size(); ++i) {
      const OpInfo& info = op_info(graph.node({i}).op);
      bool divides = info.kind == OpKind::Div || info.kind == OpKind::AvgPool2d ||
                     info.kind == OpKind::ReduceMean || info.kind == OpKind::WinogradWeight ||
                     info.has(Trait::Opaque | Trait::Fused) || has_activation(graph, {i});
      bool fraction =
          info.kind == OpKind::Constant &&
          llvm::any_of(graph.attr({i}, 0).reals, [](double x) { return x != std::round(x); });
      whole[i] = !divides && !fraction &&
                 llvm::all_of(graph.operands({i}), [&](NodeId id) { return whole[id.index]; });
      if (whole[i] && !info.has(Trait::Leaf)) wanted.push_back({i});
    }
    auto integers = [&](const Graph& g, NodeId id) {
      RandomStream stream(seed, g.attr(id, 0).text);
      NodeValues values(static_cast<size_t>(g.type(id).elements()));
      for (size_t i = 0; i < values.size(); ++i)
        values[i] = static_cast<double>(stream.bits(i) % 7) - 3;
      return values;
    };
    auto doubles = evaluate(graph, integers, wanted);
    auto fields = Evaluation<Field>(graph, wanted).run([&](const Graph& g, NodeId id) {
      std::vector<Field> values;
      for (double x : integers(g, id)) values.push_back(Field::of_decimal(x));
      return values;
    });
    ASSERT_TRUE(doubles && fields);
    for (size_t node = 0; node < wanted.size(); ++node)
      for (size_t i = 0; i < (*doubles)[node].size(); ++i) {
        double x = (*doubles)[node][i];
        if (std::abs(x) > 0x1p53) continue; // rounded
        ASSERT_EQ((*fields)[node][i], Field::of_decimal(x)) << dump(graph);
        ++compared;
      }
  }
  EXPECT_GT(compared, 10'000u);
}

} // namespace
} // namespace test
} // namespace tg
