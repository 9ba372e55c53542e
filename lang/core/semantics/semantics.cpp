#include "lang/core/semantics/impl.h"

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
  case OpKind::Log: return std::log(x);
  case OpKind::Log1p: return std::log1p(x);
  case OpKind::Expm1: return std::expm1(x);
  case OpKind::Sin: return std::sin(x);
  case OpKind::Cos: return std::cos(x);
  case OpKind::Tan: return std::tan(x);
  case OpKind::Asin: return std::asin(x);
  case OpKind::Acos: return std::acos(x);
  case OpKind::Atan: return std::atan(x);
  case OpKind::Sinh: return std::sinh(x);
  case OpKind::Cosh: return std::cosh(x);
  case OpKind::Asinh: return std::asinh(x);
  case OpKind::Acosh: return std::acosh(x);
  case OpKind::Atanh: return std::atanh(x);
  case OpKind::Round: return std::nearbyint(x); // in the mode that every program starts with
  case OpKind::Floor: return std::floor(x);
  case OpKind::Sign: return x > 0 ? 1 : x < 0 ? -1 : x; // a NaN stays
  default: assert(false && "no unary pointwise operator"); return x;
  }
}

bool Math<double>::is_exacter(OpKind op) {
  switch (op) {
  case OpKind::Log1p:
  case OpKind::Expm1:
  case OpKind::Tan:
  case OpKind::Asin:
  case OpKind::Acos:
  case OpKind::Sinh:
  case OpKind::Cosh:
  case OpKind::Asinh:
  case OpKind::Acosh:
  case OpKind::Atanh: return true;
  default: return false;
  }
}

double Math<double>::maximum(double x, double y) {
  if (std::isnan(x)) return x;
  return x < y || std::isnan(y) ? y : x;
}

double Math<double>::binary(OpKind op, double x, double y) {
  switch (op) {
  case OpKind::Minimum:
    if (std::isnan(x)) return x;
    return y < x || std::isnan(y) ? y : x;
  case OpKind::Pow: return std::pow(x, y);
  case OpKind::Mod: {
    double rest = std::fmod(x, y);
    return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
  }
  case OpKind::Less: return x < y;
  case OpKind::LessEqual: return x <= y;
  case OpKind::Equal: return x == y;
  default: assert(false && "no binary pointwise operator"); return x;
  }
}

double Math<double>::select(double condition, double x, double y) { return condition != 0 ? x : y; }

double Math<double>::cast(DType to, double x) {
  if (to == DType::Bool) return x != 0;
  if (!is_integer(to)) return x;
  if (std::isnan(x)) return 0;
  double low = to == DType::I32 ? -0x1p31 : -0x1p63;
  double high = to == DType::I32 ? 0x1p31 - 1 : 0x1p63;
  return std::clamp(std::trunc(x), low, high);
}

int64_t Math<double>::index(double x, int64_t size) { // of NaN: -1
  return x >= 0 && x < static_cast<double>(size) ? static_cast<int64_t>(x) : -1;
}

double Math<double>::missing() { return std::numeric_limits<double>::quiet_NaN(); }

int64_t Math<double>::argmax(llvm::ArrayRef<double> values) {
  size_t best = 0;
  for (size_t i = 0; i < values.size() && !std::isnan(values[best]); ++i)
    if (values[i] > values[best] || std::isnan(values[i])) best = i;
  return static_cast<int64_t>(best);
}

Integer operator/(Integer x, Integer y) {
  if (y.value == 0) return {};
  if (y.value == -1) return -x; // the only quotient that may not fit
  int64_t quotient = x.value / y.value, rest = x.value % y.value;
  return Integer(rest != 0 && (rest < 0) != (y.value < 0) ? quotient - 1 : quotient);
}

Integer Math<Integer>::literal(double value) {
  if (value >= 0x1p63) return Integer(INT64_MAX);
  return Integer(value < -0x1p63 ? INT64_MIN : static_cast<int64_t>(value));
}

Integer Math<Integer>::unary(OpKind op, Integer x) {
  if (op == OpKind::Relu) return Integer(std::max<int64_t>(x.value, 0));
  if (op == OpKind::Floor || op == OpKind::Round) return x;
  assert(op == OpKind::Sign && "no operator on integers");
  return Integer(x.value > 0 ? 1 : x.value < 0 ? -1 : 0);
}

Integer Math<Integer>::maximum(Integer x, Integer y) { return x.value < y.value ? y : x; }

Integer Math<Integer>::binary(OpKind op, Integer x, Integer y) {
  switch (op) {
  case OpKind::Minimum: return y.value < x.value ? y : x;
  case OpKind::Mod: return y.value == 0 ? Integer() : x - x / y * y;
  case OpKind::Less: return Integer(x.value < y.value);
  case OpKind::LessEqual: return Integer(x.value <= y.value);
  case OpKind::Equal: return Integer(x.value == y.value);
  default: assert(false && "no binary operator on integers"); return x;
  }
}

Integer Math<Integer>::select(Integer condition, Integer x, Integer y) {
  return condition.value != 0 ? x : y;
}

Integer Math<Integer>::cast(DType to, Integer x) {
  if (to == DType::Bool) return Integer(x.value != 0);
  return to == DType::I32 ? Integer(static_cast<int32_t>(x.value)) : x;
}

int64_t Math<Integer>::argmax(llvm::ArrayRef<Integer> values) {
  auto below = [](Integer x, Integer y) { return x.value < y.value; };
  return std::max_element(values.begin(), values.end(), below) - values.begin();
}

Integer Math<Integer>::max_of(llvm::ArrayRef<Integer> values) {
  return values[static_cast<size_t>(argmax(values))];
}

