// Random small networks: every operator, values of rank 1 to 4 with many uses,
// computations on weights, views, several outputs. Values stay moderate (no poles),
// so that backends can be compared within a tolerance. Operators with discontinuities (floor,
// comparisons, argmax) have exact operands: inputs that were only moved, selected or rounded,
// and are equal in all backends.
#pragma once

#include "compiler/ir/graph.h"
#include "lang/core/formula.h"
#include "lang/core/support/random.h"

namespace tg::test {

/// All operators in the table, or those for which GPU kernels are generated.
enum class Operators : uint8_t { All, Generated };

class RandomGraph {
public:
  RandomGraph(uint64_t seed, int operators, Operators which = Operators::All)
      : which_(which), random_(seed, "network") {
    for (Shape shape : {Shape{1, 4, 9, 8}, Shape{2, 6, 5, 5}, Shape{6, 10}, Shape{3, 4, 10}})
      nodes_.push_back(graph.input("x" + std::to_string(nodes_.size()), f32(shape)));
    exact_ = nodes_;
    while (static_cast<int>(graph.size()) < 2 * operators && ++attempts_ < 400) {
      grow();
      if (below(6) == 0) graph.add_output(name(), any()); // an output stays live to the end
    }
    for (size_t i = 0; i < 3; ++i) graph.add_output(name(), nodes_[nodes_.size() - 1 - i]);
  }

  Graph graph{std::make_shared<Symbols>(), "random"};

private:
  size_t below(size_t n) { return static_cast<size_t>(random_.bits(draws_++) % n); }
  int64_t in(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(below(static_cast<size_t>(high - low + 1)));
  }
  bool coin() { return below(2) == 0; }
  /// Prefers later nodes, so that graphs become deep.
  NodeId any() { return nodes_[std::max(below(nodes_.size()), below(nodes_.size()))]; }
  const TensorType& type(NodeId id) const { return graph.type(id); }

  NodeId add(OpKind op, std::vector<NodeId> operands, std::vector<Value> attrs = {}) {
    llvm::SmallVector<ValueId, 4> ids;
    const OpInfo& info = op_info(op);
    for (size_t i = 0; i < info.attr_count; ++i)
      ids.push_back(
          graph.symbols().value(i < attrs.size() ? attrs[i] : default_value(info.attrs()[i])));
    NodeId id = graph.add(op, ids, operands);
    bool tame = id.valid() && type(id).dtype == DType::F32 && type(id).elements() <= 8192;
    if (tame) nodes_.push_back(id);
    return id;
  }

  /// Adds a node that has the same bits in every backend.
  NodeId add_exact(OpKind op, std::vector<NodeId> operands, std::vector<Value> attrs = {}) {
    NodeId id = add(op, std::move(operands), std::move(attrs));
    if (type(id).dtype == DType::F32) exact_.push_back(id);
    return id;
  }
  NodeId exact() { return exact_[below(exact_.size())]; }
  NodeId cast(NodeId x, const char* dtype) {
    return add_exact(OpKind::Cast, {x}, {Value::of_enum(dtype)});
  }
  NodeId number(double value, DType dtype = DType::F32) {
    return graph.constant({value}, {dtype, {}});
  }

  NodeId weight(Shape shape, const char* init = "") {
    NodeId w = graph.weight("w" + std::to_string(graph.size()), {DType::F32, shape}, init);
    if (coin() || *init) return w;
    return add(OpKind::Mul, {w, graph.constant({0.5}, f32({}))}); // at load
  }

  Value random_act() { return Value::of_enum(act_name(static_cast<Act>(below(6)))); }

  NodeId maybe_same_type(const TensorType& wanted) {
    for (size_t i = nodes_.size(); i-- > 0;)
      if (type(nodes_[i]) == wanted && coin()) return nodes_[i];
    return graph.none();
  }

