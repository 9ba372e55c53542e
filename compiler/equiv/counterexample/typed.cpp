#include "compiler/equiv/counterexample/typed.h"

#include "lang/core/support/round_number.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/Support/MathExtras.h>

#include <cmath>
#include <limits>

namespace tg {

namespace {

constexpr size_t kShownInText = 8;   // elements of a tensor in a text
constexpr double kTame = 1e12;       // numbers whose quotients overflow at a divisor of 0 alone
constexpr double kWholeEnd = 0x1p63; // the first that no i64 holds

Integer to_whole(double x) {
  if (std::isnan(x)) return Integer(0);
  if (x >= kWholeEnd) return Integer(std::numeric_limits<int64_t>::max());
  if (x < -kWholeEnd) return Integer(std::numeric_limits<int64_t>::min());
  return Integer(static_cast<int64_t>(x));
}

/// The integer as the float dtype has it, rounded once: on the way to fewer digits than a double
/// has the double is the neighbour whose last bit is odd, if none is equal.
double real_of(int64_t n, DType dtype) {
  double near = static_cast<double>(n);
  int64_t back = to_whole(near).value;
  bool equal = back == n && near < kWholeEnd;
  if (equal || dtype == DType::F64) return round_number(near, dtype);
  bool beyond = near > 0 ? near >= kWholeEnd || back > n : back < n;
  if (beyond) near = std::nextafter(near, 0);
  return round_number(llvm::BitsToDouble(llvm::DoubleToBits(near) | 1), dtype);
}

} // namespace

bool rounds(OpKind op) {
  if (op_info(op).has(Trait::Leaf | Trait::Layout)) return false;
  switch (op) {
  case OpKind::Identity:
  case OpKind::Neg:
  case OpKind::Abs:
  case OpKind::Sign:
  case OpKind::Floor:
  case OpKind::Ceil:
  case OpKind::Round:
  case OpKind::Relu:
  case OpKind::Relu6:
  case OpKind::Clip:
  case OpKind::Cast:
  case OpKind::Select:
  case OpKind::Maximum:
  case OpKind::Minimum:
  case OpKind::MaxPool2d:
  case OpKind::ReduceMax:
  case OpKind::ReduceMin:
  case OpKind::Gather:
  case OpKind::Iota: return false;
  default: return true;
  }
}

namespace {

/// Functions that are infinite at a point.
bool has_pole(OpKind op) {
  switch (op) {
  case OpKind::Div:
  case OpKind::Log:
  case OpKind::Log1p:
  case OpKind::Rsqrt:
  case OpKind::Pow:
  case OpKind::Atanh: return true;
  default: return false;
  }
}

/// Numbers up to 2^-40 off, each by a function of where it is.
std::vector<double> perturbed(llvm::ArrayRef<double> values, uint64_t key, uint32_t draw) {
  std::vector<double> result(values.begin(), values.end());
  uint64_t stream = scramble(key + scramble(draw / 2));
  double scale = draw % 2 ? -0x1p-103 : 0x1p-103;
  for (size_t i = 0; i < result.size(); ++i)
    result[i] *= 1 + scale * static_cast<double>(static_cast<int64_t>(scramble(stream + i)));
  return result;
}

/// One pass over the nodes that are wanted.
class Pass {
public:
  Pass(const Graph& graph, const TypedLeaves& leaves, Rounding rounding,
       const Noise* noise = nullptr)
      : graph_(graph), leaves_(leaves), rounding_(rounding), noise_(noise), values_(graph.size()) {}

  TypedRun run(llvm::ArrayRef<NodeId> wanted) {
    std::vector<bool> needed(graph_.size());
    for (NodeId id : wanted) needed[id.index] = true;
    for (NodeId id : wanted) ++uses_[id.index]; // kept to the end
    for (size_t i = graph_.size(); i-- > 0;) {
      if (!needed[i]) continue;
      for (NodeId operand : graph_.operands({static_cast<uint32_t>(i)})) {
        needed[operand.index] = true;
        ++uses_[operand.index];
      }
    }
    for (uint32_t i = 0; i < graph_.size(); ++i) {
      if (!needed[i] || graph_.type({i}).is_none()) continue;
      compute({i});
      for (NodeId operand : graph_.operands({i}))
        if (--uses_[operand.index] == 0) values_[operand.index] = {};
    }
    for (NodeId id : wanted) result_.wanted.push_back(values_[id.index]);
    return std::move(result_);
  }

private:
  void compute(NodeId id) {
    DType dtype = graph_.type(id).dtype;
    TypedValues& out = values_[id.index];
    OpKind op = graph_.node(id).op;
    bool finite = true;
    if (op == OpKind::Constant) {
      out = constant(id);
    } else if (op_info(op).has(Trait::Leaf)) {
      out = leaves_(graph_, id);
    } else {
      for (NodeId operand : graph_.operands(id)) finite &= finite_[operand.index];
      out = op == OpKind::Cast ? cast(id) : by_scalar(id);
    }
    assert(static_cast<int64_t>(out.size()) == graph_.type(id).elements());
    for (Integer& x : out.wholes) x = wrap_to(dtype, x);
    if (rounding_ == Rounding::Stored)
      for (double& x : out.reals) x = round_number(x, dtype);
    if (noisy(id)) out.reals = perturbed(out.reals, noise_key(id, 0), noise_->draw);
    look(id, finite && !op_info(op).has(Trait::Leaf));
  }

