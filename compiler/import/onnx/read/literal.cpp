#include "compiler/import/onnx/read/literal.h"

#include "lang/core/semantics/semantics.h"

#include <cstring>

namespace tg::onnx {
namespace {

constexpr int64_t kExact = int64_t{1} << 53;

/// Converts the elements to another scalar type; returns false if one would not be exact.
bool convert(const Literal& from, std::vector<Integer>& to) {
  for (int64_t x : from.ints) to.push_back(Integer(x));
  return from.is_whole();
}
bool convert(const Literal& from, std::vector<double>& to) {
  to = from.reals;
  if (from.type.dtype == DType::F32)
    for (double& x : to) x = static_cast<double>(static_cast<float>(x));
  for (int64_t x : from.ints) {
    if (x < -kExact || x > kExact) return false;
    to.push_back(static_cast<double>(x));
  }
  return true;
}

void store(llvm::ArrayRef<Integer> values, Literal& result) {
  for (Integer x : values) result.ints.push_back(x.value);
  if (result.type.dtype == DType::I32)
    for (int64_t& x : result.ints) x = static_cast<int32_t>(x);
}
/// Converts a double that a cast has brought into range; the upper end of the range is not a
/// double.
int64_t whole(double x) { return x >= 0x1p63 ? INT64_MAX : static_cast<int64_t>(x); }
void store(llvm::ArrayRef<double> values, Literal& result) {
  bool single = result.type.dtype == DType::F32;
  for (double x : values)
    if (result.is_whole())
      result.ints.push_back(whole(x));
    else
      result.reals.push_back(single ? static_cast<double>(static_cast<float>(x)) : x);
}

template <class T>
std::optional<Literal> compute(OpKind op, AttrValues attrs, const TensorType& type,
                               llvm::ArrayRef<Literal> operands) {
  std::vector<std::vector<T>> values(operands.size());
  llvm::SmallVector<ConstView<T>, 4> views;
  llvm::SmallVector<llvm::ArrayRef<int64_t>, 4> shapes;
  for (size_t i = 0; i < operands.size(); ++i) {
    const TensorType& of = operands[i].type;
    shapes.push_back(of.shape);
    if (!of.is_none() && !convert(operands[i], values[i])) return std::nullopt;
    views.push_back({of.is_none() ? nullptr : values[i].data(), of.shape});
  }
  auto wide = static_cast<size_t>(scratch_elements(op, attrs, shapes, type.shape));
  std::vector<WideOf<T>> scratch(wide);
  std::vector<T> made(static_cast<size_t>(type.elements()));
  evaluate_op<T>(op, attrs, views, {made.data(), type.shape}, scratch);
  Literal result{type, {}, {}};
  store(made, result);
  return result;
}

template <class T> bool repeats(llvm::ArrayRef<T> values) {
  return llvm::all_of(values.drop_front(),
                      [&](const T& x) { return std::memcmp(&x, &values[0], sizeof x) == 0; });
}

} // namespace

Literal compact(Literal literal) {
  if (literal.ints.size() > 1 && repeats<int64_t>(literal.ints)) literal.ints.resize(1);
  if (literal.reals.size() > 1 && repeats<double>(literal.reals)) literal.reals.resize(1);
  return literal;
}

Literal literal_of(const Graph& graph, NodeId constant) {
  Literal literal{graph.type(constant), {}, {}};
  const Value& value = graph.attr(constant, 0);
  if (literal.is_whole()) {
    literal.ints.assign(value.ints.begin(), value.ints.end());
    for (double x : value.reals) literal.ints.push_back(static_cast<int64_t>(x));
  } else {
    literal.reals = value.reals;
  }
  auto elements = static_cast<size_t>(literal.type.elements());
  if (literal.ints.size() == 1) literal.ints.resize(elements, literal.ints[0]);
  if (literal.reals.size() == 1) literal.reals.resize(elements, literal.reals[0]);
  return literal;
}

NodeId constant_of(Graph& graph, const Literal& literal) {
  Literal small = compact(literal);
  return small.is_whole() ? graph.whole_constant(small.ints, small.type)
                          : graph.constant(std::move(small.reals), small.type);
}

std::optional<Literal> evaluate(Graph& graph, OpKind op, llvm::ArrayRef<ValueId> attrs,
                                const TensorType& result, llvm::ArrayRef<Literal> operands) {
  bool whole = !is_float(result.dtype), half = is_half(result.dtype);
  for (const Literal& operand : operands) {
    whole &= operand.is_whole() || operand.type.is_none();
    half |= is_half(operand.type.dtype);
  }
  if (half) return std::nullopt;
  llvm::SmallVector<const Value*, 4> values;
  for (ValueId id : attrs) values.push_back(&graph.symbols().value(id));
  // A quotient of integers rounds down, so it cannot be computed in the reals.
  if (!whole && op != OpKind::Cast && op != OpKind::Select && is_integer(result.dtype))
    return std::nullopt;
  return whole ? compute<Integer>(op, values, result, operands)
               : compute<double>(op, values, result, operands);
}

} // namespace tg::onnx