Integer Math<Integer>::min_of(llvm::ArrayRef<Integer> values) {
  auto below = [](Integer x, Integer y) { return x.value < y.value; };
  return *std::min_element(values.begin(), values.end(), below);
}

void Math<Integer>::softmax(llvm::MutableArrayRef<Integer>) {
  assert(false && "softmax takes floats");
}

double Math<double>::max_of(llvm::ArrayRef<double> values) {
  double best = values[0];
  for (double value : values.drop_front()) best = maximum(best, value);
  return best;
}

double Math<double>::min_of(llvm::ArrayRef<double> values) {
  double best = values[0];
  for (double value : values.drop_front()) best = binary(OpKind::Minimum, best, value);
  return best;
}

bool Math<double>::above(double x, double y) { return std::isnan(x) ? !std::isnan(y) : x > y; }

void Math<double>::softmax(llvm::MutableArrayRef<double> row) {
  double largest = max_of(row), total = 0;
  for (double& x : row) total += x = std::exp(x - largest);
  for (double& x : row) x /= total;
}

// --- operators that nothing is known of ---------------------------------------------------------

uint64_t scramble(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

uint64_t key_of_text(llvm::StringRef text) { // FNV-1a
  uint64_t h = 14695981039346656037u;
  for (char c : text) h = (h ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return scramble(h);
}

namespace {

uint64_t key_of_external(llvm::StringRef name, llvm::StringRef signature) {
  return scramble(key_of_text(name) + key_of_text(signature));
}

void add_shape(uint64_t& key, llvm::ArrayRef<int64_t> sizes) {
  key = scramble(key + sizes.size());
  for (int64_t size : sizes) key = scramble(key ^ static_cast<uint64_t>(size));
}

/// In (-1, 1).
double unit(uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-52 - 1; }

} // namespace

Math<double>::External::External(llvm::StringRef name, llvm::StringRef signature)
    : key_(key_of_external(name, signature)) {}
void Math<double>::External::shape(llvm::ArrayRef<int64_t> sizes) { add_shape(key_, sizes); }
void Math<double>::External::element(double x) {
  key_ = scramble(key_ + 1);
  sums_[0] += unit(key_) * x;
  sums_[1] += unit(scramble(~key_)) * x;
}
double Math<double>::External::at(int64_t i) const {
  uint64_t key = scramble(key_ ^ scramble(static_cast<uint64_t>(i)));
  double phase = 3 * unit(scramble(key + 2));
  return std::sin(unit(key) * sums_[0] + unit(scramble(key + 1)) * sums_[1] + phase);
}

double Math<double>::of_dtype(DType dtype, double x) {
  if (dtype == DType::Bool) return x > 0;
  return is_integer(dtype) ? std::floor(4 * std::abs(x)) : x;
}

double Math<double>::whole_quotient(double quotient) {
  return std::isfinite(quotient) ? std::floor(quotient) : 0;
}

Math<Integer>::External::External(llvm::StringRef name, llvm::StringRef signature)
    : key_(key_of_external(name, signature)) {}
void Math<Integer>::External::shape(llvm::ArrayRef<int64_t> sizes) { add_shape(key_, sizes); }
void Math<Integer>::External::element(Integer x) { key_ = scramble(key_ ^ scramble(bits(x))); }
Integer Math<Integer>::External::at(int64_t i) const {
  return Integer(static_cast<int64_t>(scramble(key_ + static_cast<uint64_t>(i)) % 8));
}

Integer Math<Integer>::of_dtype(DType dtype, Integer x) {
  return dtype == DType::Bool ? Integer(x.value & 1) : x;
}

int64_t scratch_elements(OpKind op, AttrValues attrs,
                         llvm::ArrayRef<llvm::ArrayRef<int64_t>> operands,
                         llvm::ArrayRef<int64_t> result) {
  using namespace semantics;
  switch (op) {
  case OpKind::Matmul: return std::min(kSumRows, result[result.size() - 2]) * result.back();
  case OpKind::Attention: return operands[1].back(); // a row of scores
  case OpKind::Conv2d: return std::min(kSumRows, result[1]) * result[2] * result[3];
  case OpKind::WinogradConv2d: return winograd_scratch(operands[1]);
  case OpKind::MaxPool2d:
  case OpKind::AvgPool2d: // no more than lies inside
    return std::min(attrs[0]->ints[0], operands[0][2]) *
           std::min(attrs[0]->ints[1], operands[0][3]);
  case OpKind::ConvTranspose2d: return result[2] * result[3];
  case OpKind::Conv3d: return std::min(kSumRows, result[1]) * product(result.drop_front(2));
  case OpKind::Softmax:
  case OpKind::Argmax:
  case OpKind::TopK: return operands[0][static_cast<size_t>(attrs[0]->number)];
  case OpKind::Scatter: return attrs[1]->text == "none" ? 0 : product(result);
  case OpKind::ReduceSum:
  case OpKind::ReduceMean:
  case OpKind::ReduceMax:
  case OpKind::ReduceMin:
  case OpKind::ReduceProd: return product(operands[0]) / product(result);
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
template Integer pointwise<Integer>(OpKind, const Integer*);
template void evaluate_op<Integer>(OpKind, AttrValues, llvm::ArrayRef<ConstView<Integer>>,
                                   View<Integer>, llvm::MutableArrayRef<Integer>);
template void evaluate_fused<Integer>(const FusedBody&, llvm::ArrayRef<ConstView<Integer>>,
                                      View<Integer>, llvm::MutableArrayRef<Integer>);

} // namespace tg
