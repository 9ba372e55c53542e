#include "compiler/equiv/bound.h"

#include "compiler/equiv/degree.h"
#include "compiler/equiv/field.h"

#include <algorithm>
#include <cmath>

namespace tg {

namespace {

/// How the degree of an operator's result follows from those of its operands.
enum class Growth : uint8_t {
  Unknown,    // of no operator: a row is missing below
  Definition, // element by element: what the definition says of one element
  Move,       // the largest of the operands
  Constant,
  Variable,
  Matmul,
  Conv2d,
  WinogradWeight,
  WinogradConv2d,
  MaxPool2d,
  AvgPool2d,
  Softmax,
  BatchNorm,
  LayerNorm,
  Sum,
  Max,
  Extern,
  Cumsum,
  Argmax,
  Gather,
};

/// Of operators that the table does not say it of.
constexpr Growth structured_growth(OpKind op) {
  switch (op) {
  case OpKind::None:
  case OpKind::Constant:
  case OpKind::Iota:
  case OpKind::Split: return Growth::Constant; // split: sugar, in no graph
  case OpKind::Input:
  case OpKind::Weight: return Growth::Variable;
  case OpKind::Matmul: return Growth::Matmul;
  case OpKind::Conv2d: return Growth::Conv2d;
  case OpKind::WinogradWeight: return Growth::WinogradWeight;
  case OpKind::WinogradConv2d: return Growth::WinogradConv2d;
  case OpKind::MaxPool2d: return Growth::MaxPool2d;
  case OpKind::AvgPool2d: return Growth::AvgPool2d;
  case OpKind::Softmax: return Growth::Softmax;
  case OpKind::BatchNorm: return Growth::BatchNorm;
  case OpKind::LayerNorm: return Growth::LayerNorm;
  case OpKind::ReduceSum:
  case OpKind::ReduceMean: return Growth::Sum;
  case OpKind::ReduceMax: return Growth::Max;
  case OpKind::Extern: return Growth::Extern;
  case OpKind::Clip:
  case OpKind::Cast: return Growth::Definition;
  case OpKind::Cumsum: return Growth::Cumsum;
  case OpKind::Argmax: return Growth::Argmax;
  case OpKind::Gather: return Growth::Gather;
  default: return Growth::Unknown;
  }
}

constexpr Growth growth_of(OpKind op, uint32_t traits) {
  if (traits & (Trait::Pointwise | Trait::Fused)) return Growth::Definition;
  if (traits & Trait::Layout) return Growth::Move;
  return structured_growth(op);
}

constexpr Growth kGrowth[] = {
#define TG_OP(kind, name, operands, attributes, shape, traits, work, doc)                          \
  growth_of(OpKind::kind, traits),
#include "lang/core/ops.def"
};

constexpr bool every_operator_has_one() {
  for (Growth growth : kGrowth)
    if (growth == Growth::Unknown) return false;
  return std::size(kGrowth) == kOpCount;
}
static_assert(
    every_operator_has_one(),
    "an operator that is neither element by element nor a move needs its degree: a row in "
    "structured_growth()");

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
    // One query more than these: of 0, the member of maxima that all relus share.
    double pairs = (queries_ + 1) * queries_ / 2;
    double miss = pairs * bound.query_degree + bound.output_degree;
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
    return Degree::variable();
  }

  /// What an element was made of, `count` times: its queries are put down here.
  Degree counted(Degree x, double count) {
    queries_ += x.queries * count;
    query_degree_ = std::max(query_degree_, x.query_degree);
    return {x.above, x.below};
  }

  /// act(sum of `count` products + bias + residual).
  Degree product(NodeId id, double count, const Value& act) {
    Degree x = sum_of(of(id, 0) * of(id, 1), count);
    for (size_t operand : {2, 3})
      if (!graph_.type(graph_.operands(id)[operand]).is_none()) x += of(id, operand);
    std::optional<OpKind> op = act_op(parse_act(act.text).value_or(Act::None));
    return op ? counted(pointwise<Degree>(*op, &x), elements(id)) : x;
  }

