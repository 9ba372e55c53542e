#include "compiler/equiv/bound.h"

#include "compiler/equiv/field.h"
#include "lang/core/fused_body.h"
#include "lang/core/semantics.h"

#include <algorithm>
#include <cmath>

namespace tg {

namespace {

/// Upper bounds of the degrees of a numerator and a denominator. As floating-point numbers: deep
/// quotients may leave every integer, and then the bound is useless but not wrong.
struct Degree {
  double above = 0, below = 0;
  double total() const { return above + below; }
};

constexpr Degree kConstant{0, 0}, kVariable{1, 0};

Degree plus(Degree a, Degree b) {
  return {std::max(a.above + b.below, b.above + a.below), a.below + b.below};
}
Degree times(Degree a, Degree b) { return {a.above + b.above, a.below + b.below}; }
Degree over(Degree a, Degree b) { return {a.above + b.below, a.below + b.above}; }
/// A sum of so many terms of this degree, with unrelated denominators.
Degree sum(Degree term, double count) {
  return {term.above + (count - 1) * term.below, count * term.below};
}
Degree larger(Degree a, Degree b) {
  return {std::max(a.above, b.above), std::max(a.below, b.below)};
}

class Bounds {
public:
  explicit Bounds(const Graph& graph) : graph_(graph), degrees_(graph.size()) {}

  PointBound run(llvm::ArrayRef<NodeId> outputs) {
    std::vector<bool> needed(graph_.size());
    for (NodeId id : outputs) needed[id.index] = true;
    for (uint32_t i = static_cast<uint32_t>(graph_.size()); i-- > 0;)
      if (needed[i])
        for (NodeId operand : graph_.operands({i})) needed[operand.index] = true;
    for (uint32_t i = 0; i < graph_.size(); ++i)
      if (needed[i]) degrees_[i] = degree({i});
    PointBound bound;
    for (NodeId id : outputs)
      bound.output_degree = std::max(bound.output_degree, 2 * degrees_[id.index].total());
    bound.queries = queries_;
    bound.query_degree = 2 * query_degree_; // of the difference of two
    double miss = queries_ * (queries_ - 1) / 2 * bound.query_degree + bound.output_degree;
    double chance = std::max(miss, 1.0) / static_cast<double>(kFieldPrime) + same_place_;
    bound.log2_miss = std::min(0.0, std::log2(chance));
    return bound;
  }

private:
  Degree of(NodeId id, size_t operand) const {
    return degrees_[graph_.operands(id)[operand].index];
  }
  double elements(NodeId id) const { return static_cast<double>(graph_.type(id).elements()); }

  /// So many places are chosen among `size`. Two that are different may fall on one, which no
  /// prime makes unlikely.
  void choose(double count, double size) { same_place_ += count * (count - 1) / 2 / size; }

  /// So many queries of this degree; the result is a variable.
  Degree query(Degree degree, double count) {
    queries_ += count;
    query_degree_ = std::max(query_degree_, degree.total());
    return kVariable;
  }

  Degree activated(Degree x, const Value& act, double count) {
    return parse_act(act.text).value_or(Act::None) == Act::None ? x : query(x, count);
  }

  /// act(sum of `count` products + bias + residual).
  Degree product(NodeId id, double count, const Value& act) {
    Degree x = sum(times(of(id, 0), of(id, 1)), count);
    for (size_t operand : {2, 3})
      if (!graph_.type(graph_.operands(id)[operand]).is_none()) x = plus(x, of(id, operand));
    return activated(x, act, elements(id));
  }

