#include "compiler/verify/field/bound.h"

#include "compiler/verify/field/point.h"
#include "lang/core/const_math.h"
#include "lang/core/resample.h"
#include "lang/core/semantics/winograd_transforms.h"

#include <algorithm>
#include <cmath>

namespace tg {

namespace {

/// log2 of the largest sum of magnitudes of a row of a transform.
template <size_t columns> double row_bits(const int (&matrix)[Winograd::kMaxTile][columns]) {
  int largest = 1;
  for (const auto& row : matrix) {
    int sum = 0;
    for (int x : row) sum += std::abs(x);
    largest = std::max(largest, sum);
  }
  return std::log2(largest);
}

/// The degrees of nodes so far, their queries, and what several rules ask of a node.
class Degrees {
protected:
  explicit Degrees(const Graph& graph) : graph_(graph), degrees_(graph.size()) {}

  const Degree& of(NodeId id, size_t operand) const {
    return degrees_[graph_.operands(id)[operand].index];
  }
  double elements(NodeId id) const { return static_cast<double>(graph_.type(id).elements()); }

  /// So many queries of this value; the result is a variable.
  Degree query(const Degree& x, double count) {
    queries_ += count;
    query_ = query_.at_least(x.total());
    return Degree::variable();
  }

  /// act(sum of `count` products + bias + residual).
  Degree product(NodeId id, double count, const Value& act) {
    return with_epilogue(id, sum_of(of(id, 0) * of(id, 1), count), act);
  }
  Degree with_epilogue(NodeId id, Degree x, const Value& act) {
    for (size_t operand : {2, 3})
      if (!graph_.type(graph_.operands(id)[operand]).is_none()) x += of(id, operand);
    std::optional<OpKind> op = act_op(parse_act(act.text).value_or(Act::None));
    return op ? pointwise<Degree>(*op, &x) : x;
  }

  /// Returns true for operators that add a random function to their definition for integers
  /// (ir/evaluate.h).
  bool whole_function(NodeId id) const {
    OpKind op = graph_.node(id).op;
    if (op == OpKind::Cast)
      return is_float(graph_.type(id).dtype) &&
             is_integer(graph_.type(graph_.operands(id)[0]).dtype);
    bool own = op == OpKind::Div || op == OpKind::Minimum || op == OpKind::ReduceMin;
    return own && is_integer(graph_.type(id).dtype);
  }

  /// (x - mean) / root * scale + shift, the root of a variance of this degree.
  Degree normalised(const Degree& x, const Degree& mean, const Degree& variance,
                    const Degree& scale, const Degree& shift, double roots, double eps) {
    Degree root = query(variance + Degree::number(eps), roots);
    return (x - mean) / root * scale + shift;
  }

  Degree mean_of(const Degree& x, double count) { return sum_of(x, count) / Degree::number(count); }

  /// A sum of products of operands 0 and 1, and operand 2 where it is given.
  Degree convolution(NodeId id, double terms) const {
    Degree x = sum_of(of(id, 0) * of(id, 1), terms);
    if (!graph_.type(graph_.operands(id)[2]).is_none()) x += of(id, 2);
    return x;
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

  double operand_elements(NodeId id) const {
    double count = 0;
    for (NodeId operand : graph_.operands(id)) count += elements(operand);
    return count;
  }

  /// The size of a tensor along the axis that is the operator's first attribute.
  int64_t along(NodeId id, NodeId of) const {
    return graph_.type(of)[static_cast<size_t>(graph_.attr(id, 0).number)];
  }

  const Graph& graph_;
  std::vector<Degree> degrees_;
  double queries_ = 0, divided_ = 0;
  Size query_, largest_divisor_;
};

/// The rules, as rows of ops.def name them, and the bound of all.
class Bounds : Degrees {
public:
  explicit Bounds(const Graph& graph) : Degrees(graph) {}

