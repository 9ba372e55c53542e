#include "compiler/rules/attempt/draws.h"

#include "compiler/rules/instances/instance.h"
#include "compiler/rules/instances/partition.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tg {

namespace {

constexpr int64_t kDrawnSize = 6, kDrawnRank = 4; // limits of random draws

} // namespace

InstanceDraws::InstanceDraws(const Rule& rule, std::mt19937_64& rng) : rng_(rng) {
  for (const Term& term : rule.terms)
    for (const TermAttr& attr : term.attrs) {
      if (attr.kind != TermAttr::Kind::Literal) continue;
      const AttrKind kind =
          op_info(term.op).attrs()[static_cast<size_t>(&attr - term.attrs.begin())].kind;
      note_integers(kind, attr.literal);
      if (attr.literal.is(Value::Kind::Float)) numbers_.push_back(attr.literal.real);
      numbers_.append(attr.literal.reals.begin(), attr.literal.reals.end());
    }
  note_divisors(rule);
}

/// Notes the divisors of sizes on the left side, as in `reshape(x, shape = [dim(x, 0) // 8, 8])`:
/// the sizes must be multiples of them.
void InstanceDraws::note_divisors(const Rule& rule) {
  std::vector<ExprIndex> open(rule.conditions.begin(), rule.conditions.end());
  while (!open.empty()) {
    const ValueExpr& e = rule.exprs[open.back()];
    open.pop_back();
    open.insert(open.end(), e.operands.begin(), e.operands.end());
    if (e.kind == ValueExpr::Kind::FloorDiv || e.kind == ValueExpr::Kind::Div)
      note_integers(AttrKind::integer, rule.exprs[e.operands[1]].literal);
  }
}

void InstanceDraws::note_integers(AttrKind kind, const Value& literal) {
  llvm::SmallVector<int64_t, 4> all(literal.ints.begin(), literal.ints.end());
  if (literal.is(Value::Kind::Int)) all.push_back(literal.number);
  for (int64_t n : all) {
    if (kind == AttrKind::axis && n >= kDrawnRank && n < kMaxRank) axes_.push_back(n);
    if (kind != AttrKind::axis && n > kDrawnSize && n <= kMaxInstanceElements) large_.push_back(n);
  }
}

int64_t InstanceDraws::between(int64_t low, int64_t high) { // inclusive; portable, unlike std's
  return low + static_cast<int64_t>(rng_() % static_cast<uint64_t>(high - low + 1));
}

int64_t InstanceDraws::size() {
  constexpr int64_t kSizes[] = {1, 2, 2, 3, 3, 4, 4, 5, kDrawnSize};
  if (!large_.empty() && chance(30))
    return large_[static_cast<size_t>(between(0, last(large_)))] + between(0, 2);
  return kSizes[between(0, std::size(kSizes) - 1)];
}

Shape InstanceDraws::any_shape(int64_t least_rank) {
  constexpr int64_t kRanks[] = {0, 1, 1, 2, 2, 2, 2, 3, 3, kDrawnRank, kDrawnRank};
  int64_t rank = std::max(least_rank, kRanks[between(0, std::size(kRanks) - 1)]);
  if (!axes_.empty() && chance(50))
    rank = std::max(rank, axes_[static_cast<size_t>(between(0, last(axes_)))] + 1);
  Shape shape;
  for (int64_t i = 0; i < rank; ++i) shape.push_back(size());
  return shape;
}

Shape InstanceDraws::image() {
  if (!images_.empty() && chance(60)) {
    Shape shape = images_[static_cast<size_t>(between(0, last(images_)))];
    if (chance(30)) shape[static_cast<size_t>(between(0, 3))] = between(1, 5);
    return shape;
  }
  int64_t channels = chance(20) ? between(1, 7) : 2 * between(1, 3);
  auto side = [&] { return chance(10) ? 1 : between(2, 7); };
  int64_t count = between(1, 2), height = side();
  return {count, channels, height, side()};
}

Shape InstanceDraws::any_kernel() {
  constexpr int64_t kSizes[] = {1, 1, 2, 3, 3, 4, 5};
  if (!kernels_.empty() && chance(60)) {
    Shape kernel = kernels_[static_cast<size_t>(between(0, last(kernels_)))];
    if (chance(50)) kernel[0] = 2 * size();
    return kernel;
  }
  int64_t k = kSizes[between(0, 6)];
  return {2 * size(), 1, k, chance(70) ? k : kSizes[between(0, 6)]};
}

int64_t InstanceDraws::divisor(int64_t n) {
  llvm::SmallVector<int64_t, 8> all;
  for (int64_t d = 1; d <= n; ++d)
    if (n % d == 0) all.push_back(d);
  return all[between(0, static_cast<int64_t>(all.size()) - 1)];
}