  /// A pointwise operator at each of `count` elements.
  Degree pointwise(OpKind op, Degree a, Degree b, double count) {
    switch (op) {
    case OpKind::Add:
    case OpKind::Sub: return plus(a, b);
    case OpKind::Mul: return times(a, b);
    case OpKind::Div: return over(a, b);
    case OpKind::Identity:
    case OpKind::Neg: return a;
    case OpKind::Maximum: return query(larger(a, b), 3 * count); // two members, one maximum
    case OpKind::Minimum: return query(larger(a, b), 3 * count);
    case OpKind::Pow:
    case OpKind::Mod:
    case OpKind::Less:
    case OpKind::LessEqual:
    case OpKind::Greater:
    case OpKind::GreaterEqual:
    case OpKind::Equal:
    case OpKind::NotEqual: return query(larger(a, b), 3 * count);
    case OpKind::LogicalNot: return a;
    case OpKind::LogicalAnd: return times(a, b);
    case OpKind::LogicalOr: return plus(plus(a, b), times(a, b));
    case OpKind::Relu:
    case OpKind::Abs: return query(a, 3 * count);
    case OpKind::Relu6:
    case OpKind::Clip: // a maximum, and a minimum of that
      query(a, 3 * count);
      return query(kVariable, 3 * count);
    case OpKind::Rsqrt: return over(kConstant, query(a, count));
    case OpKind::Tanh:
    case OpKind::Erf: return query(a, 2 * count); // x stands for -x as well
    default: return query(a, count);
    }
  }

  /// c * x + (1 - c) * y.
  static Degree select(Degree condition, Degree x, Degree y) {
    return plus(times(condition, x), times(condition, y));
  }

  Degree fused(NodeId id) {
    std::optional<FusedBody> body = parse_fused_body(graph_.attr(id, 0).text);
    llvm::SmallVector<Degree, 8> stack;
    for (const FusedInstr& instr : body->code) {
      if (instr.is_operand) {
        stack.push_back(of(id, instr.operand));
        continue;
      }
      Degree second = stack.back();
      if (op_info(instr.op).operand_count == 2) stack.pop_back();
      if (instr.op == OpKind::Select) {
        Degree third = second;
        stack.pop_back();
        second = stack.pop_back_val();
        stack.back() = select(stack.back(), second, third);
        continue;
      }
      stack.back() = pointwise(instr.op, stack.back(), second, elements(id));
    }
    return stack.back();
  }

  /// (x - mean) / root * scale + shift, the root of a variance of this degree.
  Degree normalised(Degree x, Degree mean, Degree variance, Degree scale, Degree shift,
                    double roots) {
    query(variance, roots);
    return plus(times(times(plus(x, mean), kVariable), scale), shift);
  }

  Degree layer_norm(NodeId id) {
    double count = static_cast<double>(graph_.type(id).shape.back());
    Degree x = of(id, 0), mean = sum(x, count), distance = plus(x, mean);
    return normalised(x, mean, sum(times(distance, distance), count), of(id, 1), of(id, 2),
                      elements(id) / count);
  }

  /// Elements of operand 0 that one element of the result reads.
  double reads(NodeId id) const { return elements(graph_.operands(id)[0]) / elements(id); }

  double window(NodeId id) const {
    llvm::ArrayRef<int64_t> kernel = graph_.attr(id, 0).ints;
    return static_cast<double>(kernel[0] * kernel[1]);
  }

  double taps(NodeId id) const {
    const TensorType& w = graph_.type(graph_.operands(id)[1]);
    return static_cast<double>(w.elements() / w[0]);
  }

  Degree all_operands(NodeId id) const {
    Degree x = kConstant;
    for (size_t i = 0; i < graph_.operands(id).size(); ++i) x = larger(x, of(id, i));
    return x;
  }

  double operand_elements(NodeId id) const {
    double count = 0;
    for (NodeId operand : graph_.operands(id)) count += elements(operand);
    return count;
  }

