// The evaluation pass of typed.h, for doubles and for scalars with more digits.
#pragma once

#include "compiler/verify/counterexample/typed.h"
#include "lang/core/support/round_number.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/Support/MathExtras.h>

#include <cmath>
#include <limits>
#include <type_traits>

namespace tg {

/// A literal of a graph with a changed value.
struct MovedLiteral {
  NodeId node;
  size_t slot = 0; // in an attribute
  Value value;
};

namespace typed {

inline constexpr double kTame = 1e12;       // smaller numbers: a quotient overflows only at 0
inline constexpr double kWholeEnd = 0x1p63; // the first integer beyond i64

inline Integer to_whole(double x) {
  if (std::isnan(x)) return Integer(0);
  if (x >= kWholeEnd) return Integer(std::numeric_limits<int64_t>::max());
  if (x < -kWholeEnd) return Integer(std::numeric_limits<int64_t>::min());
  return Integer(static_cast<int64_t>(x));
}

/// Converts an integer to a float dtype with a single rounding. For fewer digits than a double, the
/// intermediate double is the neighbour with an odd last bit, if none is equal.
inline double real_of(int64_t n, DType dtype) {
  double near = static_cast<double>(n);
  int64_t back = to_whole(near).value;
  bool equal = back == n && near < kWholeEnd;
  if (equal || dtype == DType::F64) return round_number(near, dtype);
  bool beyond = near > 0 ? near >= kWholeEnd || back > n : back < n;
  if (beyond) near = std::nextafter(near, 0);
  return round_number(llvm::BitsToDouble(llvm::DoubleToBits(near) | 1), dtype);
}

/// Returns numbers that are off by up to the noise's size, each by a function of its place.
template <class Real>
std::vector<Real> perturbed(llvm::ArrayRef<Real> values, uint64_t key, const Noise& noise) {
  std::vector<Real> result(values.begin(), values.end());
  uint64_t stream = scramble(key + scramble(noise.draw / 2));
  const Real scale = static_cast<Real>(noise.size) * 0x1p-63 * (noise.draw % 2 ? -1 : 1);
  for (size_t i = 0; i < result.size(); ++i)
    result[i] *= 1 + scale * static_cast<Real>(static_cast<int64_t>(scramble(stream + i)));
  return result;
}

} // namespace typed

/// One pass over the wanted nodes.
template <class Real> class TypedPass {
public:
  using Values = TypedElements<Real>;
  using Run = TypedRunOf<Real>;

  TypedPass(const Graph& graph, const TypedLeaves& leaves, Rounding rounding,
            const Noise* noise = nullptr, const MovedLiteral* moved = nullptr)
      : graph_(graph), leaves_(leaves), rounding_(rounding), noise_(noise), moved_(moved),
        values_(graph.size()) {}

  Run run(llvm::ArrayRef<NodeId> wanted) {
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
    Values& out = values_[id.index];
    OpKind op = graph_.node(id).op;
    bool finite = true;
    if (op == OpKind::Constant) {
      out = constant(id);
    } else if (op_info(op).has(Trait::Leaf)) {
      out = leaf(id);
    } else {
      for (NodeId operand : graph_.operands(id)) finite &= finite_[operand.index];
      out = op == OpKind::Cast ? cast(id) : by_scalar(id);
    }
    assert(static_cast<int64_t>(out.size()) == graph_.type(id).elements());
    for (Integer& x : out.wholes) x = wrap_to(dtype, x);
    if constexpr (std::is_same_v<Real, double>)
      if (rounding_ == Rounding::Stored)
        for (double& x : out.reals) x = round_number(x, dtype);
    if (noisy(id)) out.reals = typed::perturbed<Real>(out.reals, noise_key(id, 0), *noise_);
    look(id, finite && !op_info(op).has(Trait::Leaf));
  }

  bool noisy(NodeId id) const {
    return noise_ && noise_->nodes[id.index] && rounds(graph_.node(id).op);
  }
  static uint64_t noise_key(NodeId id, size_t place) { return scramble(id.index) + place; }

  /// Records the magnitude of the numbers, and whether they become nonfinite here.
  void look(NodeId id, bool from_finite) {
    bool finite = true;
    for (Real x : values_[id.index].reals) {
      if (std::isfinite(x))
        result_.largest = std::max(result_.largest, static_cast<double>(std::abs(x)));
      finite &= std::isfinite(x);
    }
    finite_[id.index] = finite;
    const bool infinite =
        from_finite && llvm::any_of(values_[id.index].reals, [](Real x) { return std::isinf(x); });
    result_.overflowed |= infinite;
    result_.at_zero |= infinite && op_info(graph_.node(id).op).has(Trait::SignedPole);
    // A quotient of numbers as large as this may be too large for its dtype.
    result_.too_large |=
        infinite && (!op_info(graph_.node(id).op).has(Trait::Pole) ||
                     result_.largest > typed::kTame || rounding_ == Rounding::Stored);
  }

  Values leaf(NodeId id) const {
    TypedValues given = leaves_(graph_, id);
    if constexpr (std::is_same_v<Real, double>)
      return given;
    else
      return {{given.reals.begin(), given.reals.end()}, std::move(given.wholes)};
  }

  Values constant(NodeId id) const {
    Values out;
    const TensorType& type = graph_.type(id);
    const Value given = attribute(id, 0);
    auto elements = static_cast<size_t>(type.elements());
    auto read = [&](auto& to, auto from_real, auto from_whole) {
      for (double x : given.reals) to.push_back(from_real(x));
      for (int64_t n : given.ints) to.push_back(from_whole(n));
      if (to.size() == 1) to.assign(elements, to[0]);
    };
    if (is_float(type.dtype))
      read(out.reals, Math<Real>::literal, Math<Real>::integer);
    else
      read(out.wholes, typed::to_whole, [](int64_t n) { return Integer(n); });
    return out;
  }

  Values cast(NodeId id) const {
    const Values& from = values_[graph_.operands(id)[0].index];
    DType to = graph_.type(id).dtype;
    Values out;
    for (Real x : from.reals) {
      if (is_float(to))
        out.reals.push_back(x);
      else
        out.wholes.push_back(typed::to_whole(static_cast<double>(Math<Real>::cast(to, x))));
    }
    for (Integer x : from.wholes) {
      if (is_float(to))
        out.reals.push_back(typed::real_of(x.value, to));
      else
        out.wholes.push_back(to == DType::Bool ? Integer(x.value != 0) : x);
    }
    return out;
  }

  /// Computes in Integer if nothing is a float, else in Real.
  Values by_scalar(NodeId id) {
    bool floats = is_float(graph_.type(id).dtype);
    for (NodeId operand : graph_.operands(id)) floats |= is_float(graph_.type(operand).dtype);
    Values out;
    if (!floats) {
      out.wholes = compute_in<Integer>(id);
      return out;
    }
    std::vector<Real> reals = compute_in<Real>(id);
    if (is_float(graph_.type(id).dtype))
      out.reals = std::move(reals);
    else
      for (Real x : reals) out.wholes.push_back(typed::to_whole(static_cast<double>(x)));
    return out;
  }

  /// Returns the activation that ends an integer operator; its operand is the sum in the dtype.
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
    std::vector<std::vector<T>> converted; // reused, so its memory does not move
    converted.reserve(2 * graph_.operands(id).size());
    for (NodeId operand : graph_.operands(id)) {
      const TensorType& type = graph_.type(operand);
      shapes.push_back(type.shape);
      operands.push_back({nullptr, type.shape});
      if (type.is_none()) continue;
      operands.back().data = elements<T>(values_[operand.index], converted);
      if constexpr (std::is_same_v<T, Real>)
        if (reads_noisy(id) && is_float(type.dtype)) {
          converted.push_back(typed::perturbed<Real>(values_[operand.index].reals,
                                                     noise_key(id, operands.size()), *noise_));
          operands.back().data = converted.back().data();
        }
    }
    llvm::SmallVector<const Value*, 4> attrs;
    Value changed;
    for (size_t slot = 0; slot < graph_.attrs(id).size(); ++slot) {
      attrs.push_back(&graph_.attr(id, slot));
      if (moved_ && moved_->node == id && moved_->slot == slot)
        attrs.back() = &(changed = attribute(id, slot));
    }
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

  /// Returns the attribute, with its literal changed if it is the moved one.
  Value attribute(NodeId id, size_t slot) const {
    const Value& given = graph_.attr(id, slot);
    if (!moved_ || moved_->node != id || moved_->slot != slot) return given;
    return moved_->value;
  }

  /// False for comparisons, which do not round, and uninterpreted functions, which are not
  /// continuous.
  bool reads_noisy(NodeId id) const {
    return noisy(id) && is_float(graph_.type(id).dtype) && graph_.node(id).op != OpKind::Extern;
  }

  /// Returns the elements as T; integers among floats are converted.
  template <class T>
  static const T* elements(const Values& values, std::vector<std::vector<T>>& converted) {
    if constexpr (std::is_same_v<T, Integer>) {
      return values.wholes.data();
    } else {
      if (!values.whole()) return values.reals.data();
      converted.emplace_back();
      for (Integer x : values.wholes) converted.back().push_back(static_cast<T>(x.value));
      return converted.back().data();
    }
  }

  const Graph& graph_;
  const TypedLeaves& leaves_;
  Rounding rounding_;
  const Noise* noise_;        // may be null
  const MovedLiteral* moved_; // may be null
  std::vector<Values> values_;
  std::vector<uint32_t> uses_ = std::vector<uint32_t>(graph_.size()); // remaining uses
  std::vector<bool> finite_ = std::vector<bool>(graph_.size(), true);
  Run result_;
};

} // namespace tg
