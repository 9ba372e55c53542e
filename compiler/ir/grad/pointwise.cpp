// Partial derivatives of the elementwise operators, written like the formulas of the operators
// (lang/core/formulas.h). By::Formula differentiates the operator's own formula.
//
// At kinks, relu, relu6, leaky_relu and elu have the derivative of their left side, and abs has 0.
// The limits of clip have derivative 1. Equal operands of maximum and minimum share the gradient.
#include "compiler/ir/grad/rules.h"
#include "lang/core/formulas.h"
#include "lang/core/fused_body.h"

namespace tg::grad {

namespace {

/// A node, or a literal that takes the dtype of its context.
struct Term {
  NodeBuilder* build = nullptr;
  NodeId node;
  double literal = 0;
  DType dtype = DType::None; // of the numbers, also for a comparison of numbers
};

struct Terms {
  using Value = Term;
  static Term literal(double value) { return {nullptr, {}, value, DType::None}; }
  static Term apply(OpKind op, const Term* args);
};

NodeId node_of(const Term& term, const Term& context) {
  return term.node.valid() ? term.node : context.build->scalar(term.literal, context.dtype);
}

/// Returns true if multiplying by the term changes nothing, including the shape.
bool is_one(const Term& term, const Term& other) {
  const Graph& graph = other.build->graph();
  if (!term.node.valid() || graph.node(term.node).op != OpKind::Constant) return false;
  const Value& values = graph.attr(term.node, 0);
  const TensorType& type = graph.type(term.node);
  Shape together;
  return values.reals.size() == 1 && values.reals[0] == 1 && other.node.valid() &&
         broadcast_shapes(type.shape, graph.type(other.node).shape, together) &&
         together == graph.type(other.node).shape;
}

Term Terms::apply(OpKind op, const Term* args) {
  size_t count = op_info(op).operand_count;
  const Term* context = args;
  while (!context->build) ++context; // formulas have no operator over literals only
  if (op == OpKind::Mul && args[0].build && args[1].build) {
    if (is_one(args[0], args[1])) return args[1];
    if (is_one(args[1], args[0])) return args[0];
  }
  llvm::SmallVector<NodeId, 3> nodes;
  for (size_t i = 0; i < count; ++i) nodes.push_back(node_of(args[i], *context));
  return {context->build, context->build->op(op, nodes), 0, context->dtype};
}

using N = Number<Terms>;
using namespace formulas; // the operators, as functions

/// Operands, then attributes, as formulas expect them.
struct At {
  N x = 0, y = 0, z = 0;
};
/// The gradient of an operand: the gradient of the result times the derivative.
using Partial = N (*)(const At& at, N dy);

enum class By : uint8_t { Partials, Formula, Nothing };
struct PointwiseRow {
  OpKind op{};
  By by = By::Partials;
  std::array<Partial, 3> partials{};
};

N same(const At&, N dy) { return dy; }

constexpr PointwiseRow kPointwise[] = {
    {OpKind::Add, By::Partials, {same, same}},
    {OpKind::Sub, By::Partials, {same, [](const At&, N dy) { return -dy; }}},
    {OpKind::Mul,
     By::Partials,
     {[](const At& at, N dy) { return dy * at.y; }, [](const At& at, N dy) { return dy * at.x; }}},
    {OpKind::Div,
     By::Partials,
     {[](const At& at, N dy) { return dy / at.y; },
      [](const At& at, N dy) { return -(dy * (at.x / at.y) / at.y); }}},
    {OpKind::Maximum,
     By::Partials,
     {[](const At& at, N dy) { return Select(at.x > at.y, dy, Select(at.x < at.y, 0, dy * 0.5)); },
      [](const At& at, N dy) {
        return Select(at.x < at.y, dy, Select(at.x > at.y, 0, dy * 0.5));
      }}},
    {OpKind::Minimum,
     By::Partials,
     {[](const At& at, N dy) { return Select(at.x < at.y, dy, Select(at.x > at.y, 0, dy * 0.5)); },
      [](const At& at, N dy) {
        return Select(at.x > at.y, dy, Select(at.x < at.y, 0, dy * 0.5));
      }}},
    // 0 ** y and x ** 0 have derivatives even if 0 ** -1 or log(0) has no finite value.
    {OpKind::Pow,
     By::Partials,
     {[](const At& at, N dy) { return dy * Select(Equal(at.y, 0), 0, at.y * Pow(at.x, at.y - 1)); },
      [](const At& at, N dy) {
        return dy * Pow(at.x, at.y) * Select(Equal(at.x, 0), 0, Log(at.x));
      }}},
    {OpKind::Mod,
     By::Partials,
     {same, [](const At& at, N dy) { return -(dy * Floor(at.x / at.y)); }}},
    {OpKind::Less, By::Nothing},
    {OpKind::LessEqual, By::Nothing},
    {OpKind::Greater, By::Nothing},
    {OpKind::GreaterEqual, By::Nothing},
    {OpKind::Equal, By::Nothing},
    {OpKind::NotEqual, By::Nothing},
    {OpKind::LogicalAnd, By::Nothing},
    {OpKind::LogicalOr, By::Nothing},
    {OpKind::Select,
     By::Partials,
     {nullptr, [](const At& at, N dy) { return Select(at.x, dy, 0); },
      [](const At& at, N dy) { return Select(at.x, 0, dy); }}},
    {OpKind::Identity, By::Partials, {same}},
    {OpKind::Neg, By::Partials, {[](const At&, N dy) { return -dy; }}},
    // Uses the result, which its readers keep alive anyway.
    {OpKind::Relu, By::Partials, {[](const At& at, N dy) {
       return Select(Relu(at.x) > 0, dy, 0);
     }}},
    {OpKind::Sigmoid, By::Partials, {[](const At& at, N dy) {
       N s = Sigmoid(at.x);
       return dy * (s * (1 - s));
     }}},
    {OpKind::Tanh, By::Partials, {[](const At& at, N dy) {
       N t = Tanh(at.x);
       return dy * (1 - t * t);
     }}},
    // The normal distribution function, and x times its density.
    {OpKind::Gelu, By::Partials, {[](const At& at, N dy) {
       N share = 0.5 * (1 + Erf(at.x * 0.70710678118654752440));
       return dy * (share + at.x * (0.39894228040143267794 * Exp(-0.5 * (at.x * at.x))));
     }}},
    {OpKind::Exp, By::Partials, {[](const At& at, N dy) { return dy * Exp(at.x); }}},
    {OpKind::Sqrt, By::Partials, {[](const At& at, N dy) { return dy * 0.5 / Sqrt(at.x); }}},
    {OpKind::Erf, By::Partials, {[](const At& at, N dy) {
       return dy * (1.12837916709551257390 * Exp(-(at.x * at.x)));
     }}},
    {OpKind::Relu6, By::Partials, {[](const At& at, N dy) {
       return Select(LogicalAnd(at.x > 0, at.x < 6), dy, 0);
     }}},
    {OpKind::Abs, By::Partials, {[](const At& at, N dy) { return dy * Sign(at.x); }}},
    {OpKind::Sign, By::Nothing},
    {OpKind::Floor, By::Nothing},
    {OpKind::Log, By::Partials, {[](const At& at, N dy) { return dy / at.x; }}},
    {OpKind::Sin, By::Partials, {[](const At& at, N dy) { return dy * Cos(at.x); }}},
    {OpKind::Cos, By::Partials, {[](const At& at, N dy) { return -(dy * Sin(at.x)); }}},
    {OpKind::Rsqrt, By::Partials, {[](const At& at, N dy) {
       return dy * (-0.5 * Rsqrt(at.x) / at.x);
     }}},
    {OpKind::LogicalNot, By::Nothing},
    {OpKind::Round, By::Nothing},
    {OpKind::Ceil, By::Nothing},
    {OpKind::Atan, By::Partials, {[](const At& at, N dy) { return dy / (1 + at.x * at.x); }}},
    {OpKind::Log1p, By::Partials, {[](const At& at, N dy) { return dy / (1 + at.x); }}},
    {OpKind::Expm1, By::Partials, {[](const At& at, N dy) { return dy * Exp(at.x); }}},
    {OpKind::Hardswish, By::Formula},
    {OpKind::Softplus, By::Partials, {[](const At& at, N dy) { return dy * Sigmoid(at.x); }}},
    {OpKind::Mish, By::Formula},
    {OpKind::Tan, By::Partials, {[](const At& at, N dy) {
       N t = Tan(at.x);
       return dy * (1 + t * t);
     }}},
    {OpKind::Asin, By::Partials, {[](const At& at, N dy) {
       return dy / Sqrt((1 - at.x) * (1 + at.x));
     }}},
    {OpKind::Acos, By::Partials, {[](const At& at, N dy) {
       return -(dy / Sqrt((1 - at.x) * (1 + at.x)));
     }}},
    {OpKind::Sinh, By::Partials, {[](const At& at, N dy) { return dy * Cosh(at.x); }}},
    {OpKind::Cosh, By::Partials, {[](const At& at, N dy) { return dy * Sinh(at.x); }}},
    {OpKind::Asinh, By::Partials, {[](const At& at, N dy) { return dy / Sqrt(1 + at.x * at.x); }}},
    {OpKind::Acosh, By::Partials, {[](const At& at, N dy) {
       return dy / (Sqrt(at.x - 1) * Sqrt(at.x + 1));
     }}},
    {OpKind::Atanh, By::Partials, {[](const At& at, N dy) {
       return dy / ((1 - at.x) * (1 + at.x));
     }}},
    {OpKind::Clip, By::Partials, {[](const At& at, N dy) {
       return Select(LogicalAnd(LessEqual(at.y, at.x), LessEqual(at.x, at.z)), dy, 0);
     }}},
    {OpKind::Elu, By::Partials, {[](const At& at, N dy) {
       return Select(at.x > 0, dy, dy * (at.y * Exp(at.x)));
     }}},
    {OpKind::LeakyRelu, By::Partials, {[](const At& at, N dy) {
       return Select(at.x > 0, dy, dy * at.y);
     }}},
};

consteval bool pointwise_complete() {
  for (size_t i = 0; i < kOpCount; ++i) {
    auto op = static_cast<OpKind>(i);
    int rows = 0;
    for (const PointwiseRow& row : kPointwise) {
      if (row.op != op) continue;
      ++rows;
      if (row.by == By::Formula && !formulas::has(op)) return false;
      if ((row.by == By::Partials) != (row.partials[0] || row.partials[1])) return false;
    }
    if (rows != (is_pointwise(op) ? 1 : 0)) return false;
  }
  return true;
}
static_assert(pointwise_complete(), "every pointwise operator has a row with its derivative");

const PointwiseRow& row_of(OpKind op) {
  for (const PointwiseRow& row : kPointwise)
    if (row.op == op) return row;
  llvm_unreachable("the table has every pointwise operator");
}

/// Returns the operands, then the attributes as literals.
llvm::SmallVector<Term, 4> terms_of(Reverse& r) {
  llvm::SmallVector<Term, 4> terms;
  for (NodeId operand : r.operands) terms.push_back({&r.b, operand, 0, r.b.dtype(r.node)});
  for (size_t slot = 0; slot < op_info(r.op()).attr_count; ++slot)
    terms.push_back(Terms::literal(r.b.graph().attr(r.node, slot).real));
  return terms;
}

void by_partials(Reverse& r) {
  llvm::SmallVector<Term, 4> terms = terms_of(r);
  At at;
  N* places[] = {&at.x, &at.y, &at.z};
  for (size_t i = 0; i < terms.size(); ++i) *places[i] = N::of(terms[i]);
  N dy = N::of({&r.b, r.dy, 0, r.b.dtype(r.dy)});
  for (size_t i = 0; i < r.operands.size(); ++i)
    if (Partial partial = row_of(r.op()).partials[i]; partial && r.wanted(i))
      r.add_gradient(i, partial(at, dy).value().node);
}

void by_formula(Reverse& r) { r.through(formulas::value<Terms>(r.op(), terms_of(r).data())->node); }

} // namespace

Rule pointwise_rule(OpKind op) {
  switch (row_of(op).by) {
  case By::Partials: return by_partials;
  case By::Formula: return by_formula;
  case By::Nothing: return nullptr;
  }
  return nullptr;
}

/// Differentiates the operators in its body text.
void fused_map(Reverse& r) {
  std::optional<FusedBody> body = parse_fused_body(r.attr("body").text);
  llvm::SmallVector<NodeId, 8> stack;
  for (const FusedInstr& instr : body->code) {
    if (instr.is_operand) {
      stack.push_back(r.operands[instr.operand]);
      continue;
    }
    size_t arity = op_info(instr.op).operand_count;
    NodeId made = r.b.op(instr.op, llvm::ArrayRef<NodeId>(stack).take_back(arity));
    stack.truncate(stack.size() - arity);
    stack.push_back(made);
  }
  r.through(stack.back());
}

} // namespace tg::grad