  // No default: a new operator says here of what degree it is.
  // NOLINTNEXTLINE(readability-function-size): a flat switch, one row an operator.
  Degree degree(NodeId id) {
    OpKind op = graph_.node(id).op;
    size_t operands = graph_.operands(id).size();
    switch (op) {
    case OpKind::None:
    case OpKind::Constant:
    case OpKind::Split: return kConstant;
    case OpKind::Input:
    case OpKind::Weight: return kVariable;
    case OpKind::Matmul:
      return product(id, static_cast<double>(graph_.type(graph_.operands(id)[0]).shape.back()),
                     graph_.attr(id, 0));
    case OpKind::Conv2d: return product(id, taps(id), graph_.attr(id, 3));
    case OpKind::WinogradWeight: return sum(of(id, 0), 9);
    case OpKind::WinogradConv2d: { // u[products, O, I] and tiles of as many inputs
      const TensorType& u = graph_.type(graph_.operands(id)[1]);
      return product(id, static_cast<double>(u[2] * u[0] * u[0]), graph_.attr(id, 1));
    }
    case OpKind::MaxPool2d: return query(of(id, 0), elements(id) * (window(id) + 1));
    case OpKind::AvgPool2d: return sum(of(id, 0), window(id));
    case OpKind::Softmax: return query(of(id, 0), 3 * elements(id));
    case OpKind::BatchNorm:
      return normalised(of(id, 0), of(id, 3), of(id, 4), of(id, 1), of(id, 2),
                        elements(graph_.operands(id)[4]));
    case OpKind::LayerNorm: return layer_norm(id);
    case OpKind::ReduceSum:
    case OpKind::ReduceMean: return sum(of(id, 0), reads(id));
    case OpKind::ReduceMax: return query(of(id, 0), elements(id) * (reads(id) + 1));
    case OpKind::Concat:
    case OpKind::Slice:
    case OpKind::Reshape:
    case OpKind::Transpose:
    case OpKind::Pad:
    case OpKind::Enlarge:
    case OpKind::MergeGconv: return all_operands(id);
    case OpKind::FusedMap: return fused(id);
    case OpKind::Extern: // all elements are hashed into one number, of which each result is a function
      return query(all_operands(id), elements(id) + operand_elements(id));
    case OpKind::Add:
    case OpKind::Sub:
    case OpKind::Mul:
    case OpKind::Div:
    case OpKind::Maximum:
    case OpKind::Identity:
    case OpKind::Neg:
    case OpKind::Relu:
    case OpKind::Sigmoid:
    case OpKind::Tanh:
    case OpKind::Gelu:
    case OpKind::Exp:
    case OpKind::Sqrt:
    case OpKind::Erf:
    case OpKind::Minimum:
    case OpKind::Pow:
    case OpKind::Mod:
    case OpKind::Less:
    case OpKind::LessEqual:
    case OpKind::Greater:
    case OpKind::GreaterEqual:
    case OpKind::Equal:
    case OpKind::NotEqual:
    case OpKind::LogicalAnd:
    case OpKind::LogicalOr:
    case OpKind::LogicalNot:
    case OpKind::Relu6:
    case OpKind::Abs:
    case OpKind::Sign:
    case OpKind::Floor:
    case OpKind::Log:
    case OpKind::Sin:
    case OpKind::Cos:
    case OpKind::Rsqrt:
    case OpKind::Clip: return pointwise(op, of(id, 0), of(id, operands - 1), elements(id));
    case OpKind::Select: return select(of(id, 0), of(id, 1), of(id, 2));
    case OpKind::Cast:
      return is_float(graph_.type(id).dtype) ? of(id, 0) : query(of(id, 0), elements(id));
    case OpKind::Cumsum: {
      const TensorType& x = graph_.type(id);
      return sum(of(id, 0), static_cast<double>(x[static_cast<size_t>(graph_.attr(id, 0).number)]));
    }
    case OpKind::Argmax:
      choose(elements(id), reads(id));
      return query(of(id, 0), elements(graph_.operands(id)[0]));
    case OpKind::Gather: // which element is read is a function of the index
      query(of(id, 1), elements(graph_.operands(id)[1]));
      choose(elements(graph_.operands(id)[1]),
             static_cast<double>(graph_.type(
                 graph_.operands(id)[0])[static_cast<size_t>(graph_.attr(id, 0).number)]));
      return larger(of(id, 0), kVariable);
    case OpKind::Iota: return kConstant;
    }
    return kConstant;
  }

  const Graph& graph_;
  std::vector<Degree> degrees_;
  double queries_ = 0, query_degree_ = 0;
  double same_place_ = 0; // chance that two indices agree by accident
};

} // namespace

PointBound bound_of(const Graph& graph, llvm::ArrayRef<NodeId> outputs) {
  return Bounds(graph).run(outputs);
}

size_t points_for(const PointBound& bound, double log2_target, size_t least) {
  if (bound.log2_miss >= 0) return least;
  return std::max(least, static_cast<size_t>(std::floor(log2_target / bound.log2_miss)) + 1);
}

} // namespace tg