  /// An operator element by element: what its definition says of one element.
  Degree one_element(NodeId id) {
    llvm::SmallVector<Degree, 8> values;
    for (size_t i = 0; i < graph_.operands(id).size(); ++i) values.push_back(of(id, i));
    llvm::SmallVector<ConstView<Degree>, 8> operands;
    for (Degree& value : values) operands.push_back({&value, {}});
    llvm::SmallVector<const Value*, 4> attrs;
    for (size_t slot = 0; slot < graph_.attrs(id).size(); ++slot)
      attrs.push_back(&graph_.attr(id, slot));
    OpKind op = graph_.node(id).op;
    llvm::SmallVector<llvm::ArrayRef<int64_t>, 8> shapes(values.size());
    std::vector<Degree> scratch(static_cast<size_t>(scratch_elements(op, attrs, shapes, {})));
    Degree result;
    evaluate_op<Degree>(op, attrs, operands, {&result, {}}, scratch);
    if (op == OpKind::Div && is_integer(graph_.type(id).dtype)) result = Degree::query(result, 1);
    return counted(result, elements(id));
  }

  /// (x - mean) / root * scale + shift, the root of a variance of this degree.
  Degree normalised(Degree x, Degree mean, Degree variance, Degree scale, Degree shift,
                    double roots) {
    query(variance, roots);
    return (x - mean) * Degree::variable() * scale + shift;
  }

  Degree layer_norm(NodeId id) {
    double count = static_cast<double>(graph_.type(id).shape.back());
    Degree x = of(id, 0), mean = sum_of(x, count), distance = x - mean;
    return normalised(x, mean, sum_of(distance * distance, count), of(id, 1), of(id, 2),
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
    int64_t of_one_output = w.elements() / w[0];
    return static_cast<double>(of_one_output);
  }

  Degree all_operands(NodeId id) const {
    Degree x = Degree::constant();
    for (size_t i = 0; i < graph_.operands(id).size(); ++i) x = larger(x, of(id, i));
    return x;
  }

  double operand_elements(NodeId id) const {
    double count = 0;
    for (NodeId operand : graph_.operands(id)) count += elements(operand);
    return count;
  }

  // NOLINTNEXTLINE(readability-function-size): a flat switch, one row a kind of growth.
  Degree degree(NodeId id) {
    switch (kGrowth[static_cast<size_t>(graph_.node(id).op)]) {
    case Growth::Unknown: break;
    case Growth::Definition: return one_element(id);
    case Growth::Move: return all_operands(id);
    case Growth::Constant: return Degree::constant();
    case Growth::Variable: return Degree::variable();
    case Growth::Matmul:
      return product(id, static_cast<double>(graph_.type(graph_.operands(id)[0]).shape.back()),
                     graph_.attr(id, 0));
    case Growth::Conv2d: return product(id, taps(id), graph_.attr(id, 3));
    case Growth::WinogradWeight: return sum_of(of(id, 0), 9);
    case Growth::WinogradConv2d: { // u[products, O, I] and tiles of as many inputs
      const TensorType& u = graph_.type(graph_.operands(id)[1]);
      return product(id, static_cast<double>(u[2] * u[0] * u[0]), graph_.attr(id, 1));
    }
    case Growth::MaxPool2d: return query(of(id, 0), elements(id) * (window(id) + 1));
    case Growth::AvgPool2d: return sum_of(of(id, 0), window(id));
    case Growth::Softmax: return query(of(id, 0), 3 * elements(id));
    case Growth::BatchNorm:
      return normalised(of(id, 0), of(id, 3), of(id, 4), of(id, 1), of(id, 2),
                        elements(graph_.operands(id)[4]));
    case Growth::LayerNorm: return layer_norm(id);
    case Growth::Sum: return sum_of(of(id, 0), reads(id));
    case Growth::Max: return query(of(id, 0), elements(id) * (reads(id) + 1));
    case Growth::Extern: // all elements become one number, of which each result is a function
      return query(all_operands(id), elements(id) + operand_elements(id));
    case Growth::Cumsum: return sum_of(of(id, 0), static_cast<double>(along(id, id)));
    case Growth::Argmax:
      choose(elements(id), reads(id));
      return query(of(id, 0), elements(graph_.operands(id)[0]));
    case Growth::Gather: // which element is read is a function of the index
      query(of(id, 1), elements(graph_.operands(id)[1]));
      choose(elements(graph_.operands(id)[1]),
             static_cast<double>(along(id, graph_.operands(id)[0])));
      return larger(of(id, 0), Degree::variable());
    }
    assert(false && "every operator has a growth");
    return Degree::constant();
  }

  /// The size of a tensor along the axis that is the operator's first attribute.
  int64_t along(NodeId id, NodeId of) const {
    return graph_.type(of)[static_cast<size_t>(graph_.attr(id, 0).number)];
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
