// Graphs, rules and prices for tests of the searches.
#pragma once

#include "compiler/extract/cost/cost.h"
#include "tests/unit/egraph/egraph_fixture.h"

#include <map>

namespace tg::test {

/// Sums in any order, and a residual that is fused into its product.
inline constexpr llvm::StringLiteral kSumRules = R"(
rule commutes(x, y) { x + y => y + x }
rule associates(x, y, z) { (x + y) + z => x + (y + z) }
rule doubles(x) { x + x => x * 2.0 }
rule residual(a, b, r) { a @ b + r => matmul(a, b, residual = r) }
)";

/// Prices by operator; the default is 1.
class UnitCost final : public CostModel {
public:
  std::map<OpKind, double> cost;
  std::string name() const override { return "unit"; }
  double price(const Symbols&, const OpInstance& instance) override {
    auto found = cost.find(instance.op);
    return found == cost.end() ? 1 : found->second;
  }
};

/// tanh(x @ w0) + relu(x @ w1) + tanh(x @ w2) ...
inline Graph shared_products(int count) {
  Builder b;
  NodeId x = b.x("x", {8, 16}), sum;
  for (int i = 0; i < count; ++i) {
    NodeId y = b.op(i % 2 ? OpKind::Relu : OpKind::Tanh,
                    {b.matmul(x, b.w("w" + std::to_string(i), {16, 16}))});
    sum = sum.valid() ? b.op(OpKind::Add, {sum, y}) : y;
  }
  b.output(sum);
  return std::move(b.graph);
}

/// `count` equal layers in a chain: relu(x @ w + x) + x.
inline Graph layers(int count) {
  Builder b;
  NodeId x = b.x("x", {8, 16});
  for (int i = 0; i < count; ++i) {
    NodeId y = b.matmul(x, b.w("w" + std::to_string(i), {16, 16}));
    x = b.op(OpKind::Add, {b.op(OpKind::Relu, {b.op(OpKind::Add, {y, x})}), x});
  }
  b.output(x);
  return std::move(b.graph);
}

constexpr llvm::StringLiteral kAlgebra = R"(
rule commutes(x, y) { x + y => y + x }
rule shift(x) { relu(x) => maximum(x, 0.0) }
)";

} // namespace tg::test