  void grow() {
    NodeId x = any();
    switch (below(which_ == Operators::All ? 18 : 16)) {
    case 0: return product(x);
    case 1: return convolution(x);
    case 2: return window(x);
    case 3: return pair(x);
    case 4: return single(x);
    case 5: return row(x);
    case 6: return reduction(x);
    case 7: return piece(x);
    case 8: return layout(x);
    case 9: return filtering(x);
    case 10: return function(x);
    case 11: return decision();
    case 12: return rounding();
    case 13: return index(x);
    case 14: return by_formula(x);
    case 15: return fused(x);
    case 16: return other_convolution(x);
    default: return ranking(x);
    }
  }

  void product(NodeId x) {
    if (type(x).rank() < 2) return;
    int64_t k = type(x).shape.back(), n = in(1, 20);
    NodeId y = weight({k, n}), bias = coin() ? weight({n}) : graph.none();
    NodeId plain = add(OpKind::Matmul, {x, y, graph.none(), graph.none()});
    add(OpKind::Matmul, {x, y, bias, maybe_same_type(type(plain))}, {random_act()});
    std::vector<int64_t> perm; // and with its own transpose
    for (int64_t i = 0; i < type(x).rank(); ++i) perm.push_back(i);
    std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
    NodeId turned = add(OpKind::Transpose, {x}, {Value::of_ints(perm)});
    // Bounded: with squares of squares, a softmax would lose all digits of float32.
    add(OpKind::Softmax,
        {add(OpKind::Matmul, {x, turned, graph.none(), graph.none()}, {Value::of_enum("tanh")})});
    if (which_ == Operators::All) attention(x, perm);
  }

  /// Attention of x over itself, with scores of at most its width. `perm` exchanges the last two
  /// axes.
  void attention(NodeId x, llvm::ArrayRef<int64_t> perm) {
    NodeId q = add(OpKind::Tanh, {x});
    NodeId keys = add(OpKind::Transpose, {q}, {Value::of_ints(perm)});
    int64_t places = type(x).shape.end()[-2];
    NodeId mask = coin() ? weight({places}) : graph.none(), seen = graph.none();
    if (coin()) seen = add(OpKind::Less, {weight({places, places}), number(0.2)});
    add(OpKind::Attention, {q, keys, x, mask, seen}, {Value::of_float(-3)});
  }

  void convolution(NodeId x) {
    if (type(x).rank() != 4) return;
    int64_t channels = type(x)[1], groups = coin() ? 1 : in(1, channels);
    if (channels % groups != 0) groups = 1;
    int64_t outputs = groups * in(1, 8);
    NodeId w = weight({outputs, channels / groups, in(1, 3), in(1, 3)});
    NodeId bias = coin() ? weight({outputs}) : graph.none();
    std::vector<Value> attrs = {Value::of_int(in(1, 2)), Value::of_enum("same"),
                                Value::of_int(in(1, 2)), random_act()};
    NodeId plain = add(OpKind::Conv2d, {x, w, bias, graph.none()}, attrs);
    if (!plain.valid()) return;
    add(OpKind::Conv2d, {x, w, bias, maybe_same_type(type(plain))}, attrs);
    if (coin())
      add(OpKind::BatchNorm, {plain, weight({outputs}), weight({outputs}), weight({outputs}),
                              weight({outputs}, "uniform(0.5, 1.5)")});
  }