  PointBound run(llvm::ArrayRef<NodeId> outputs) {
    std::vector<bool> needed(graph_.size());
    for (NodeId id : outputs) needed[id.index] = true;
    for (uint32_t i = static_cast<uint32_t>(graph_.size()); i-- > 0;)
      if (needed[i])
        for (NodeId operand : graph_.operands({i})) needed[operand.index] = true;
    for (uint32_t i = 0; i < graph_.size(); ++i)
      if (needed[i]) degrees_[i] = counted({i}, degree({i}));
    Size output;
    for (NodeId id : outputs) output = output.at_least(degrees_[id.index].total());
    PointBound bound;
    bound.queries = queries_;
    Size queries = difference(query_), outputs_differ = difference(output);
    bound.query_degree = queries.degree;
    bound.output_degree = outputs_differ.degree;
    bound.bits = std::max(queries.bits, outputs_differ.bits);
    // One more query: of 0, the shared operand of all relus.
    double pairs = (queries_ + 1) * queries_ / 2;
    double miss = pairs * (all_lanes(queries) + 0x1p-128) + all_lanes(outputs_differ);
    double spoilt = divided_ * kFieldLanes * one_prime(largest_divisor_);
    if (!std::isfinite(miss) || !(spoilt < 0.5)) return bound;
    bound.log2_miss = std::min(0.0, std::log2(miss / (1 - spoilt)));
    return bound;
  }

private:
  /// Returns the size of the difference of two values of this size.
  static Size difference(Size each) { return each * 2 + Size{0, 1}; }

  /// A node's value: what its elements were made of is put down here, for all of them.
  Degree counted(NodeId id, Degree x) {
    double count = graph_.type(id).is_none() ? 0 : elements(id);
    queries_ += x.queries * count;
    query_ = query_.at_least(x.query);
    divided_ += x.divided * count;
    largest_divisor_ = largest_divisor_.at_least(x.largest_divisor);
    x.queries = x.divided = 0;
    x.query = x.largest_divisor = {};
    for (DivisorUse& use : x.divisors) {
      if (use.fresh) use.at_most = std::min(use.at_most, count);
      use.fresh = false;
    }
    x.origin = scramble(id.index + 1);
    x.elements = count;
    return x;
  }

  /// The random function of a softmax row is evaluated once per score; its members are summed with
  /// the values.
  Degree attention(NodeId id) {
    const TensorType &q = graph_.type(graph_.operands(id)[0]), &result = graph_.type(id);
    auto given = [&](size_t i) { return !graph_.type(graph_.operands(id)[i]).is_none(); };
    auto places = static_cast<double>(graph_.type(graph_.operands(id)[1]).shape.back());
    double scores = elements(id) / static_cast<double>(result.shape.back()) * places;
    Degree score = sum_of(of(id, 0) * of(id, 1), static_cast<double>(q.shape.back()));
    if (given(3)) score += of(id, 3);
    if (given(4)) {
      Degree chosen[] = {of(id, 4), score, Degree::number(graph_.attr(id, 0).real)};
      score = pointwise<Degree>(OpKind::Select, chosen);
    }
    return sum_of(query(score, 3 * scores) * of(id, 2), places);
  }

  /// An operator element by element: what its definition says of one element.
  Degree one_element(NodeId id) {
    llvm::SmallVector<Degree, 8> values;
    for (size_t i = 0; i < graph_.operands(id).size(); ++i) values.push_back(of(id, i));
    llvm::SmallVector<ConstView<Degree>, 8> operands;
    for (Degree& value : values) operands.push_back({&value, {}});
    llvm::SmallVector<const Value*, 4> attrs = graph_.attr_values(id);
    OpKind op = graph_.node(id).op;
    llvm::SmallVector<llvm::ArrayRef<int64_t>, 8> shapes(values.size());
    std::vector<Degree> scratch(static_cast<size_t>(scratch_elements(op, attrs, shapes, {})));
    Degree result;
    evaluate_op<Degree>(op, attrs, operands, {&result, {}}, scratch);
    if (whole_function(id)) // of both operands
      result = Degree::asked(Math<Degree>::kind(OpKind::Floor), result, 4);
    return result;
  }

