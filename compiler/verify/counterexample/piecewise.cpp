#include "compiler/verify/counterexample/climb.h"

#ifdef TG_HAVE_Z3
#include "compiler/verify/z3_context.h"
#include "lang/core/semantics/pointwise.h"

#include <cmath>
#include <map>
#endif

namespace tg {

#ifndef TG_HAVE_Z3

PiecewiseAnswer solve_piecewise(const Joined&) { return {}; }

#else

namespace {

constexpr int64_t kElements = 64; // of all tensors together
constexpr const char* kResources = "400000";
constexpr const char* kRange = "1000000"; // of inputs
constexpr const char* kApart = "1/1024";  // a difference that float64 shows as well

/// Z3 terms over the reals, for the scalars of one thread. Bools are 0 and 1.
class Terms {
public:
  Terms() : outer_(current()) {
    context = new_z3_context(kResources);
    reals = Z3_mk_real_sort(context);
    current() = this;
  }
  ~Terms() {
    current() = outer_;
    Z3_del_context(context);
  }
  Terms(const Terms&) = delete;
  Terms& operator=(const Terms&) = delete;

  static Terms*& current() {
    thread_local Terms* terms = nullptr;
    return terms;
  }

  /// Returns the double as an exact fraction, or sets `outside` if it is too large or too fine.
  Z3_ast number(double x) {
    int exponent = 0;
    double mantissa = std::frexp(x, &exponent);
    auto digits = static_cast<int64_t>(std::ldexp(mantissa, 53));
    for (exponent -= 53; digits != 0 && digits % 2 == 0; digits /= 2) ++exponent;
    outside |= !std::isfinite(x) || std::abs(exponent) > 60;
    if (outside || digits == 0) return text("0");
    std::string scale = std::to_string(uint64_t{1} << std::abs(exponent));
    if (exponent < 0) return text((std::to_string(digits) + "/" + scale).c_str());
    return binary(Z3_mk_mul, text(std::to_string(digits).c_str()), text(scale.c_str()));
  }
  Z3_ast text(const char* number) { return Z3_mk_numeral(context, number, reals); }
  template <class Make> Z3_ast binary(Make make, Z3_ast a, Z3_ast b) {
    Z3_ast both[] = {a, b};
    return make(context, 2, both);
  }
  Z3_ast choose(Z3_ast condition, Z3_ast a, Z3_ast b) {
    return Z3_mk_ite(context, condition, a, b);
  }
  Z3_ast unknown(int number) {
    return Z3_mk_const(context, Z3_mk_int_symbol(context, number), reals);
  }