  /// Convolutions that are transposed, or over a volume whose depth is the number of channels.
  void other_convolution(NodeId x) {
    if (type(x).rank() != 4) return;
    int64_t channels = type(x)[1], groups = coin() || channels % 2 != 0 ? 1 : 2;
    int64_t each = in(1, 6);
    NodeId w = weight({channels, each, in(1, 3), in(1, 3)});
    NodeId bias = coin() ? weight({each * groups}) : graph.none();
    add(OpKind::ConvTranspose2d, {x, w, bias},
        {Value::of_int(in(1, 2)), Value::of_int(in(0, 1)), Value::of_ints({in(0, 1), in(0, 1)}),
         Value::of_int(in(1, 2)), Value::of_int(groups)});
    const Shape& s = type(x).shape;
    NodeId volume = add(OpKind::Reshape, {x}, {Value::of_ints({s[0], 1, s[1], s[2], s[3]})});
    NodeId kernel = weight({in(1, 4), 1, in(1, 3), in(1, 3), in(1, 2)});
    NodeId across = add(OpKind::Conv3d, {volume, kernel, graph.none()},
                        {Value::of_ints({in(1, 2), in(1, 2), in(1, 2)}),
                         Value::of_ints({in(0, 1), in(0, 1), 0, 0, in(0, 1), in(0, 1)}),
                         Value::of_ints({in(1, 2), 1, 1})});
    if (across.valid()) add(OpKind::ReduceMax, {across}, {Value::of_ints({1})});
  }

  void filtering(NodeId x) {
    if (type(x).rank() != 4) return;
    int64_t channels = type(x)[1], groups = coin() || channels % 2 != 0 ? 1 : 2;
    int64_t outputs = groups * in(1, 8);
    NodeId u = add(OpKind::WinogradWeight, {weight({outputs, channels / groups, 3, 3})},
                   {Value::of_int(coin() ? 2 : 4)});
    NodeId bias = coin() ? weight({outputs}) : graph.none();
    std::vector<Value> attrs = {Value::of_enum("same"), random_act()};
    NodeId plain = add(OpKind::WinogradConv2d, {x, u, bias, graph.none()}, attrs);
    add(OpKind::WinogradConv2d, {x, u, bias, maybe_same_type(type(plain))}, attrs);
  }

  void window(NodeId x) {
    std::vector<Value> attrs = {Value::of_int(in(2, 3)), Value::of_int(in(1, 2)),
                                Value::of_enum(coin() ? "same" : "valid"), Value::of_bool(coin())};
    add(coin() ? OpKind::MaxPool2d : OpKind::AvgPool2d, {x}, attrs);
  }

  void pair(NodeId x) {
    constexpr OpKind kPairs[] = {OpKind::Add, OpKind::Sub, OpKind::Mul, OpKind::Maximum,
                                 OpKind::Minimum};
    NodeId y = maybe_same_type(type(x));
    if (y == graph.none() && type(x).rank() > 0 && coin()) y = weight({type(x).shape.back()});
    if (y == graph.none()) y = any();
    add(kPairs[below(std::size(kPairs))], coin() ? std::vector{x, y} : std::vector{y, x});
    add(OpKind::Div, {x, add(OpKind::Exp, {add(OpKind::Tanh, {y})})}); // without a pole
  }

  void single(NodeId x) {
    constexpr OpKind kSingles[] = {OpKind::Relu, OpKind::Sigmoid,  OpKind::Tanh,
                                   OpKind::Gelu, OpKind::Erf,      OpKind::Neg,
                                   OpKind::Abs,  OpKind::Identity, OpKind::Relu6};
    NodeId y = add(kSingles[below(std::size(kSingles))], {x});
    if (coin()) add(OpKind::Sqrt, {add(OpKind::Sigmoid, {y})});
  }

  /// Functions with a domain, at points where they are defined and well conditioned.
  void function(NodeId x) {
    NodeId small = add(OpKind::Tanh, {x});
    NodeId half = add(OpKind::Mul, {add(OpKind::Sigmoid, {x}), number(0.5)});
    NodeId positive = add(OpKind::Add, {half, number(0.25)}); // up to 0.75
    switch (below(5)) {
    case 0: add(coin() ? OpKind::Sin : OpKind::Cos, {small}); break;
    case 1: add(coin() ? OpKind::Log : OpKind::Rsqrt, {positive}); break;
    case 2: add(OpKind::Pow, {positive, small}); break;
    case 3: add(OpKind::Clip, {x}, {Value::of_float(-0.5), Value::of_float(0.75)}); break;
    default:
      if (type(x).rank() > 0)
        add(OpKind::Cumsum, {small}, {Value::of_int(in(0, type(x).rank() - 1))});
    }
  }

