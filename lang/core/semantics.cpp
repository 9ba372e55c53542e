#include "lang/core/semantics_impl.h"

#include <cmath>
#include <limits>

namespace tg {

double Math<double>::unary(OpKind op, double x) {
  switch (op) {
  case OpKind::Relu: return x < 0 ? 0 : x; // a NaN is not below 0
  case OpKind::Sigmoid: return 1 / (1 + std::exp(-x));
  case OpKind::Tanh: return std::tanh(x);
  case OpKind::Gelu: return x * (1 + std::erf(x / std::sqrt(2.0))) / 2;
  case OpKind::Exp: return std::exp(x);
  case OpKind::Sqrt: return std::sqrt(x);
  case OpKind::Erf: return std::erf(x);
  default: assert(false && "no unary pointwise operator"); return x;
  }
}

double Math<double>::maximum(double x, double y) {
  if (std::isnan(x)) return x;
  return x < y || std::isnan(y) ? y : x;
}

double Math<double>::max_of(llvm::ArrayRef<double> values) {
  double best = values[0];
  for (double value : values.drop_front()) best = maximum(best, value);
  return best;
}

void Math<double>::softmax(llvm::MutableArrayRef<double> row) {
  double largest = max_of(row), total = 0;
  for (double& x : row) total += x = std::exp(x - largest);
  for (double& x : row) x /= total;
}

int64_t scratch_elements(OpKind op, AttrValues attrs,
                         llvm::ArrayRef<llvm::ArrayRef<int64_t>> operands,
                         llvm::ArrayRef<int64_t> result) {
  using namespace semantics;
  switch (op) {
  case OpKind::Matmul: return std::min(kSumRows, result[result.size() - 2]) * result.back();
  case OpKind::Conv2d: return std::min(kSumRows, result[1]) * result[2] * result[3];
  case OpKind::WinogradConv2d: return winograd_scratch(operands[1]);
  case OpKind::MaxPool2d:
  case OpKind::AvgPool2d: // no more than lies inside
    return std::min(attrs[0]->ints[0], operands[0][2]) *
           std::min(attrs[0]->ints[1], operands[0][3]);
  case OpKind::Softmax: return operands[0][static_cast<size_t>(attrs[0]->number)];
  case OpKind::ReduceSum:
  case OpKind::ReduceMean:
  case OpKind::ReduceMax: return product(operands[0]) / product(result);
  case OpKind::FusedMap: {
    std::optional<FusedBody> body = parse_fused_body(attrs[0]->text);
    return kFusedBlock * static_cast<int64_t>(body ? body->stack_depth() : 0);
  }
  default: return 0;
  }
}

template double pointwise<double>(OpKind, const double*);
template void evaluate_op<double>(OpKind, AttrValues, llvm::ArrayRef<ConstView<double>>,
                                  View<double>, llvm::MutableArrayRef<double>);
template void evaluate_fused<double>(const FusedBody&, llvm::ArrayRef<ConstView<double>>,
                                     View<double>, llvm::MutableArrayRef<double>);

} // namespace tg