  Z3_context context = nullptr;
  Z3_sort reals = nullptr;
  bool outside = false; // something is not piecewise linear

private:
  Terms* outer_;
};

/// A real as a term, with its value if it is a literal.
struct Piece {
  Z3_ast term = nullptr;
  bool truth = false; // 0 or 1
  std::optional<double> literal;
};

Terms& terms() { return *Terms::current(); }

Piece literal_piece(double x) { return {terms().number(x), x == 0 || x == 1, x}; }

Piece outside() {
  terms().outside = true;
  return literal_piece(0);
}

Piece operator+(const Piece& a, const Piece& b) {
  return {terms().binary(Z3_mk_add, a.term, b.term), false, {}};
}
Piece operator-(const Piece& a, const Piece& b) {
  bool opposite = a.literal == 1 && b.truth;
  return {terms().binary(Z3_mk_sub, a.term, b.term), opposite, {}};
}
Piece operator-(const Piece& a) {
  if (a.literal) return literal_piece(-*a.literal);
  return {Z3_mk_unary_minus(terms().context, a.term), false, {}};
}
Piece truth_of(Z3_ast condition) {
  return {terms().choose(condition, terms().text("1"), terms().text("0")), true, {}};
}
Z3_ast holds(const Piece& a) {
  return Z3_mk_not(terms().context, Z3_mk_eq(terms().context, a.term, terms().text("0")));
}
Piece operator*(const Piece& a, const Piece& b) {
  if (a.truth && b.truth) return truth_of(terms().binary(Z3_mk_and, holds(a), holds(b)));
  if (!a.literal && !b.literal) return outside();
  return {terms().binary(Z3_mk_mul, a.term, b.term), false, {}};
}
Piece operator/(const Piece& a, const Piece& b) {
  if (!b.literal || *b.literal == 0) return outside();
  return {Z3_mk_div(terms().context, a.term, b.term), false, {}};
}

} // namespace

template <> struct ScalarTraits<Piece> { using Wide = Piece; };

template <> struct Math<Piece> {
  static Piece literal(double value) { return literal_piece(value); }
  static Piece integer(int64_t value) { return literal_piece(static_cast<double>(value)); }
  static Piece maximum(const Piece& x, const Piece& y) {
    return {terms().choose(Z3_mk_ge(terms().context, x.term, y.term), x.term, y.term), false, {}};
  }
  static Piece unary(OpKind op, const Piece& x) {
    Z3_context c = terms().context;
    Z3_ast zero = terms().text("0");
    if (op == OpKind::Relu) return maximum(x, literal(0));
    if (op != OpKind::Sign) return outside();
    Z3_ast below = terms().choose(Z3_mk_lt(c, x.term, zero), terms().text("-1"), zero);
    return {terms().choose(Z3_mk_gt(c, x.term, zero), terms().text("1"), below), false, {}};
  }
  static Piece binary(OpKind op, const Piece& x, const Piece& y) {
    Z3_context c = terms().context;
    switch (op) {
    case OpKind::Minimum: return -maximum(-x, -y);
    case OpKind::Less: return truth_of(Z3_mk_lt(c, x.term, y.term));
    case OpKind::LessEqual: return truth_of(Z3_mk_le(c, x.term, y.term));
    case OpKind::Equal: return truth_of(Z3_mk_eq(c, x.term, y.term));
    default: return outside();
    }
  }
  static Piece select(const Piece& condition, const Piece& x, const Piece& y) {
    return {terms().choose(holds(condition), x.term, y.term), x.truth && y.truth, {}};
  }
};

namespace {

class Fragment {
public:
  explicit Fragment(const Joined& sides) : sides_(sides) {}

  PiecewiseAnswer solve() {
    if (!fits()) return {};
    Terms scope;
    for (uint32_t i = 0; i < sides_.graph.size(); ++i) add({i});
    if (scope.outside) return {};
    Z3_solver solver = Z3_mk_simple_solver(scope.context);
    Z3_solver_inc_ref(scope.context, solver);
    for (Z3_ast unknown : unknowns_) bound(solver, unknown);
    Z3_solver_assert(scope.context, solver, difference());
    PiecewiseAnswer answer;
    switch (Z3_solver_check(scope.context, solver)) {
    case Z3_L_FALSE: answer.status = PiecewiseAnswer::Status::Agree; break;
    case Z3_L_UNDEF: answer.status = PiecewiseAnswer::Status::Open; break;
    case Z3_L_TRUE: answer = shown_in_floats(Z3_solver_get_model(scope.context, solver)); break;
    }
    Z3_solver_dec_ref(scope.context, solver);
    return answer;
  }

private:
  /// Returns true for pointwise operators on floats only, and their conditions.
  bool fits() const {
    int64_t elements = 0;
    for (uint32_t i = 0; i < sides_.graph.size(); ++i) {
      const TensorType& type = sides_.graph.type({i});
      if (type.is_none() || is_integer(type.dtype)) return false;
      elements += type.elements();
      OpKind op = sides_.graph.node({i}).op;
      bool leaf = op_info(op).has(Trait::Leaf);
      if (leaf && op != OpKind::Constant && type.dtype == DType::Bool) return false;
      if (!leaf && !is_pointwise(op)) return false;
    }
    return elements <= kElements;
  }