  /// A function of one operand with a formula, from the table, where all are defined:
  /// below 1, or above 1 for acosh.
  void by_formula(NodeId x) {
    llvm::SmallVector<const OpInfo*, 16> ops;
    for (const OpInfo& info : all_ops())
      if (formula_of(info.kind) && info.operand_count == 1 && info.has(Trait::Floating))
        ops.push_back(&info);
    NodeId part = add(OpKind::Mul, {add(OpKind::Sigmoid, {x}), number(0.75)});
    NodeId positive = add(OpKind::Add, {part, number(0.125)});
    OpKind first = ops[below(ops.size())]->kind;
    if (first == OpKind::Acosh) positive = add(OpKind::Add, {positive, number(1)});
    add(first, {positive});
    NodeId small = add(OpKind::Mul, {add(OpKind::Tanh, {x}), number(0.75)});
    OpKind op = ops[below(ops.size())]->kind;
    if (op != OpKind::Rsqrt && op != OpKind::Acosh) add(op, {small});
    add(OpKind::Atan, {small});
    add(OpKind::LeakyRelu, {small}, {Value::of_float(0.25)});
  }

  NodeId condition(NodeId x) {
    constexpr OpKind kComparisons[] = {OpKind::Less,         OpKind::LessEqual, OpKind::Greater,
                                       OpKind::GreaterEqual, OpKind::Equal,     OpKind::NotEqual};
    NodeId y = coin() ? number(0.25) : weight({type(x).rank() > 0 ? type(x).shape.back() : 1});
    if (coin())
      y = add_exact(coin() ? OpKind::Minimum : OpKind::Maximum, {x, y}); // equal at some places
    return add(kComparisons[below(std::size(kComparisons))],
               coin() ? std::vector{x, y} : std::vector{y, x});
  }

  void decision() {
    NodeId x = exact(), where = condition(x);
    if (coin()) where = add(OpKind::LogicalNot, {where});
    if (coin()) where = add(coin() ? OpKind::LogicalAnd : OpKind::LogicalOr, {where, condition(x)});
    if (coin()) cast(where, coin() ? "f32" : "i32");
    NodeId y = maybe_same_type(type(x));
    if (y == graph.none()) y = number(-0.5);
    add(OpKind::Select, coin() ? std::vector{where, x, y} : std::vector{where, y, x});
  }

  /// Functions with discontinuities.
  void rounding() {
    NodeId x = exact();
    switch (below(4)) {
    case 0: {
      constexpr OpKind kSteps[] = {OpKind::Floor, OpKind::Sign, OpKind::Round, OpKind::Ceil};
      add_exact(kSteps[below(std::size(kSteps))], {x});
      break;
    }
    case 1: add(OpKind::Mod, {x, number(coin() ? 0.5 : -2)}); break;
    case 2: // whole numbers: the evaluator has no half types to round to
      cast(cast(add_exact(OpKind::Floor, {x}), coin() ? "f16" : "bf16"), "f32");
      break;
    default: cast(cast(x, coin() ? "i32" : "i64"), "f32");
    }
  }

  NodeId first_numbers(int64_t count) {
    TensorType type{DType::I64, {count}};
    return add(OpKind::Iota, {}, {Value::of_type(type)});
  }