  bool noisy(NodeId id) const {
    return noise_ && noise_->nodes[id.index] && rounds(graph_.node(id).op);
  }
  static uint64_t noise_key(NodeId id, size_t place) { return scramble(id.index) + place; }

  /// Notes how large the numbers are, and whether they left the finite ones here.
  void look(NodeId id, bool from_finite) {
    bool finite = true;
    for (double x : values_[id.index].reals) {
      if (std::isfinite(x)) result_.largest = std::max(result_.largest, std::abs(x));
      finite &= std::isfinite(x);
    }
    finite_[id.index] = finite;
    const bool infinite = from_finite && llvm::any_of(values_[id.index].reals,
                                                      [](double x) { return std::isinf(x); });
    result_.overflowed |= infinite;
    // A quotient of numbers as large as this may be too large for its dtype.
    result_.too_large |= infinite && (!has_pole(graph_.node(id).op) || result_.largest > kTame ||
                                      rounding_ == Rounding::Stored);
  }

  TypedValues constant(NodeId id) const {
    TypedValues out;
    const TensorType& type = graph_.type(id);
    const Value& given = graph_.attr(id, 0);
    auto elements = static_cast<size_t>(type.elements());
    auto read = [&](auto& to, auto from_real, auto from_whole) {
      for (double x : given.reals) to.push_back(from_real(x));
      for (int64_t n : given.ints) to.push_back(from_whole(n));
      if (to.size() == 1) to.assign(elements, to[0]);
    };
    if (is_float(type.dtype))
      read(
          out.reals, [](double x) { return x; }, [](int64_t n) { return double(n); });
    else
      read(out.wholes, to_whole, [](int64_t n) { return Integer(n); });
    return out;
  }

  TypedValues cast(NodeId id) const {
    const TypedValues& from = values_[graph_.operands(id)[0].index];
    DType to = graph_.type(id).dtype;
    TypedValues out;
    for (double x : from.reals) {
      if (is_float(to))
        out.reals.push_back(x);
      else
        out.wholes.push_back(to_whole(Math<double>::cast(to, x)));
    }
    for (Integer x : from.wholes) {
      if (is_float(to))
        out.reals.push_back(real_of(x.value, to));
      else
        out.wholes.push_back(to == DType::Bool ? Integer(x.value != 0) : x);
    }
    return out;
  }

  /// In Integer where nothing is a float, else in double.
  TypedValues by_scalar(NodeId id) {
    bool floats = is_float(graph_.type(id).dtype);
    for (NodeId operand : graph_.operands(id)) floats |= is_float(graph_.type(operand).dtype);
    TypedValues out;
    if (!floats) {
      out.wholes = compute_in<Integer>(id);
      return out;
    }
    std::vector<double> reals = compute_in<double>(id);
    if (is_float(graph_.type(id).dtype))
      out.reals = std::move(reals);
    else
      for (double x : reals) out.wholes.push_back(to_whole(x));
    return out;
  }

  /// The activation that an operator of integers ends with: it sees the sum as the dtype has it.
  std::optional<OpKind> last_of_whole(NodeId id, size_t& slot) const {
    const OpInfo& info = op_info(graph_.node(id).op);
    for (slot = 0; slot < info.attrs().size(); ++slot)
      if (info.attrs()[slot].kind == AttrKind::act && is_integer(graph_.type(id).dtype))
        return act_op(parse_act(graph_.attr(id, slot).text).value_or(Act::None));
    return std::nullopt;
  }

