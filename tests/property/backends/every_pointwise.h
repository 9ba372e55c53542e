// A small graph for each pointwise operator and each dtype that it supports,
// and the comparison of results.
#pragma once

#include "tests/unit/cpu/compare.h"

#include <llvm/Support/FormatVariadic.h>

#include <cmath>

namespace tg::test {

struct PointwiseCase {
  std::string name;
  Graph graph;
  std::vector<double> first; // operand 0
  DType dtype;
  double tolerance; // of each element, relative
};

/// Numbers of both signs: integers, and for floats also magnitudes from a millionth
/// to ten thousand.
inline std::vector<double> spread(bool floats, size_t operand) {
  std::vector<double> numbers;
  for (int i = 0; i < 999; ++i) {
    int k =
        static_cast<int>((static_cast<size_t>(i) * (operand == 0 ? 1 : 617) + 31 * operand) % 999);
    double size = floats ? std::pow(10, k % 101 / 10.0 - 6) : k % 10;
    numbers.push_back(k % 2 ? -size : size);
  }
  return numbers;
}

/// The numbers as an operand of this dtype. It is computed in the run, with the same bits
/// everywhere.
inline NodeId operand_of(Builder& b, DType dtype, size_t i, llvm::ArrayRef<double> numbers) {
  auto number = [&](double value) { return b.graph.constant({value}, f32({})); };
  NodeId zero = b.op(OpKind::Mul, {b.input("x" + std::to_string(i), {3, 333}), number(0)});
  NodeId x = b.op(OpKind::Add, {zero, b.graph.constant(numbers, f32({3, 333}))});
  if (dtype == DType::F32) return x;
  if (dtype == DType::Bool) return b.op(OpKind::Greater, {x, number(0)});
  return b.op(OpKind::Cast, {x}, {Value::of_enum(dtype_name(dtype))});
}

inline std::vector<PointwiseCase> every_pointwise() {
  std::vector<PointwiseCase> cases;
  for (const OpInfo& info : all_ops()) {
    if (!is_pointwise(info.kind)) continue;
    for (DType dtype :
         {DType::F32, DType::F64, DType::F16, DType::BF16, DType::I32, DType::I64, DType::Bool}) {
      if (!dtype_fits(info, dtype)) continue;
      Builder b;
      std::vector<NodeId> operands;
      for (size_t i = 0; i < info.operand_count; ++i) {
        bool condition = info.shape == ShapeRule::select && i == 0;
        operands.push_back(
            operand_of(b, condition ? DType::Bool : dtype, i, spread(is_float(dtype), i)));
      }
      std::vector<Value> attrs; // ascending integers, valid as limits and as factors
      for (size_t a = 0; a < info.attr_count; ++a)
        attrs.push_back(Value::of_float(static_cast<double>(2 * a) - 1));
      b.output(b.op(info.kind, operands, attrs)); // fused casts do not round half types
      // For half types, one unit in the last place: a result near a tie may round either way.
      double tolerance = dtype == DType::BF16  ? 8e-3
                         : dtype == DType::F16 ? 1e-3
                         : dtype == DType::F64 ? 1e-14
                                               : 2e-5;
      cases.push_back({std::string(info.name) + " of " + dtype_name(dtype).str(), b.graph,
                       spread(is_float(dtype), 0), dtype, tolerance});
    }
  }
  return cases;
}

/// Returns true if results are about as small as operand 0 where it is small (tanh, log1p),
/// so that all their digits matter there. For f16, those that it has there.
inline bool vanishes(llvm::ArrayRef<double> results, const PointwiseCase& one) {
  bool small = false;
  for (size_t i = 0; i < results.size(); ++i) {
    double x = std::abs(one.first[i]);
    if (x == 0 || x > 1e-5) continue;
    small = true;
    if (!(std::abs(results[i]) <= 4 * x)) return false;
  }
  return small;
}

/// Returns "" if all elements are close, with NaN and infinities at the same places.
/// Beside the tolerance, it allows for the error of functions that are near 0 for arguments
/// that are not: a millionth of the argument, or of 1 unless results vanish with it.
inline std::string disagreement(const Tensor& got, const Tensor& want, const PointwiseCase& one) {
  std::vector<double> g = got.doubles(), w = want.doubles();
  double least = !vanishes(w, one) ? 1.0 : one.dtype == DType::F16 ? 0.06 : 0.0; // 0.06: 2^-24
  for (size_t i = 0; i < w.size(); ++i) {
    double slack =
        (one.dtype == DType::F64 ? 1e-15 : 1e-6) * std::max(least, std::abs(one.first[i]));
    bool same = std::isnan(w[i]) ? std::isnan(g[i])
                : std::isinf(w[i])
                    ? g[i] == w[i]
                    : std::abs(g[i] - w[i]) <= one.tolerance * std::abs(w[i]) + slack;
    if (!same) return llvm::formatv("element {0} is {1:e}, not {2:e}", i, g[i], w[i]);
  }
  return "";
}

} // namespace tg::test