  void index(NodeId x) {
    NodeId from = exact();
    if (type(x).rank() == 0 || type(from).rank() == 0) return;
    Value axis = Value::of_int(in(0, type(x).rank() - 1));
    int64_t size = type(x)[static_cast<size_t>(axis.number)];
    NodeId indices = first_numbers(in(1, size));
    if (coin()) {
      NodeId largest = add(OpKind::Argmax, {from},
                           {Value::of_int(in(0, type(from).rank() - 1)), Value::of_bool(coin())});
      cast(largest, "f32");
      NodeId flat = add(OpKind::Reshape, {largest}, {Value::of_ints({-1})});
      int64_t count = in(1, std::min<int64_t>(5, type(flat)[0]));
      NodeId cut =
          add(OpKind::Slice, {flat}, {Value::of_int(0), Value::of_int(0), Value::of_int(count)});
      indices = add(OpKind::Minimum, {cut, number(static_cast<double>(size - 1), DType::I64)});
    }
    add(OpKind::Gather, {x, indices}, {axis});
  }

  /// Orders, and writes by indices. Boxes have sides from a quarter to a half.
  void ranking(NodeId x) {
    NodeId from = exact();
    if (type(x).rank() == 0 || type(from).rank() == 0) return;
    auto axis = static_cast<size_t>(in(0, type(from).rank() - 1));
    int64_t k = in(1, type(from)[axis]);
    NodeId order =
        add(OpKind::TopK, {from},
            {Value::of_int(static_cast<int64_t>(axis)), Value::of_int(k), Value::of_bool(coin())});
    cast(order, "f32");
    auto to = static_cast<size_t>(in(0, type(x).rank() - 1));
    NodeId flat = add(OpKind::Reshape, {order}, {Value::of_ints({-1})});
    int64_t count = in(1, std::min<int64_t>(5, type(flat)[0]));
    NodeId indices =
        add(OpKind::Slice, {flat}, {Value::of_int(0), Value::of_int(0), Value::of_int(count)});
    Shape row = type(x).shape, rows = row;
    row[to] = 1, rows[to] = count;
    constexpr const char* kReduces[] = {"none", "add", "mul", "max", "min"};
    NodeId updates = add(OpKind::Broadcast, {weight(row)}, {Value::of_ints(rows)});
    add(OpKind::Scatter, {x, indices, updates},
        {Value::of_int(static_cast<int64_t>(to)), Value::of_string(kReduces[below(5)])});
    boxes();
  }

  void boxes() {
    int64_t n = in(1, 6);
    NodeId corners =
        graph.weight("corners" + std::to_string(graph.size()), f32({1, n, 2}), "uniform(0, 1)");
    NodeId sides =
        graph.weight("sides" + std::to_string(graph.size()), f32({1, n, 2}), "uniform(0.25, 0.5)");
    NodeId all = add(OpKind::Concat, {corners, sides}, {Value::of_int(2)});
    NodeId scores =
        graph.weight("scores" + std::to_string(graph.size()), f32({1, 2, n}), "uniform(0, 1)");
    NodeId rows = add(OpKind::NonMaxSuppression, {all, scores},
                      {Value::of_int(in(1, 4)), Value::of_float(0.25), Value::of_float(0.5),
                       Value::of_bool(true)});
    cast(rows, "f32");
  }

  void row(NodeId x) {
    if (type(x).rank() == 0) return;
    int64_t last = type(x).shape.back();
    add(OpKind::Softmax, {x}, {Value::of_int(in(0, type(x).rank() - 1))});
    add(OpKind::LayerNorm, {x, weight({last}), weight({last})}, {Value::of_float(0.1)});
  }

  void reduction(NodeId x) {
    if (type(x).rank() == 0) return;
    constexpr OpKind kReductions[] = {OpKind::ReduceSum, OpKind::ReduceMean, OpKind::ReduceMax,
                                      OpKind::ReduceMin};
    std::vector<int64_t> axes = {in(0, type(x).rank() - 1)};
    if (int64_t other = in(0, type(x).rank() - 1); other != axes[0]) axes.push_back(other);
    add(kReductions[below(4)], {x}, {Value::of_ints(axes), Value::of_bool(coin())});
    int64_t factors = 1; // more factors, or a factor of 0.01, would leave the range of float
    for (int64_t axis : axes) factors *= type(x)[static_cast<size_t>(axis)];
    if (which_ == Operators::All && factors <= 24)
      add(OpKind::ReduceProd, {add(OpKind::Neg, {add(OpKind::Exp, {add(OpKind::Tanh, {x})})})},
          {Value::of_ints(axes), Value::of_bool(coin())});
  }