  template <class T> std::vector<T> compute_in(NodeId id) {
    llvm::SmallVector<ConstView<T>, 4> operands;
    llvm::SmallVector<llvm::ArrayRef<int64_t>, 4> shapes;
    std::vector<std::vector<T>> converted; // its memory stays where it is
    converted.reserve(2 * graph_.operands(id).size());
    for (NodeId operand : graph_.operands(id)) {
      const TensorType& type = graph_.type(operand);
      shapes.push_back(type.shape);
      operands.push_back({nullptr, type.shape});
      if (type.is_none()) continue;
      operands.back().data = elements<T>(values_[operand.index], converted);
      if constexpr (std::is_same_v<T, double>)
        if (reads_noisy(id) && is_float(type.dtype)) {
          converted.push_back(perturbed(values_[operand.index].reals,
                                        noise_key(id, operands.size()), noise_->draw));
          operands.back().data = converted.back().data();
        }
    }
    llvm::SmallVector<const Value*, 4> attrs;
    for (size_t slot = 0; slot < graph_.attrs(id).size(); ++slot)
      attrs.push_back(&graph_.attr(id, slot));
    const Value no_act = Value::of_enum("none");
    size_t slot = 0;
    std::optional<OpKind> last = last_of_whole(id, slot);
    if (last) attrs[slot] = &no_act;
    const TensorType& type = graph_.type(id);
    OpKind op = graph_.node(id).op;
    std::vector<T> scratch(static_cast<size_t>(scratch_elements(op, attrs, shapes, type.shape)));
    std::vector<T> result(static_cast<size_t>(type.elements()));
    evaluate_op<T>(op, attrs, operands, {result.data(), type.shape}, scratch);
    if (op == OpKind::Extern)
      for (T& x : result) x = Math<T>::of_dtype(type.dtype, x);
    if constexpr (std::is_same_v<T, Integer>)
      for (T& x : result) x = wrap_to(type.dtype, x);
    if (last)
      evaluate_op<T>(*last, {}, {{result.data(), type.shape}}, {result.data(), type.shape},
                     scratch);
    return result;
  }

  /// Not what compares, which rounds nothing, nor arbitrary functions, which have nothing near.
  bool reads_noisy(NodeId id) const {
    return noisy(id) && is_float(graph_.type(id).dtype) && graph_.node(id).op != OpKind::Extern;
  }

  /// Where they lie as T; integers among floats are converted.
  template <class T>
  static const T* elements(const TypedValues& values, std::vector<std::vector<T>>& converted) {
    if constexpr (std::is_same_v<T, Integer>) {
      return values.wholes.data();
    } else {
      if (!values.whole()) return values.reals.data();
      converted.emplace_back();
      for (Integer x : values.wholes) converted.back().push_back(static_cast<double>(x.value));
      return converted.back().data();
    }
  }

  const Graph& graph_;
  const TypedLeaves& leaves_;
  Rounding rounding_;
  const Noise* noise_; // nullptr: none
  std::vector<TypedValues> values_;
  std::vector<uint32_t> uses_ = std::vector<uint32_t>(graph_.size()); // still to come
  std::vector<bool> finite_ = std::vector<bool>(graph_.size(), true);
  TypedRun result_;
};

} // namespace

bool TypedValues::same(const TypedValues& other, size_t i) const {
  if (whole()) return wholes[i] == other.wholes[i];
  double a = reals[i], b = other.reals[i];
  return a == b || (std::isnan(a) && std::isnan(b));
}

Integer wrap_to(DType dtype, Integer x) {
  if (dtype == DType::I32) return Integer(static_cast<int32_t>(static_cast<uint32_t>(x.value)));
  if (dtype == DType::Bool) return Integer(x.value != 0);
  return x;
}

std::string shown(const TypedValues& values, DType dtype) {
  auto text = [&](size_t i) {
    if (dtype == DType::Bool) return std::string(values.at(i) != 0 ? "true" : "false");
    if (values.whole()) return std::to_string(values.wholes[i].value);
    return Value::of_float(values.reals[i]).text_form();
  };
  if (values.size() == 1) return text(0);
  std::string list = "[";
  for (size_t i = 0; i < std::min(values.size(), kShownInText); ++i)
    list += (i ? ", " : "") + text(i);
  return list + (values.size() > kShownInText ? ", ..]" : "]");
}

TypedRun evaluate_typed(const Graph& graph, const TypedLeaves& leaves,
                        llvm::ArrayRef<NodeId> wanted, Rounding rounding) {
  return Pass(graph, leaves, rounding).run(wanted);
}

TypedRun evaluate_noisy(const Graph& graph, const TypedLeaves& leaves,
                        llvm::ArrayRef<NodeId> wanted, const Noise& noise) {
  return Pass(graph, leaves, Rounding::None, &noise).run(wanted);
}

} // namespace tg