  Degree layer_norm(NodeId id) {
    double count = static_cast<double>(graph_.type(id).shape.back());
    Degree x = of(id, 0), mean = mean_of(x, count), distance = x - mean;
    return normalised(x, mean, mean_of(distance * distance, count), of(id, 1), of(id, 2),
                      elements(id) / count, graph_.attr(id, 0).real);
  }

  /// A window at the border may have fewer elements: the mean is divided by one of so many numbers.
  Degree avg_pool2d(NodeId id) {
    Degree counts = Degree::number(window(id));
    counts.origin = scramble(~static_cast<uint64_t>(window(id)));
    counts.elements = window(id);
    return sum_of(of(id, 0), window(id)) / counts;
  }

  /// A sum of as many elements as there are taps, each times a weight of every axis.
  Degree resize(NodeId id) {
    Resize resize(graph_.attr_values(id), graph_.type(graph_.operands(id)[0]).shape);
    Degree term = of(id, 0);
    double count = 1;
    for (const ResampledAxis& axis : resize.axes) {
      AxisTaps taps = axis_taps(resize.how, axis);
      if (taps.is_selection()) continue;
      Degree weight = Degree::constant();
      for (double each : taps.weights) weight = larger(weight, Degree::number(each));
      term = term * weight;
      count *= static_cast<double>(taps.most());
    }
    return count > 1 ? sum_of(term, count) : term;
  }

  Degree winograd_weight(NodeId id) {
    const Winograd& f = winograd_of_results(graph_.attr(id, 0).number);
    Degree x = of(id, 0);
    x.excess.bits += 2 * row_bits(f.weights);
    return sum_of(x, 9) / Degree::number(static_cast<double>(f.denominator) * f.denominator);
  }

  /// u[products, O, I] and tiles of as many inputs, transformed before and behind.
  Degree winograd_conv2d(NodeId id) {
    const TensorType& u = graph_.type(graph_.operands(id)[1]);
    const Winograd& f = winograd_of_products(u[0]);
    Degree x = of(id, 0);
    x.excess.bits += 2 * row_bits(f.inputs) + 2 * row_bits(f.outputs);
    double denominator = static_cast<double>(f.inputs_denominator) * f.outputs_denominator;
    Degree sum = sum_of(x * of(id, 1), static_cast<double>(u[2] * u[0] * u[0])) /
                 Degree::number(denominator * denominator);
    return with_epilogue(id, std::move(sum), graph_.attr(id, 1));
  }

  Degree reduce_extreme(NodeId id) {
    Degree x = larger(query(of(id, 0), elements(id) * (reads(id) + 1)), of(id, 0));
    return whole_function(id) ? query(x, elements(id)) : x;
  }

  /// Each slice gets a share of each update; the share is a function of the update's index and the
  /// position. Updates are applied one after the other.
  Degree scatter(NodeId id) {
    NodeId indices = graph_.operands(id)[1];
    double count = elements(indices);
    Degree share = query(of(id, 1), count), x = of(id, 0), update = of(id, 2);
    switch (*parse_scatter_reduce(graph_.attr(id, 1).text)) {
    case ScatterReduce::Add: return x + sum_of(share * update, count);
    case ScatterReduce::Mul: {
      Degree one = Degree::number(1), factor = one + share * (update - one);
      return x * product_of(factor, count);
    }
    default: break;
    }
    Degree joined = larger(larger(x, update), share);
    joined.unit = false;
    joined.excess.degree += count; // each update multiplies by 1 - share and adds a share
    joined.excess.bits += 2 * count;
    if (graph_.attr(id, 1).text != "none") (void)query(joined, 3 * count * elements(id));
    return joined;
  }

  /// The literals of a constant: the largest magnitude and the finest fraction of all.
  Degree literals(NodeId id) {
    Degree x = Degree::constant();
    if (graph_.attrs(id).empty()) return x; // `none`
    for (double real : graph_.attr(id, 0).reals) x = larger(x, Degree::number(real));
    for (int64_t whole : graph_.attr(id, 0).ints)
      x = larger(x, Degree::number(static_cast<double>(whole)));
    return x;
  }

