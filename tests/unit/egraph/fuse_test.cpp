#include "compiler/egraph/fuse.h"

#include "egraph_fixture.h"

namespace tg {
namespace {

using test::Builder;

/// Returns the body of the largest fused_map of a class.
std::string largest_body(const EGraph& egraph, ClassId id) {
  std::string best;
  for (ENodeId member : egraph.nodes(egraph.find(id))) {
    if (egraph.node(member).op != OpKind::FusedMap) continue;
    const std::string& text = egraph.symbols().attr(egraph.node(member).attrs, 0).text;
    if (text.size() > best.size()) best = text;
  }
  return best;
}

std::vector<std::string> bodies(const EGraph& egraph, ClassId id) {
  std::vector<std::string> all;
  for (ENodeId member : egraph.nodes(egraph.find(id)))
    if (egraph.node(member).op == OpKind::FusedMap)
      all.push_back(egraph.symbols().attr(egraph.node(member).attrs, 0).text);
  std::sort(all.begin(), all.end());
  return all;
}

void fuse_all(EGraph& egraph) {
  FusePointwise fuse(egraph);
  for (uint32_t i = 0, end = egraph.node_bound(); i < end; ++i)
    if (op_info(egraph.node({i}).op).has(Trait::Pointwise)) fuse.apply({i}, 0);
  egraph.rebuild();
  EXPECT_EQ(verify(egraph), "");
}

TEST(FusePointwise, InlinesChainsAndSharesLeaves) {
  Builder b;
  NodeId x = b.x("x", {8}), y = b.x("y", {8});
  NodeId product = b.op(OpKind::Mul, {x, y});
  b.output(b.op(OpKind::Tanh, {b.op(OpKind::Add, {x, product})}));
  EGraph egraph = egraph_of(b.graph);
  fuse_all(egraph);
  EXPECT_EQ(largest_body(egraph, egraph.roots()[0].id), "tanh(add($0, mul($0, $1)))");
}

TEST(FusePointwise, LeavesWeightsAndOtherShapesAlone) {
  Builder b;
  NodeId x = b.x("x", {2, 8}), row = b.x("row", {8}), w = b.w("w", {2, 8});
  NodeId known = b.op(OpKind::Exp, {w}), small = b.op(OpKind::Exp, {row});
  b.output(b.op(OpKind::Relu, {b.op(OpKind::Add, {b.op(OpKind::Mul, {x, known}), small})}));
  EGraph egraph = egraph_of(b.graph);
  fuse_all(egraph);
  EXPECT_EQ(largest_body(egraph, egraph.roots()[0].id), "relu(add(mul($0, $1), $2))");
}

TEST(FusePointwise, OffersAFormThatLeavesProductsTheirActivation) {
  Builder b;
  NodeId x = b.x("x", {2, 8}), w = b.w("w", {8, 8});
  NodeId act = b.op(OpKind::Relu, {b.matmul(x, w)});
  b.output(b.op(OpKind::Tanh, {b.op(OpKind::Add, {act, x})}));
  EGraph egraph = egraph_of(b.graph);
  ClassId act_class = class_of(egraph, egraph.with_op(OpKind::Relu)[0]);
  ENodeId product = egraph.with_op(OpKind::Matmul)[0];
  AttrsId relu = b.symbols->attrs({b.symbols->value(Value::of_enum("relu"))});
  std::vector<ClassId> children = egraph.children(product).vec();
  Typing typing = type_of(egraph, OpKind::Matmul, relu, children);
  egraph.add_equal(act_class, OpKind::Matmul, typing, children, {});
  fuse_all(egraph);
  EXPECT_EQ(bodies(egraph, egraph.roots()[0].id),
            (std::vector<std::string>{"tanh(add($0, $1))", "tanh(add(relu($0), $1))"}));
}

// For example, an optimiser's state, from which the new weights are computed.
TEST(FusePointwise, OffersAFormThatReadsAnotherOutput) {
  Builder b;
  NodeId x = b.x("x", {8}), y = b.x("y", {8});
  NodeId state = b.op(OpKind::Add, {b.op(OpKind::Mul, {x, y}), y});
  b.output(b.op(OpKind::Sub, {x, b.op(OpKind::Sqrt, {state})}));
  b.output(state);
  EGraph egraph = egraph_of(b.graph);
  fuse_all(egraph);
  EXPECT_EQ(bodies(egraph, egraph.roots()[0].id),
            (std::vector<std::string>{"sub($0, sqrt($1))", "sub($0, sqrt(add(mul($0, $1), $1)))"}));
}

TEST(FusePointwise, KeepsTheLimits) {
  Builder b;
  NodeId sum = b.x("x0", {8});
  for (int i = 1; i < 60; ++i) sum = b.op(OpKind::Add, {sum, b.x("x" + std::to_string(i), {8})});
  NodeId chain = sum;
  for (int i = 0; i < 60; ++i) chain = b.op(i % 2 ? OpKind::Tanh : OpKind::Exp, {chain});
  b.output(chain);
  EGraph egraph = egraph_of(b.graph);
  fuse_all(egraph);
  size_t fused = 0;
  for (ENodeId id : egraph.with_op(OpKind::FusedMap)) {
    auto body = parse_fused_body(egraph.symbols().attr(egraph.node(id).attrs, 0).text);
    ASSERT_TRUE(body);
    EXPECT_LE(body->op_count(), FusePointwise::kMaxOps);
    EXPECT_LE(body->operands, FusePointwise::kMaxOperands);
    ++fused;
  }
  EXPECT_GT(fused, 50u);
}

} // namespace
} // namespace tg
