#include "tests/property/rules/rule_error_bound.h"

#include "lang/core/semantics/semantics.h"

#include <llvm/ADT/STLExtras.h>

#include <algorithm>
#include <cmath>

namespace tg {

namespace {

using Arrays = llvm::SmallVector<const NodeValues*, 5>;

/// The steepest slope of gelu (at sqrt 2) and erf (at 0), an upper bound for all activations.
constexpr double kSlope = 1.13;

bool moves(OpKind op) {
  return op_info(op).has(Trait::Layout | Trait::View) || op == OpKind::Gather;
}

/// Returns the largest change by one rounding of numbers that are too small for unit_roundoff.
double half_smallest(DType dtype) {
  switch (dtype) {
  case DType::F16: return 0x1p-25;
  case DType::BF16: return 0x1p-134;
  default: return 0x1p-150;
  }
}

NodeValues magnitudes(NodeValues values) {
  for (double& x : values) x = std::abs(x);
  return values;
}

double largest(const NodeValues& values) {
  double most = 0;
  for (double x : values) most = std::max(most, std::abs(x));
  return most;
}

/// Returns true if two nodes have the same operators on the same leaves. Constants may differ by
/// the signs of zeros, since conditions of rules compare numbers, not bits.
bool same_term(const Graph& graph, NodeId a, NodeId b) {
  if (a == b) return true;
  if (graph.node(a).op != graph.node(b).op || graph.node(a).type != graph.node(b).type)
    return false;
  if (graph.node(a).op == OpKind::Constant) return graph.attr(a, 0).reals == graph.attr(b, 0).reals;
  if (graph.node(a).attrs != graph.node(b).attrs) return false;
  llvm::ArrayRef<NodeId> xs = graph.operands(a), ys = graph.operands(b);
  return std::equal(xs.begin(), xs.end(), ys.begin(), ys.end(),
                    [&](NodeId x, NodeId y) { return same_term(graph, x, y); });
}

void add_to(NodeValues& to, const NodeValues& more) {
  for (size_t i = 0; i < to.size(); ++i) to[i] += more[i];
}

class Bound {
public:
  Bound(const RuleErrorCase& at, NodeId root)
      : graph_(at.graph), unit_(unit_roundoff(at.dtype)), underflow_(half_smallest(at.dtype)),
        needed_(root.index + 1), sizes_(root.index + 1), errors_(root.index + 1) {
    needed_[root.index] = true;
    llvm::SmallVector<NodeId, 16> nodes;
    for (uint32_t i = root.index + 1; i-- > 0;) {
      if (!needed_[i]) continue;
      for (NodeId operand : graph_.operands({i})) needed_[operand.index] = true;
      if (!graph_.type({i}).is_none()) nodes.push_back({i});
    }
    auto values = evaluate(graph_, at.leaves, nodes);
    assert(values && "a probe gives each leaf a value");
    for (size_t i = 0; i < nodes.size(); ++i)
      sizes_[nodes[i].index] = magnitudes(std::move((*values)[i]));
  }

  std::optional<NodeValues> run() {
    for (uint32_t i = 0; i < needed_.size(); ++i) {
      if (!needed_[i] || graph_.type({i}).is_none()) continue;
      errors_[i].assign(sizes_[i].size(), 0);
      OpKind op = graph_.node({i}).op;
      if (!op_info(op).has(Trait::Leaf) && !propagate({i})) return std::nullopt;
      if (moves(op)) continue;
      for (size_t j = 0; j < sizes_[i].size(); ++j)
        errors_[i][j] += std::max(unit_ * sizes_[i][j], underflow_);
    }
    return errors_.back();
  }

private:
  NodeId operand(NodeId id, size_t i) const { return graph_.operands(id)[i]; }
  const NodeValues& size(NodeId id, size_t i) const { return sizes_[operand(id, i).index]; }
  const NodeValues& error(NodeId id, size_t i) const { return errors_[operand(id, i).index]; }
  bool present(NodeId id, size_t i) const { return !graph_.type(operand(id, i)).is_none(); }