  Degree moved(NodeId id) {
    Degree x = of(id, 0);
    for (size_t i = 1; i < graph_.operands(id).size(); ++i) x = larger(x, of(id, i));
    return x;
  }

  /// A move, and a literal.
  Degree pad(NodeId id) {
    return larger(of(id, 0), Degree::number(number_of(graph_.attr(id, 2))->as_real()));
  }

  Degree variable(NodeId) { return Degree::variable(); }
  Degree iota(NodeId id) { return Degree::number(static_cast<double>(graph_.type(id).elements())); }

  Degree matmul(NodeId id) {
    return product(id, static_cast<double>(graph_.type(graph_.operands(id)[0]).shape.back()),
                   graph_.attr(id, 0));
  }
  Degree conv2d(NodeId id) { return product(id, taps(id), graph_.attr(id, 3)); }
  Degree conv3d(NodeId id) { return convolution(id, taps(id)); }
  /// A sum over a group's channels, as if a place saw all of its windows.
  Degree conv_transpose2d(NodeId id) { return convolution(id, elements(graph_.operands(id)[1])); }

  Degree max_pool2d(NodeId id) {
    return larger(query(of(id, 0), elements(id) * (window(id) + 1)), of(id, 0));
  }
  Degree softmax(NodeId id) { return query(of(id, 0), 3 * elements(id)); }
  Degree batch_norm(NodeId id) {
    return normalised(of(id, 0), of(id, 3), of(id, 4), of(id, 1), of(id, 2),
                      elements(graph_.operands(id)[4]), graph_.attr(id, 0).real);
  }

  Degree reduce_sum(NodeId id) { return sum_of(of(id, 0), reads(id)); }
  Degree reduce_mean(NodeId id) { return mean_of(of(id, 0), reads(id)); }
  Degree reduce_prod(NodeId id) { return product_of(of(id, 0), reads(id)); }
  Degree cumsum(NodeId id) { return sum_of(of(id, 0), static_cast<double>(along(id, id))); }

  Degree ranking(NodeId id) { return query(of(id, 0), elements(id)); }
  Degree suppression(NodeId id) { return query(moved(id), elements(id)); }
  /// All slices, each times a function of the index.
  Degree gather(NodeId id) {
    return sum_of(query(of(id, 1), elements(graph_.operands(id)[1])) * of(id, 0),
                  static_cast<double>(along(id, graph_.operands(id)[0])));
  }
  /// All elements become one number, of which each result is a function.
  Degree external(NodeId id) { return query(moved(id), elements(id) + operand_elements(id)); }

  Degree degree(NodeId id) {
    static constexpr Degree (Bounds::*kOf[])(NodeId) = {
#define TG_OP(kind, name, operands, attrs, shape, traits, work, degree, ...) &Bounds::degree,
#include "lang/core/ops.def"
    };
    return (this->*kOf[static_cast<size_t>(graph_.node(id).op)])(id);
  }
};

} // namespace

double one_prime(Size size) {
  constexpr double kMostOfOneValue = 1.001 / kSmallestPrime; // of 64 bits, scaled to a prime
  double primes = std::exp2(kLog2Primes) * (kPrimeBits - 1);
  return std::min(1.0, 2 * size.degree * kMostOfOneValue + size.bits / primes);
}

double all_lanes(Size size) { return std::pow(one_prime(size), kFieldLanes); }

PointBound bound_of(const Graph& graph, llvm::ArrayRef<NodeId> outputs) {
  return Bounds(graph).run(outputs);
}

size_t points_for(const PointBound& bound, double log2_target, size_t least) {
  if (bound.log2_miss >= 0) return least;
  return std::max(least, static_cast<size_t>(std::floor(log2_target / bound.log2_miss)) + 1);
}

} // namespace tg