  void piece(NodeId x) {
    if (type(x).rank() == 0) return;
    int64_t axis = in(0, type(x).rank() - 1), size = type(x)[static_cast<size_t>(axis)];
    int64_t start = in(0, size - 1), stop = in(start + 1, size);
    NodeId y =
        add(OpKind::Slice, {x}, {Value::of_int(axis), Value::of_int(start), Value::of_int(stop)});
    NodeId z = maybe_same_type(type(x));
    if (z == graph.none()) z = x;
    add(OpKind::Concat, {x, y, z}, {Value::of_int(axis)});
    std::vector<int64_t> before, after;
    for (int64_t i = 0; i < type(x).rank(); ++i) {
      before.push_back(in(0, 1));
      after.push_back(in(0, 2));
    }
    add(OpKind::Pad, {y}, {Value::of_ints(before), Value::of_ints(after), Value::of_float(-1)});
  }

  void layout(NodeId x) {
    std::vector<int64_t> perm;
    for (int64_t i = 0; i < type(x).rank(); ++i) perm.push_back(i);
    for (size_t i = perm.size(); i > 1; --i) std::swap(perm[i - 1], perm[below(i)]);
    add(OpKind::Transpose, {x}, {Value::of_ints(perm)});
    Shape wider = type(x).shape;
    wider.insert(wider.begin(), in(1, 2));
    if (wider.size() <= 4) add(OpKind::Broadcast, {x}, {Value::of_ints(wider)});
    if (type(x).rank() > 0 && type(x).rank() < 4) windows(x);
    int64_t elements = type(x).elements();
    for (int64_t divisor : {2, 3, 4, 5})
      if (elements % divisor == 0 && coin())
        return (void)add(OpKind::Reshape, {x}, {Value::of_ints({divisor, -1})});
  }

  void windows(NodeId x) {
    int64_t axis = in(0, type(x).rank() - 1), room = type(x)[static_cast<size_t>(axis)];
    int64_t size = in(1, std::min<int64_t>(room, 4));
    int64_t dilation = size > 1 ? in(1, std::min<int64_t>((room - 1) / (size - 1), 2)) : 1;
    NodeId y = add(OpKind::Windows, {x},
                   {Value::of_int(axis), Value::of_int(size), Value::of_int(in(1, 3)),
                    Value::of_int(dilation)});
    if (coin()) add(OpKind::Tanh, {y});
  }

  void fused(NodeId x) {
    constexpr const char* kBodies[] = {"relu(add($0, $1))",
                                       "mul($0, sigmoid($0))",
                                       "tanh(sub(mul($0, $1), $0))",
                                       "maximum(gelu($1), neg($0))",
                                       "select(less($0, $1), $0, $1)", // continuous
                                       "relu6(minimum(abs($0), cos(tanh($1))))"};
    const char* body = kBodies[below(std::size(kBodies))];
    NodeId y = maybe_same_type(type(x));
    if (y == graph.none()) y = any();
    std::vector<NodeId> operands = {x, y};
    if (body == kBodies[1]) operands.pop_back();
    add(OpKind::FusedMap, operands, {Value::of_string(body)});
  }

  std::string name() { return "y" + std::to_string(graph.outputs().size()); }

  Operators which_;
  RandomStream random_;
  uint64_t draws_ = 0;
  int attempts_ = 0;
  std::vector<NodeId> nodes_; // in f32
  std::vector<NodeId> exact_; // those of them whose bits are the same in every backend
};

} // namespace tg::test