  /// Applies the operator `as`, without activation, to these operands. Null operands are absent.
  NodeValues apply(NodeId id, OpKind as, const Arrays& operands) const {
    const Value kNoActivation = Value::of_enum("none");
    llvm::SmallVector<const Value*, 4> attrs;
    for (size_t slot = 0; slot < op_info(as).attrs().size(); ++slot)
      attrs.push_back(op_info(as).attrs()[slot].kind == AttrKind::act ? &kNoActivation
                                                                      : &graph_.attr(id, slot));
    llvm::SmallVector<ConstView<double>, 5> views;
    llvm::SmallVector<llvm::ArrayRef<int64_t>, 5> shapes;
    for (size_t i = 0; i < operands.size(); ++i) {
      shapes.push_back(graph_.type(operand(id, i)).shape);
      views.push_back({operands[i] ? operands[i]->data() : nullptr, shapes.back()});
    }
    NodeValues result(sizes_[id.index].size());
    const TensorType& type = graph_.type(id);
    std::vector<double> scratch(
        static_cast<size_t>(scratch_elements(as, attrs, shapes, type.shape)));
    evaluate_op<double>(as, attrs, views, {result.data(), type.shape}, scratch);
    return result;
  }

  /// Sets the errors of an operator that is linear in all operands together:
  /// the operator applied to the errors.
  bool linear(NodeId id, OpKind as) {
    Arrays operands;
    for (size_t i = 0; i < graph_.operands(id).size(); ++i) operands.push_back(&error(id, i));
    errors_[id.index] = apply(id, as, operands);
    return true;
  }

  /// Sets the errors of x * y and of the terms that are added to it.
  bool bilinear(NodeId id, double slope = 1) {
    OpKind op = graph_.node(id).op;
    Arrays first = {&error(id, 0), &size(id, 1)}, second = {&size(id, 0), &error(id, 1)};
    for (size_t i = 2; i < graph_.operands(id).size(); ++i) {
      first.push_back(present(id, i) ? &error(id, i) : nullptr);
      second.push_back(nullptr);
    }
    NodeValues result = apply(id, op, first);
    add_to(result, apply(id, op, second));
    for (double& x : result) x *= slope;
    errors_[id.index] = std::move(result);
    return true;
  }

  /// Sets one error for all elements.
  bool uniform(NodeId id, double error) {
    errors_[id.index].assign(sizes_[id.index].size(), error);
    return true;
  }

  bool sloped(NodeId id, double slope) {
    errors_[id.index] = error(id, 0);
    for (double& x : errors_[id.index]) x *= slope;
    return true;
  }

  /// Multiplies the error by a slope for each element, which depends on its value.
  bool sloped(NodeId id, llvm::function_ref<double(double)> slope) {
    errors_[id.index] = error(id, 0);
    for (size_t i = 0; i < errors_[id.index].size(); ++i)
      errors_[id.index][i] *= slope(sizes_[id.index][i]);
    return true;
  }

  /// Sets the error (Ex + |x / y| Ey) / |y|.
  bool quotient(NodeId id) {
    double least = *std::min_element(size(id, 1).begin(), size(id, 1).end());
    double ratio = largest(sizes_[id.index]);
    return uniform(id, (largest(error(id, 0)) + ratio * largest(error(id, 1))) / least);
  }

  /// Sets the error of (x - mean) * scale / sqrt(var + eps) + bias.
  bool normalised(NodeId id) {
    const NodeValues& variance = size(id, 4);
    double least = *std::min_element(variance.begin(), variance.end()) + graph_.attr(id, 0).real;
    double factor = largest(size(id, 1)) / std::sqrt(least);
    double apart = largest(size(id, 0)) + largest(size(id, 3));
    double error_of_factor = largest(error(id, 1)) / std::sqrt(least) +
                             factor * largest(error(id, 4)) / (2 * least) + 2 * unit_ * factor;
    return uniform(id, (largest(error(id, 0)) + largest(error(id, 3))) * factor +
                           apart * error_of_factor + largest(error(id, 2)) +
                           2 * unit_ * apart * factor);
  }

  bool selected(NodeId id) {
    errors_[id.index] = apply(id, OpKind::Select, {&size(id, 0), &error(id, 1), &error(id, 2)});
    return true;
  }

