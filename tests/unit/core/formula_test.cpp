// Formulas: as lists, as values, and as models would be typed.
#include "lang/core/formula.h"
#include "lang/core/semantics/impl.h"
#include "lang/core/shape_rules.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tg {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

double value(OpKind op, double x, double second = 0) {
  double args[] = {x, second, 0};
  return pointwise<double>(op, args);
}

/// By the list, one level of it.
double by_list(const Formula& formula, llvm::ArrayRef<double> args) {
  llvm::SmallVector<double> values;
  for (const FormulaStep& step : formula.steps()) {
    double of[3] = {};
    for (uint8_t i = 0; i < step.arity; ++i) of[i] = values[step.args[i]];
    values.push_back(step.kind == FormulaStep::Kind::Argument  ? args[values.size()]
                     : step.kind == FormulaStep::Kind::Literal ? step.literal
                                                               : pointwise<double>(step.op, of));
  }
  return values.back();
}

TEST(Formula, ListsSayWhatTheFormulaDoes) {
  const Formula& formula = *formula_of(OpKind::Hardswish); // x * (relu6(x + 3) / 6)
  EXPECT_EQ(formula.arguments(), 1u);
  ASSERT_EQ(formula.size(), 7u);
  const FormulaStep& last = formula[6];
  EXPECT_EQ(last.op, OpKind::Mul);
  EXPECT_EQ(last.args[0], 0);
  EXPECT_EQ(formula[last.args[1]].op, OpKind::Div);
  EXPECT_EQ(formula_of(OpKind::Elu)->arguments(), 2u) << "x and alpha";
  EXPECT_EQ(formula_of(OpKind::Tanh), nullptr);
  EXPECT_EQ(formula_of(OpKind::Matmul), nullptr);
}

TEST(Formula, EveryListComesToTheValue) {
  int found = 0;
  for (const OpInfo& info : all_ops()) {
    const Formula* formula = formula_of(info.kind);
    if (!formula) continue;
    ++found;
    EXPECT_TRUE(is_pointwise(info.kind)) << info.name;
    EXPECT_EQ(formula->arguments(), info.operand_count + info.attr_count) << info.name;
    for (double x : {-40.0, -2.5, -0.5, 0.0, 0.25, 3.0, 40.0}) {
      double args[] = {x, 0.5, 4};
      double want = pointwise<double>(info.kind, args);
      double got = by_list(*formula, {x, 0.5, 4});
      if (std::isnan(want))
        EXPECT_TRUE(std::isnan(got)) << info.name << " at " << x;
      else if (std::isinf(want))
        EXPECT_EQ(got, want) << info.name << " at " << x;
      else
        EXPECT_NEAR(got, want, 1e-14 * std::max(1.0, std::abs(want))) << info.name << " at " << x;
    }
  }
  EXPECT_GE(found, 12);
}

/// Backends and checks make operators of the steps.
TEST(Formula, EveryFormulaIsTypedAsAModelWouldBe) {
  Symbols symbols;
  for (const OpInfo& info : all_ops()) {
    const Formula* formula = formula_of(info.kind);
    if (!formula) continue;
    llvm::SmallVector<TypeId> types;
    for (const FormulaStep& step : formula->steps()) {
      types.push_back(symbols.type(f32({})));
      if (step.kind != FormulaStep::Kind::Apply) continue;
      llvm::SmallVector<TypeId, 3> operands;
      for (uint8_t i = 0; i < step.arity; ++i) operands.push_back(types[step.args[i]]);
      llvm::SmallVector<ValueId, 1> none;
      std::string why;
      EXPECT_TRUE(infer(symbols, step.op, none, operands, types.back(), &why))
          << info.name << ": " << why;
    }
  }
}

TEST(Formula, NothingOverflowsOrLosesDigitsOnTheWay) {
  EXPECT_EQ(value(OpKind::Softplus, 1000), 1000);
  EXPECT_EQ(value(OpKind::Softplus, -kInf), 0);
  EXPECT_EQ(value(OpKind::Softplus, kInf), kInf);
  EXPECT_NEAR(value(OpKind::Softplus, -40) / std::exp(-40), 1, 1e-12);
  EXPECT_NEAR(value(OpKind::Softplus, 0), std::log(2), 1e-15);
  EXPECT_EQ(value(OpKind::Mish, 1000), 1000);
  EXPECT_NEAR(value(OpKind::Mish, -40) / (-40 * std::exp(-40)), 1, 1e-12);
  EXPECT_EQ(value(OpKind::Hardswish, -3), 0);
  EXPECT_EQ(value(OpKind::Hardswish, 1e308), 1e308);
  EXPECT_NEAR(value(OpKind::Hardswish, 1.5), 1.125, 1e-15);
  EXPECT_EQ(value(OpKind::Elu, 1000, 2), 1000) << "the side that overflows is not chosen";
  EXPECT_EQ(value(OpKind::Elu, -kInf, 2), -2);
  EXPECT_NEAR(value(OpKind::Elu, -1e-12, 2) / -2e-12, 1, 1e-11);
  EXPECT_EQ(value(OpKind::Log1p, 1e-20), 1e-20);
  for (OpKind op : {OpKind::Softplus, OpKind::Mish, OpKind::Hardswish, OpKind::Elu})
    EXPECT_TRUE(std::isnan(value(op, std::nan("")))) << op_info(op).name;
}

TEST(Formula, FlopsAreThoseOfTheSteps) {
  EXPECT_EQ(op_info(OpKind::Hardswish).flops, 4);
  EXPECT_EQ(op_info(OpKind::Hardswish).work, Work::elements);
  EXPECT_EQ(op_info(OpKind::Softplus).flops, 2 * kTranscendentalFlops + 4);
  EXPECT_EQ(op_info(OpKind::Mish).flops, 3 * kTranscendentalFlops + 5) << "softplus is unfolded";
  EXPECT_EQ(op_info(OpKind::Mish).work, Work::transcendental);
  EXPECT_EQ(op_info(OpKind::Relu6).flops, 1) << "its row says elements";
}

} // namespace
} // namespace tg