Shape InstanceDraws::narrower(Shape shape) {
  shape.erase(shape.begin(), shape.begin() + between(0, static_cast<int64_t>(shape.size())));
  int ones = chance(50) ? 50 : 0;
  for (int64_t& dim : shape)
    if (chance(ones)) dim = 1;
  return shape;
}

Shape InstanceDraws::regrouped(llvm::ArrayRef<int64_t> shape) {
  Shape result;
  if (chance(15)) { // the same axes in another order: a reshape that is not a transpose
    result.assign(shape.begin(), shape.end());
    for (size_t i = result.size(); i > 1; --i)
      std::swap(result[i - 1],
                result[static_cast<size_t>(between(0, static_cast<int64_t>(i) - 1))]);
    return result;
  }
  for (int64_t dim : shape) {
    int64_t part = chance(40) ? divisor(dim) : 1;
    bool join = !result.empty() && chance(30);
    if (part != 1) {
      result.push_back(part);
      dim /= part;
      join = false;
    }
    if (join)
      result.back() *= dim;
    else
      result.push_back(dim);
  }
  if (chance(20)) result.insert(result.begin() + between(0, result.size()), 1);
  return result;
}

int64_t InstanceDraws::input_size(int64_t out, int64_t kernel, int64_t stride, int64_t dilation,
                                  const Value& pad, size_t axis) {
  if (pad.is(Value::Kind::Enum) && pad.text == "same")
    return std::max<int64_t>(1, out * stride - between(0, stride - 1));
  int64_t n = (out - 1) * stride + (kernel - 1) * dilation + 1 + between(0, stride - 1);
  if (pad.is(Value::Kind::Ints)) n -= pad.ints[axis] + pad.ints[axis + 2];
  return std::max<int64_t>(n, 1);
}

Value InstanceDraws::any_act() { return Value::of_enum(act_name(static_cast<Act>(between(0, 4)))); }

Value InstanceDraws::any_pair(int64_t high) {
  int64_t a = between(1, high);
  return Value::of_ints({a, chance(70) ? a : between(1, high)});
}

Value InstanceDraws::any_pad() {
  if (chance(40)) return Value::of_enum("same");
  if (chance(40)) return Value::of_enum("valid");
  return Value::of_ints({between(0, 2), between(0, 2), between(0, 1), between(0, 1)});
}

Value InstanceDraws::any_permutation(size_t rank) {
  llvm::SmallVector<int64_t, 4> perm(rank);
  std::iota(perm.begin(), perm.end(), 0);
  if (rank >= 2 && chance(40)) // for matrices: the form that matters for products
    std::swap(perm[rank - 1], perm[rank - 2]);
  else
    for (size_t i = rank; i > 1; --i)
      std::swap(perm[i - 1], perm[static_cast<size_t>(between(0, static_cast<int64_t>(i) - 1))]);
  return Value::of_ints(perm);
}

llvm::SmallVector<int64_t, 4> InstanceDraws::some_axes(int64_t rank) {
  llvm::SmallVector<int64_t, 4> axes;
  for (int64_t axis = 0; axis < rank; ++axis)
    if (chance(45)) axes.push_back(axis);
  if (axes.empty() && rank > 0) axes.push_back(between(0, rank - 1)); // a scalar has none
  return axes;
}

double InstanceDraws::any_number(DType dtype) {
  constexpr Partition kKinds[] = {Partition::Positive, Partition::Negative, Partition::Zero,
                                  Partition::One,      Partition::Ties,     Partition::Tiny,
                                  Partition::Large,    Partition::Threshold};
  Partition kind = kKinds[between(0, std::size(kKinds) - 1)];
  if (kind == Partition::Threshold && !numbers_.empty() && dtype != DType::Bool) {
    constexpr double kBeside[] = {0, 0, -0.5, 0.5, -1, 1};
    double near = numbers_[static_cast<size_t>(between(0, last(numbers_)))];
    double x = (chance(25) ? -near : near) + kBeside[between(0, 5)];
    return is_float(dtype) ? x : std::round(x);
  }
  if (!is_float(dtype)) return static_cast<double>(integer_in(kind, dtype, 0, rng_()));
  // Few digits, so that counterexamples are readable.
  double x = number_in(kind, dtype, rng_());
  double parts = kind == Partition::Tiny ? 1e8 : 16;
  double rounded = std::round(x * parts) / parts;
  return rounded == 0 ? x : rounded;
}

std::vector<double> InstanceDraws::any_literal(const TensorType& type) {
  constexpr int64_t kFew = 64;
  std::vector<double> values = {any_number(type.dtype)};
  if (type.elements() > 1 && type.elements() <= kFew && chance(25))
    while (static_cast<int64_t>(values.size()) < type.elements())
      values.push_back(any_number(type.dtype));
  return values;
}

void InstanceDraws::note_convolution(const Shape& image, const Shape& kernel) {
  images_.push_back(image);
  kernels_.push_back(kernel);
}

} // namespace tg
