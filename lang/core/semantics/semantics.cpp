#include "lang/core/semantics/impl.h"
#include "lang/core/semantics/real_functions.h"

#include <cmath>
#include <limits>

namespace tg {

using Doubles = RealFunctions<double>;

double Math<double>::unary(OpKind op, double x) { return Doubles::unary(op, x); }

bool Math<double>::has_precise_form(OpKind op) {
  switch (op) {
  case OpKind::Abs: // for -0, where the formula may give either zero
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

double Math<double>::maximum(double x, double y) { return Doubles::maximum(x, y); }

double Math<double>::binary(OpKind op, double x, double y) { return Doubles::binary(op, x, y); }

double Math<double>::select(double condition, double x, double y) { return condition != 0 ? x : y; }

double Math<double>::cast(DType to, double x) {
  if (to == DType::Bool) return x != 0;
  if (!is_integer(to)) return x;
  if (std::isnan(x)) return 0;
  double low = to == DType::I32 ? -0x1p31 : -0x1p63;
  double high = to == DType::I32 ? 0x1p31 - 1 : 0x1p63;
  return std::clamp(std::trunc(x), low, high);
}

int64_t Math<double>::index(double x, int64_t size) { return Doubles::index(x, size); }

double Math<double>::missing() { return std::numeric_limits<double>::quiet_NaN(); }

int64_t Math<double>::argmax(llvm::ArrayRef<double> values) { return Doubles::argmax(values); }

Integer operator/(Integer x, Integer y) {
  if (y.value == 0) return {};
  if (y.value == -1) return -x; // the only quotient that may overflow
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
  assert(op == OpKind::Sign && "not a unary operator on integers");
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
  default: assert(false && "not a binary operator on integers"); return x;
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
  assert(false && "softmax requires floats");
}

double Math<double>::max_of(llvm::ArrayRef<double> values) { return Doubles::max_of(values); }

double Math<double>::min_of(llvm::ArrayRef<double> values) { return Doubles::min_of(values); }

bool Math<double>::above(double x, double y) { return Doubles::above(x, y); }

void Math<double>::softmax(llvm::MutableArrayRef<double> row) { Doubles::softmax(row); }

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

/// Maps to (-1, 1).
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

double Math<double>::whole_quotient(double quotient) { return Doubles::whole_quotient(quotient); }

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
  case OpKind::AvgPool2d: // at most the elements inside
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