  void add(NodeId id) {
    const Graph& graph = sides_.graph;
    OpKind op = graph.node(id).op;
    const TensorType& type = graph.type(id);
    auto count = static_cast<size_t>(type.elements());
    std::vector<Piece>& values = values_[id.index];
    if (op == OpKind::Constant) {
      for (double x : graph.attr(id, 0).reals) values.push_back(literal_piece(x));
      for (int64_t n : graph.attr(id, 0).ints) values.push_back(Math<Piece>::integer(n));
      if (values.size() == 1) values.assign(count, Piece(values[0]));
    } else if (op_info(op).has(Trait::Leaf)) {
      for (size_t i = 0; i < count; ++i) {
        unknowns_.push_back(terms().unknown(static_cast<int>(unknowns_.size())));
        values.push_back({unknowns_.back(), false, {}});
      }
    } else {
      llvm::SmallVector<ConstView<Piece>, 4> operands;
      for (NodeId operand : graph.operands(id))
        operands.push_back({values_[operand.index].data(), graph.type(operand).shape});
      llvm::SmallVector<const Value*, 2> attrs;
      for (size_t slot = 0; slot < graph.attrs(id).size(); ++slot)
        attrs.push_back(&graph.attr(id, slot));
      values.resize(count);
      semantics::elementwise<Piece>(op, attrs, operands, {values.data(), type.shape});
    }
  }

  void bound(Z3_solver solver, Z3_ast unknown) const {
    Z3_context c = terms().context;
    Z3_ast range = terms().text(kRange);
    Z3_solver_assert(c, solver, Z3_mk_le(c, unknown, range));
    Z3_solver_assert(c, solver, Z3_mk_ge(c, unknown, Z3_mk_unary_minus(c, range)));
  }

  /// The term for: some element of some output differs clearly.
  Z3_ast difference() {
    Z3_context c = terms().context;
    std::vector<Z3_ast> any;
    for (size_t output = 0; output < sides_.a.size(); ++output)
      for (size_t i = 0; i < values_[sides_.a[output].index].size(); ++i) {
        Z3_ast a = values_[sides_.a[output].index][i].term;
        Z3_ast b = values_[sides_.b[output].index][i].term;
        for (Z3_ast apart : {terms().binary(Z3_mk_sub, a, b), terms().binary(Z3_mk_sub, b, a)})
          any.push_back(Z3_mk_ge(c, apart, terms().text(kApart)));
      }
    return Z3_mk_or(c, static_cast<unsigned>(any.size()), any.data());
  }

  /// Rounds the solver's inputs to doubles, and returns them if both sides differ there.
  PiecewiseAnswer shown_in_floats(Z3_model model) const {
    Z3_context c = terms().context;
    ClimbResult found;
    size_t at = 0;
    for (uint32_t i = 0; i < sides_.graph.size(); ++i) {
      OpKind op = sides_.graph.node({i}).op;
      if (!is_variable(op)) continue;
      TypedValues values;
      for (int64_t n = 0; n < sides_.graph.type({i}).elements(); ++n) {
        Z3_ast value = nullptr;
        bool known = Z3_model_eval(c, model, unknowns_[at++], /*model_completion=*/true, &value);
        values.reals.push_back(known ? Z3_get_numeral_double(c, value) : 0);
      }
      found.leaves.push_back({{i}, std::move(values)});
    }
    if (measure(sides_, found) <= kRounding) return {PiecewiseAnswer::Status::Open, {}};
    return {PiecewiseAnswer::Status::Differ, std::move(found)};
  }

  const Joined& sides_;
  std::map<uint32_t, std::vector<Piece>> values_; // by node
  std::vector<Z3_ast> unknowns_;                  // elements of leaves, in order
};

} // namespace

PiecewiseAnswer solve_piecewise(const Joined& sides) { return Fragment(sides).solve(); }

#endif

} // namespace tg