  /// The weights sum to 1, and their error is twice that of the scores (as in Softmax).
  bool attention(NodeId id) {
    auto width = static_cast<double>(graph_.type(operand(id, 0)).shape.back());
    auto places = static_cast<double>(graph_.type(operand(id, 1)).shape.back());
    double q = largest(size(id, 0)), keys = largest(size(id, 1)), score = width * q * keys;
    double off = width * (largest(error(id, 0)) * keys + q * largest(error(id, 1)));
    if (present(id, 3)) {
      score += largest(size(id, 3));
      off += largest(error(id, 3));
    }
    double share = 2 * (off + 2 * unit_ * score) + unit_;
    return uniform(id, largest(error(id, 2)) + places * share * largest(size(id, 2)));
  }

  /// Propagates errors through an operator. Returns false if no bound is known.
  bool propagate(NodeId id) {
    OpKind op = graph_.node(id).op;
    if (moves(op)) return linear(id, op);
    switch (op) {
    case OpKind::Add:
    case OpKind::Sub:
    case OpKind::Maximum:
    case OpKind::Minimum: return linear(id, OpKind::Add);
    case OpKind::Neg:
    case OpKind::Abs:
    case OpKind::Relu:
    case OpKind::Relu6:
    case OpKind::Clip:
    case OpKind::Cast: return sloped(id, 1);
    case OpKind::Sigmoid: return sloped(id, 0.25);
    case OpKind::Tanh:
    case OpKind::Softplus: return sloped(id, 1);
    case OpKind::Sqrt: return sloped(id, [](double root) { return 0.5 / root; });
    case OpKind::Rsqrt: return sloped(id, [](double r) { return 0.5 * r * r * r; });
    case OpKind::Erf:
    case OpKind::Gelu: return sloped(id, kSlope);
    case OpKind::Exp: return uniform(id, largest(error(id, 0)) * largest(sizes_[id.index]));
    case OpKind::Softmax: return uniform(id, 2 * largest(error(id, 0)) * largest(sizes_[id.index]));
    case OpKind::Select: return selected(id);
    case OpKind::Attention: return attention(id);
    case OpKind::Mul: return bilinear(id);
    case OpKind::Matmul:
    case OpKind::Conv2d: return bilinear(id, kSlope);
    case OpKind::Div: return quotient(id);
    case OpKind::AvgPool2d:
    case OpKind::MaxPool2d:
    case OpKind::ReduceMean:
    case OpKind::ReduceMax:
    case OpKind::ReduceSum:
    case OpKind::Cumsum: return linear(id, op);
    case OpKind::ReduceMin: return linear(id, OpKind::ReduceMax);
    case OpKind::BatchNorm: return normalised(id);
    case OpKind::NotEqual: // a test for NaN gives the same for all numbers
      return same_term(graph_, operand(id, 0), operand(id, 1)) && uniform(id, 0);
    default: return false;
    }
  }

  const Graph& graph_;
  double unit_, underflow_;
  std::vector<bool> needed_;
  std::vector<NodeValues> sizes_, errors_; // by node: magnitudes, bounds
};

} // namespace

std::optional<NodeValues> left_error_bound(const RuleErrorCase& rule_case, size_t result) {
  return Bound(rule_case, rule_case.left[result]).run();
}

std::optional<double> right_error_in_bounds(const RuleErrorCase& at, ErrorScale scale) {
  double worst = 0;
  for (size_t i = 0; i < at.left.size(); ++i) {
    std::optional<NodeValues> bound = left_error_bound(at, i);
    if (!bound) return std::nullopt;
    auto finite = [](double x) { return std::isfinite(x); };
    if (!llvm::all_of(at.exact[i], finite) || !llvm::all_of(at.left_rounded[i], finite)) continue;
    if (scale == ErrorScale::Largest) bound->assign(bound->size(), largest(*bound));
    for (size_t j = 0; j < bound->size(); ++j) {
      double error = std::abs(at.right_rounded[i][j] - at.exact[i][j]);
      if (error > 0) worst = std::max(worst, error / (*bound)[j]);
    }
  }
  return worst;
}

size_t right_roundings(const RuleErrorCase& at) {
  std::vector<bool> needed(at.graph.size());
  for (NodeId root : at.right) needed[root.index] = true;
  size_t count = 1;
  for (uint32_t i = static_cast<uint32_t>(at.graph.size()); i-- > 0;) {
    if (!needed[i]) continue;
    for (NodeId operand : at.graph.operands({i})) needed[operand.index] = true;
    OpKind op = at.graph.node({i}).op;
    count += !op_info(op).has(Trait::Leaf) && !moves(op);
  }
  return count;
}

} // namespace tg
