// Tests formulas as lists of steps, as values, and against the type rules of models.
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

/// Evaluates one level of the formula's list.
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

TEST(Formula, MatchTheirInstructionLists) {
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

TEST(Formula, GivesTheValueByEveryList) {
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

/// Backends and checks turn the steps into operators.
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

TEST(Formula, DoesNotOverflowOrLoseDigits) {
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

/// Evaluates the formula of an operator that double takes from the C library. Other scalars and
/// backends use that formula.
double formula_alone(OpKind op, double x) {
  double args[] = {x, 0, 0};
  return *formulas::value<Meaning<double>>(op, args);
}

TEST(Formula, InverseFunctionsAreThoseOfTheLibrary) {
  struct {
    OpKind op;
    double (*exact)(double);
    double low, high;
  } const kFunctions[] = {
      {OpKind::Tan, std::tan, -1.5, 1.5},    {OpKind::Asin, std::asin, -1, 1},
      {OpKind::Acos, std::acos, -1, 1},      {OpKind::Sinh, std::sinh, -710, 710},
      {OpKind::Cosh, std::cosh, -710, 710},  {OpKind::Asinh, std::asinh, -1e300, 1e300},
      {OpKind::Acosh, std::acosh, 1, 1e300}, {OpKind::Atanh, std::atanh, -1, 1},
  };
  for (const auto& f : kFunctions) {
    ASSERT_TRUE(Math<double>::has_precise_form(f.op));
    for (int i = 0; i <= 400; ++i) {
      double x = f.low + (f.high - f.low) * i / 400, want = f.exact(x);
      if (std::isinf(want))
        EXPECT_EQ(formula_alone(f.op, x), want) << op_info(f.op).name << " at " << x;
      else
        EXPECT_NEAR(formula_alone(f.op, x), want, 1e-12 * std::abs(want))
            << op_info(f.op).name << " at " << x;
    }
    bool vanishes = f.exact(0) == 0;
    for (double x = 1e-300; vanishes && x < 0.9; x *= 7)
      for (double y : {x, -x})
        EXPECT_NEAR(formula_alone(f.op, y) / f.exact(y), 1, 1e-14)
            << op_info(f.op).name << " at " << y;
    for (double x : {kInf, -kInf, std::nan(""), 0.0, 1.0, -1.0, 2.0, -2.0, 1e300, -1e300}) {
      double got = formula_alone(f.op, x), want = f.exact(x);
      if (std::isnan(want))
        EXPECT_TRUE(std::isnan(got)) << op_info(f.op).name << " at " << x;
      else if (std::isinf(want) || want == 0)
        EXPECT_EQ(got, want) << op_info(f.op).name << " at " << x;
      else
        EXPECT_NEAR(got / want, 1, f.op == OpKind::Tan ? 1e-3 : 1e-14)
            << op_info(f.op).name << " at " << x;
    }
  }
  for (double x = 1; x < 1.1; x = 1 + (x - 1) * 3 + 1e-15) // and near 1, where acosh is small
    EXPECT_NEAR(formula_alone(OpKind::Acosh, x), std::acosh(x), 1e-15 + 1e-14 * std::acosh(x)) << x;
}

TEST(Formula, RoundsToEvenAndUpwards) {
  struct {
    double x, round, ceil;
  } const kCases[] = {{0.5, 0, 1},
                      {1.5, 2, 2},
                      {2.5, 2, 3},
                      {-0.5, 0, 0},
                      {-1.5, -2, -1},
                      {0.49999999999999994, 0, 1},
                      {0x1p52 + 1, 0x1p52 + 1, 0x1p52 + 1},
                      {kInf, kInf, kInf},
                      {-kInf, -kInf, -kInf}};
  for (auto [x, round, ceil] : kCases) {
    EXPECT_EQ(value(OpKind::Round, x), round) << x;
    EXPECT_EQ(value(OpKind::Ceil, x), ceil) << x;
  }
  for (OpKind op : {OpKind::Round, OpKind::Ceil, OpKind::Atan, OpKind::LeakyRelu})
    EXPECT_TRUE(std::isnan(value(op, std::nan("")))) << op_info(op).name;
  EXPECT_EQ(value(OpKind::LeakyRelu, -3, 0.25), -0.75);
  EXPECT_EQ(value(OpKind::LeakyRelu, 3, 0.25), 3);
  EXPECT_EQ(value(OpKind::LeakyRelu, -kInf, 0.25), -kInf);
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
