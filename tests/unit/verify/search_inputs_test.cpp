// Tests the parts of the search for inputs at which two functions differ: each tensor in its own
// dtype, and thresholds.
#include "compiler/verify/counterexample/probe.h"
#include "compiler/verify/counterexample/typed.h"
#include "compiler/verify/join.h"
#include "lang/core/op.h"

#include <llvm/ADT/STLExtras.h>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tg {
namespace {

TEST(WrapTo, TwosComplement) {
  EXPECT_EQ(wrap_to(DType::I32, Integer(int64_t{1} << 31)).value, -(int64_t{1} << 31));
  EXPECT_EQ(wrap_to(DType::I64, Integer(-5)).value, -5);
  EXPECT_EQ(wrap_to(DType::Bool, Integer(7)).value, 1);
}

struct Scalars {
  std::shared_ptr<Symbols> symbols = std::make_shared<Symbols>();
  Joined joined{Graph(symbols, "test"), {}, {}, {}};

  NodeId input(const char* name, DType dtype = DType::F32, Shape shape = {}) {
    return joined.graph.input(name, {dtype, shape});
  }
  NodeId number(double x) { return joined.graph.constant({x}, {DType::F32, {}}); }
  NodeId op(OpKind kind, llvm::ArrayRef<NodeId> operands, llvm::ArrayRef<Value> attrs = {}) {
    llvm::SmallVector<ValueId, 4> ids;
    for (const Value& value : attrs) ids.push_back(symbols->value(value));
    return joined.graph.add(kind, ids, operands);
  }
  const Joined& sides(NodeId a, NodeId b) {
    joined.a = {a}, joined.b = {b}, joined.names = {"y"};
    return joined;
  }
};

TEST(EvaluateTyped, IntegersWrapAndMissingOnesAreZero) {
  Scalars s;
  NodeId x = s.input("x", DType::I32, {2}), i = s.input("i", DType::I64, {2});
  NodeId sum = s.op(OpKind::Add, {x, x});
  NodeId picked = s.op(OpKind::Gather, {x, i}, {Value::of_int(0)});
  NodeId real = s.op(OpKind::Cast, {x}, {Value::of_enum("f16")});
  auto leaves = [&](const Graph&, NodeId id) {
    TypedValues values;
    if (id == x)
      values.wholes = {Integer(int64_t{1} << 30), Integer(2049)};
    else
      values.wholes = {Integer(1), Integer(2)};
    return values;
  };
  TypedRun run = evaluate_typed(s.joined.graph, leaves, {sum, picked, real}, Rounding::Stored);
  EXPECT_EQ(run.wanted[0].wholes[0].value, -(int64_t{1} << 31));
  EXPECT_EQ(run.wanted[1].wholes[0].value, 2049);
  EXPECT_EQ(run.wanted[1].wholes[1].value, 0); // out of range
  EXPECT_EQ(run.wanted[2].reals[0], INFINITY);
  EXPECT_EQ(run.wanted[2].reals[1], 2048);
}

TEST(EvaluateTyped, NotesOverflow) {
  Scalars s;
  NodeId x = s.input("x");
  NodeId product = s.op(OpKind::Mul, {x, x});
  for (double at : {1e10, 1e30}) {
    auto leaves = [&](const Graph&, NodeId) { return TypedValues{{at}, {}}; };
    TypedRun run = evaluate_typed(s.joined.graph, leaves, {product}, Rounding::Stored);
    EXPECT_EQ(run.overflowed, at == 1e30);
  }
}

TEST(Thresholds, LieAroundLiteralsAndTheirSums) {
  Scalars s;
  NodeId x = s.input("x");
  NodeId clip = s.op(OpKind::Clip, {x}, {Value::of_float(-1000), Value::of_float(19)});
  NodeId root = s.op(OpKind::Add, {clip, s.number(0.5)});
  std::vector<double> literals = literals_of(s.joined.graph, {root});
  EXPECT_EQ(literals, (std::vector<double>{-1000, 0.5, 19}));
  std::vector<double> values = threshold_values(literals);
  for (double near : {1000.0, -1000.0, 19.5, 20.0, 18.0, 0.25})
    EXPECT_TRUE(llvm::is_contained(values, near)) << near;
  llvm::ArrayRef<double> nearest = llvm::makeArrayRef(values).take_front(50);
  for (double literal : {-1000.0, 0.5, 19.0})
    EXPECT_TRUE(llvm::any_of(
        nearest, [&](double x) { return x > literal && x - literal < 1e-3 * std::abs(literal); }))
        << literal << ": the value just above it is not among the first";
  EXPECT_TRUE(threshold_values({}).empty());
}

} // namespace
} // namespace tg
