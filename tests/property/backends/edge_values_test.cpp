// Tests zeros of both signs, subnormals, the ends of the range, infinities and NaN
// in every elementwise operator, in each float dtype: `ref` against the C library and IEEE 754,
// and `cpu` against `ref`, including signs of zeros. ctest also runs this for each instruction set.
#include "runtime/convert.h"
#include "tests/unit/cpu/compare.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/Support/FormatVariadic.h>

#include <cmath>
#include <functional>
#include <limits>
#include <map>

namespace tg::test {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr DType kFloats[] = {DType::F64, DType::F32, DType::F16, DType::BF16};

/// The smallest subnormal, the smallest normal and the largest number of a dtype,
/// and the relative tolerance of its results on `cpu`: for half types a unit in the last place.
struct Format {
  double tiny, least, largest, tolerance;
};
Format format_of(DType dtype) {
  switch (dtype) {
  case DType::F64: return {0x1p-1074, 0x1p-1022, std::numeric_limits<double>::max(), 1e-13};
  case DType::F32: return {0x1p-149, 0x1p-126, std::numeric_limits<float>::max(), 2e-5};
  case DType::F16: return {0x1p-24, 0x1p-14, 65504, 1e-3};
  default: return {0x1p-133, 0x1p-126, 0x1.fep127, 8e-3};
  }
}

std::vector<double> edges_of(DType dtype) {
  const Format f = format_of(dtype);
  std::vector<double> all = {kNaN};
  for (double x : {0.0, f.tiny, f.least - f.tiny, f.least, 0.25, 0.5, 1.0, 2.5, 7.0, 20.0,
                   f.largest / 2, f.largest, kInf})
    all.insert(all.end(), {x, -x});
  return all;
}

Tensor tensor_of(const TensorType& type, llvm::ArrayRef<double> values) {
  Tensor tensor = *Tensor::zeros(type);
  narrow(type.dtype, values.data(), tensor.data(), type.elements());
  return tensor;
}

double rounded_to(DType dtype, double x) { return tensor_of({dtype, {1}}, x).doubles()[0]; }

// --- definitions -------------------------------------------------------------------------------

constexpr double kLow = -0.75, kHigh = 4; // of clip
constexpr double kSlope = 0.5;            // of elu and leaky_relu

double floor_mod(double x, double y) {
  const double rest = std::fmod(x, y);
  return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}
double larger(double x, double y) {
  return std::isnan(x) || std::isnan(y) ? kNaN : std::fmax(x, y);
}
double smaller(double x, double y) {
  return std::isnan(x) || std::isnan(y) ? kNaN : std::fmin(x, y);
}
double softplus(double x) { return larger(x, 0) + std::log1p(std::exp(-std::abs(x))); }

using Definition = std::function<double(double, double)>;

const std::map<OpKind, Definition>& definitions() {
  static const std::map<OpKind, Definition> kAll = {
      {OpKind::Add, [](double x, double y) { return x + y; }},
      {OpKind::Sub, [](double x, double y) { return x - y; }},
      {OpKind::Mul, [](double x, double y) { return x * y; }},
      {OpKind::Div, [](double x, double y) { return x / y; }},
      {OpKind::Maximum, larger},
      {OpKind::Minimum, smaller},
      {OpKind::Pow, [](double x, double y) { return std::pow(x, y); }},
      {OpKind::Mod, floor_mod},
      {OpKind::Less, [](double x, double y) { return x < y; }},
      {OpKind::LessEqual, [](double x, double y) { return x <= y; }},
      {OpKind::Greater, [](double x, double y) { return x > y; }},
      {OpKind::GreaterEqual, [](double x, double y) { return x >= y; }},
      {OpKind::Equal, [](double x, double y) { return x == y; }},
      {OpKind::NotEqual, [](double x, double y) { return x != y; }},
      {OpKind::Identity, [](double x, double) { return x; }},
      {OpKind::Neg, [](double x, double) { return -x; }},
      {OpKind::Relu, [](double x, double) { return larger(x, 0); }},
      {OpKind::Sigmoid, [](double x, double) { return 1 / (1 + std::exp(-x)); }},
      {OpKind::Tanh, [](double x, double) { return std::tanh(x); }},
      {OpKind::Gelu, [](double x, double) { return x * (1 + std::erf(x / std::sqrt(2.0))) / 2; }},
      {OpKind::Exp, [](double x, double) { return std::exp(x); }},
      {OpKind::Sqrt, [](double x, double) { return std::sqrt(x); }},
      {OpKind::Erf, [](double x, double) { return std::erf(x); }},
      {OpKind::Relu6, [](double x, double) { return smaller(larger(x, 0), 6); }},
      {OpKind::Abs, [](double x, double) { return std::fabs(x); }},
      {OpKind::Sign, [](double x, double) { return x > 0   ? 1
                                                   : x < 0 ? -1
                                                           : x; }},
      {OpKind::Floor, [](double x, double) { return std::floor(x); }},
      {OpKind::Round, [](double x, double) { return std::nearbyint(x); }},
      {OpKind::Ceil, [](double x, double) { return std::ceil(x); }},
      {OpKind::Log, [](double x, double) { return std::log(x); }},
      {OpKind::Log1p, [](double x, double) { return std::log1p(x); }},
      {OpKind::Expm1, [](double x, double) { return std::expm1(x); }},
      {OpKind::Sin, [](double x, double) { return std::sin(x); }},
      {OpKind::Cos, [](double x, double) { return std::cos(x); }},
      {OpKind::Tan, [](double x, double) { return std::tan(x); }},
      {OpKind::Asin, [](double x, double) { return std::asin(x); }},
      {OpKind::Acos, [](double x, double) { return std::acos(x); }},
      {OpKind::Atan, [](double x, double) { return std::atan(x); }},
      {OpKind::Sinh, [](double x, double) { return std::sinh(x); }},
      {OpKind::Cosh, [](double x, double) { return std::cosh(x); }},
      {OpKind::Asinh, [](double x, double) { return std::asinh(x); }},
      {OpKind::Acosh, [](double x, double) { return std::acosh(x); }},
      {OpKind::Atanh, [](double x, double) { return std::atanh(x); }},
      {OpKind::Rsqrt, [](double x, double) { return 1 / std::sqrt(x); }},
      {OpKind::Hardswish, [](double x, double) { return x * (smaller(larger(x + 3, 0), 6) / 6); }},
      {OpKind::Softplus, [](double x, double) { return softplus(x); }},
      {OpKind::Mish, [](double x, double) { return x * std::tanh(softplus(x)); }},
      {OpKind::Clip, [](double x, double) { return smaller(larger(x, kLow), kHigh); }},
      {OpKind::Elu, [](double x, double) { return x > 0 ? x : kSlope * std::expm1(x); }},
      {OpKind::LeakyRelu, [](double x, double) { return x > 0 ? x : kSlope * x; }},
  };
  return kAll;
}

/// Returns true if the operator may return a zero of either sign: it considers zeros
/// of both signs equal and chooses either, or it is a remainder of zero.
bool gives_either_zero(OpKind op) {
  constexpr OpKind kOps[] = {OpKind::Maximum, OpKind::Minimum, OpKind::Relu, OpKind::Relu6,
                             OpKind::Mod};
  return llvm::is_contained(kOps, op);
}

// --- the sweep ---------------------------------------------------------------------------------

/// An operator on all pairs of edge values.
struct EdgeCase {
  Graph graph;
  std::vector<Tensor> inputs;
  std::vector<std::vector<double>> operands;
};

EdgeCase edge_case(const OpInfo& info, DType dtype) {
  EdgeCase one{Builder().graph, {}, std::vector<std::vector<double>>(2)};
  for (double x : edges_of(dtype))
    for (double y : info.operand_count > 1 ? edges_of(dtype) : std::vector<double>{0})
      one.operands[0].push_back(x), one.operands[1].push_back(y);
  const TensorType type{dtype, {static_cast<int64_t>(one.operands[0].size())}};
  Builder b;
  std::vector<NodeId> nodes;
  for (size_t i = 0; i < info.operand_count; ++i) {
    nodes.push_back(b.graph.input("x" + std::to_string(i), type));
    one.inputs.push_back(tensor_of(type, one.operands[i]));
  }
  std::vector<Value> attrs;
  if (info.kind == OpKind::Clip) attrs = {Value::of_float(kLow), Value::of_float(kHigh)};
  if (info.attr_count == 1) attrs = {Value::of_float(kSlope)};
  b.output(b.op(info.kind, nodes, attrs));
  one.graph = b.graph;
  return one;
}

std::vector<double> run(const Backend& backend, const EdgeCase& one) {
  auto executable = backend.compile(plan_from_graph(one.graph), {});
  EXPECT_TRUE(executable.ok());
  if (!executable) return {};
  EXPECT_TRUE((*executable)->bind_inputs(one.inputs));
  EXPECT_TRUE((*executable)->run_once());
  return (*(*executable)->outputs())[0].doubles();
}

/// The options of a comparison.
struct Checked {
  double tolerance = 0;     // relative
  bool either_zero = false; // a zero of either sign
  double least = 0;         // smaller results need only the right sign
};

/// Returns true if the values are equal up to rounding. The last two digits of subnormals may
/// differ.
bool same(double got, double want, const Format& format, const Checked& how) {
  if (std::isnan(want)) return std::isnan(got);
  if (std::isinf(want)) return got == want;
  if (want == 0 && got == 0) return how.either_zero || std::signbit(got) == std::signbit(want);
  const double slack = std::max({how.tolerance * std::abs(want), 2 * format.tiny, how.least});
  return std::abs(got - want) <= slack && (want == 0 || std::signbit(got) == std::signbit(want));
}

void check(const std::string& name, const EdgeCase& one, llvm::ArrayRef<double> got,
           llvm::ArrayRef<double> want, const Format& format, const Checked& how) {
  ASSERT_EQ(got.size(), want.size()) << name;
  size_t wrong = 0;
  for (size_t i = 0; i < want.size() && wrong < 8; ++i) {
    const bool fine = same(got[i], want[i], format, how);
    wrong += !fine;
    EXPECT_TRUE(fine) << llvm::formatv("{0} of {1:e}, {2:e} is {3:e}, not {4:e}", name,
                                       one.operands[0][i], one.operands[1][i], got[i], want[i])
                             .str();
  }
}

TEST(SpecialValues, EdgesOfEveryPointwiseOperator) {
  std::unique_ptr<Backend> ref = make_ref_backend(), cpu = make_cpu_backend();
  size_t tried = 0;
  for (const OpInfo& info : all_ops()) {
    if (!is_pointwise(info.kind) || info.kind == OpKind::FusedMap || info.variadic()) continue;
    if (info.kind == OpKind::Select || info.has(Trait::Logical)) continue;
    auto definition = definitions().find(info.kind);
    ASSERT_TRUE(definition != definitions().end()) << std::string(info.name);
    for (DType dtype : kFloats) {
      if (!dtype_fits(info, dtype)) continue;
      const EdgeCase one = edge_case(info, dtype);
      const Format format = format_of(dtype);
      const std::string name = std::string(info.name) + " in " + dtype_name(dtype).str();
      std::vector<double> truth;
      for (size_t i = 0; i < one.operands[0].size(); ++i) {
        const double y = definition->second(one.operands[0][i], one.operands[1][i]);
        truth.push_back(rounded_to(dtype, y));
      }
      const std::vector<double> by_ref = run(*ref, one), by_cpu = run(*cpu, one);
      Checked how{dtype == DType::F32 ? 2e-7 : format.tolerance, gives_either_zero(info.kind)};
      check("ref: " + name, one, by_ref, truth, format, how);
      how.tolerance = format.tolerance;
      if (info.kind == OpKind::Gelu) how.least = 1e-6; // 1 + erf leaves no more digits
      check("cpu: " + name, one, by_cpu, by_ref, format, how);
      ++tried;
    }
  }
  EXPECT_GE(tried, 190u);
}

TEST(SpecialValues, EdgesOfCastsAndSelections) {
  std::unique_ptr<Backend> ref = make_ref_backend(), cpu = make_cpu_backend();
  for (DType from : kFloats)
    for (DType to : kFloats) {
      const std::vector<double> values = edges_of(from);
      const TensorType type{from, {static_cast<int64_t>(values.size())}};
      Builder b;
      NodeId x = b.graph.input("x0", type);
      NodeId seen = b.op(OpKind::Equal, {x, x});
      NodeId y = b.op(OpKind::Cast, {b.op(OpKind::Select, {seen, x, b.op(OpKind::Neg, {x})})},
                      {Value::of_enum(dtype_name(to))});
      b.output(y);
      const EdgeCase one{b.graph, {tensor_of(type, values)}, {values, values}};
      std::vector<double> truth;
      for (double value : values) truth.push_back(rounded_to(to, rounded_to(from, value)));
      const std::string name = (dtype_name(from) + " to " + dtype_name(to)).str();
      check("ref: " + name, one, run(*ref, one), truth, format_of(to), {});
      check("cpu: " + name, one, run(*cpu, one), truth, format_of(to), {});
    }
}

} // namespace
} // namespace tg::test
