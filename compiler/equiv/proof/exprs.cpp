// Expressions and attributes over symbolic sizes, after compiler/rules/eval.cpp.
#include "compiler/equiv/proof/case.h"

#include <llvm/ADT/STLExtras.h>

namespace tg::proof {

using Kind = ValueExpr::Kind;

// --- expressions -----------------------------------------------------------------------------

std::optional<Attr> Case::literal(const tg::Value& value) const {
  switch (value.kind) {
  case tg::Value::Kind::Int: return Attr::of(Poly(value.number));
  case tg::Value::Kind::Ints: {
    std::vector<Poly> ns;
    for (int64_t n : value.ints) ns.push_back(n);
    return Attr::of(std::move(ns));
  }
  case tg::Value::Kind::Enum: return Attr::member(value.text);
  case tg::Value::Kind::Bool: return Attr{Attr::Kind::Bool, 0, {}, "", value.number != 0, {}};
  case tg::Value::Kind::Float:
  case tg::Value::Kind::Floats: {
    if (value.is(tg::Value::Kind::Floats) && value.reals.size() != 1) return std::nullopt;
    double real = value.is(tg::Value::Kind::Float) ? value.real : value.reals[0];
    Ratio ratio = ratio_of(real);
    if (!ratio.valid) return std::nullopt;
    return Attr{Attr::Kind::Number, 0, {}, "", false, Sums::number(ratio)};
  }
  case tg::Value::Kind::Type: {
    std::vector<Poly> ns;
    for (int64_t n : value.ints) ns.push_back(n);
    return Attr{Attr::Kind::Shape, 0, std::move(ns), "", false, {}};
  }
  default: return std::nullopt;
  }
}

/// Of two numbers, or lists that are joined. What has no value (a division that leaves a remainder)
/// makes the case impossible: there the rule does not apply.
std::optional<Attr> Case::evaluate_ints(const ValueExpr& e) {
  std::optional<Attr> a = evaluate(e.operands[0]);
  std::optional<Attr> b = e.operands.size() > 1 ? evaluate(e.operands[1]) : a;
  bool lists = a && b && a->kind == Attr::Kind::Ints && b->kind == Attr::Kind::Ints;
  if (lists && e.kind == Kind::Add) {
    a->ns.insert(a->ns.end(), b->ns.begin(), b->ns.end());
    return a;
  }
  if (!a || !b || a->kind != Attr::Kind::Int || b->kind != Attr::Kind::Int) return std::nullopt;
  switch (e.kind) {
  case Kind::Range: { // of axes: the ends are numbers
    std::optional<int64_t> from = arith_.normal(a->n).constant();
    std::optional<int64_t> to = arith_.normal(b->n).constant();
    if (!from || !to) return std::nullopt;
    std::vector<Poly> ns;
    for (int64_t i = *from; i < *to; ++i) ns.emplace_back(i);
    return Attr::of(std::move(ns));
  }
  case Kind::Add: return Attr::of(a->n + b->n);
  case Kind::Sub: return Attr::of(a->n - b->n);
  case Kind::Mul: return Attr::of(a->n * b->n);
  case Kind::Neg: return Attr::of(Poly(0) - a->n);
  case Kind::Div: {
    Poly quotient = arith_.fresh_poly(std::nullopt);
    must_equal(quotient * b->n, a->n);
    return Attr::of(arith_.normal(quotient));
  }
  case Kind::FloorDiv: {
    std::optional<int64_t> by = arith_.normal(b->n).constant();
    if (!by || *by <= 0) return std::nullopt;
    Poly quotient = arith_.fresh_poly(std::nullopt);
    must(at_least(a->n, quotient * Poly(*by)));
    must(less(a->n, quotient * Poly(*by) + Poly(*by)));
    return Attr::of(quotient);
  }
  default: return std::nullopt;
  }
}

/// nullopt where it is not understood.
std::optional<Attr> Case::evaluate(ExprIndex at) {
  const ValueExpr& e = rule_.exprs[at];
  if (halted()) return std::nullopt;
  auto tensor = [&]() -> const Tensor& { return variable(e.variable); };
  switch (e.kind) {
  case Kind::Literal: return literal(e.literal);
  case Kind::Variable: return values_[e.variable];
  case Kind::Rank:
    if (tensor().none) return stop(Outcome::Impossible), std::nullopt; // it has none
    return Attr::of(tensor().rank());
  case Kind::ShapeOf:
    if (tensor().none) stop(Outcome::Impossible);
    if (tensor().none || tensor().packed) return std::nullopt;
    return Attr::of(tensor().dims);
  case Kind::Dim: {
    std::optional<Attr> which = evaluate(e.operands[0]);
    if (!which || which->kind != Attr::Kind::Int) return std::nullopt;
    if (tensor().none) return stop(Outcome::Impossible), std::nullopt; // it has none
    std::optional<size_t> named = axis(which->n, tensor());
    if (!named) return std::nullopt;
    return Attr::of(tensor().dims[*named]);
  }
  case Kind::List: {
    std::vector<Poly> ns;
    for (ExprIndex operand : e.operands) {
      std::optional<Attr> n = evaluate(operand);
      if (!n || n->kind != Attr::Kind::Int) return std::nullopt;
      ns.push_back(n->n);
    }
    return Attr::of(std::move(ns));
  }
  case Kind::Index: {
    std::optional<Attr> list = evaluate(e.operands[0]), i = evaluate(e.operands[1]);
    if (list && list->kind == Attr::Kind::Text) // pad = same has no first number
      return stop(Outcome::Impossible), std::nullopt;
    if (!list || !i || list->kind != Attr::Kind::Ints || i->kind != Attr::Kind::Int)
      return std::nullopt;
    std::optional<int64_t> n = arith_.normal(i->n).constant();
    int64_t size = static_cast<int64_t>(list->ns.size());
    if (n && *n < 0) *n += size;
    if (!n || *n < 0 || *n >= size) return stop(Outcome::Impossible), std::nullopt;
    return Attr::of(list->ns[static_cast<size_t>(*n)]);
  }
  case Kind::Len: {
    std::optional<Attr> list = evaluate(e.operands[0]);
    if (!list || list->kind != Attr::Kind::Ints) return std::nullopt;
    return Attr::of(Poly(static_cast<int64_t>(list->ns.size())));
  }
  case Kind::Permute: {
    std::optional<Attr> p = evaluate(e.operands[0]), q = evaluate(e.operands[1]);
    if (!p || !q || p->ns.size() != q->ns.size()) return std::nullopt;
    std::vector<Poly> ns;
    for (const Poly& from : p->ns) {
      std::optional<int64_t> i = arith_.normal(from).constant();
      if (!i || *i < 0 || *i >= static_cast<int64_t>(q->ns.size())) return std::nullopt;
      ns.push_back(q->ns[static_cast<size_t>(*i)]);
    }
    return Attr::of(std::move(ns));
  }
  case Kind::Floats: {
    if (e.operands.size() != 1) return std::nullopt;
    std::optional<Attr> n = evaluate(e.operands[0]);
    if (n && n->kind == Attr::Kind::Int)
      if (std::optional<int64_t> whole = arith_.normal(n->n).constant())
        return Attr{Attr::Kind::Number, 0, {}, "", false, Sums::number(Ratio{*whole})};
    return n && n->kind == Attr::Kind::Number ? n : std::nullopt;
  }
  case Kind::TypeLike: {
    std::optional<Attr> shape = evaluate(e.operands[0]);
    if (!shape || shape->kind != Attr::Kind::Ints) return std::nullopt;
    shape->kind = Attr::Kind::Shape;
    return shape;
  }
  default: return e.operands.empty() ? std::nullopt : evaluate_ints(e);
  }
}

// --- attributes ------------------------------------------------------------------------------

/// Any value that the slot may have, in normal form.
Attr Case::fresh_attr(const AttrInfo& info, const Tensor& first) {
  switch (info.kind) {
  case AttrKind::integer: return Attr::of(arith_.fresh_poly(std::nullopt));
  case AttrKind::pair: return Attr::of({arith_.fresh_poly(1), arith_.fresh_poly(1)});
  case AttrKind::pad: {
    size_t form = choices_.choose(3);
    if (form == 0) return Attr::member("valid");
    if (form == 1) return Attr::member("same");
    std::vector<Poly> pads;
    for (int i = 0; i < 4; ++i) pads.push_back(arith_.fresh_poly(0));
    return Attr::of(std::move(pads));
  }
  case AttrKind::boolean: {
    Attr attr;
    attr.kind = Attr::Kind::Bool;
    attr.truth = choices_.choose(2) == 1;
    return attr;
  }
  case AttrKind::axis:
    if (first.packed || first.dims.empty()) {
      if (first.packed) beyond("an axis of a tensor of any rank");
      stop(Outcome::Impossible);
      return {};
    }
    return Attr::of(Poly(static_cast<int64_t>(choices_.choose(first.dims.size()))));
  case AttrKind::act: return Attr::member(""); // which one is the variable's to say
  case AttrKind::ints: {                       // one number for each axis, none negative: pad
    if (first.packed) break;
    std::vector<Poly> ns;
    for (size_t i = 0; i < first.dims.size(); ++i) ns.push_back(arith_.fresh_poly(0));
    return Attr::of(std::move(ns));
  }
  case AttrKind::real: {
    Attr attr;
    attr.kind = Attr::Kind::Number;
    return attr; // its name is the variable's
  }
  default: break;
  }
  beyond("an attribute of this kind that may be anything: " + std::string(info.name));
  return {};
}

/// Any permutation, or any axes that are reduced.
std::optional<Attr> Case::some_axes(OpKind op, const Tensor& type) {
  constexpr size_t kPermuted = 4; // rank up to which all permutations are cases
  size_t rank = type.dims.size();
  if (type.packed || (op == OpKind::Transpose && rank > kPermuted))
    return beyond("any axes of a tensor of any rank"), std::nullopt;
  std::vector<Poly> chosen;
  if (op == OpKind::Transpose) {
    std::vector<int64_t> left(rank);
    for (size_t i = 0; i < rank; ++i) left[i] = static_cast<int64_t>(i);
    for (; !left.empty();) {
      size_t i = choices_.choose(left.size());
      chosen.push_back(left[i]);
      left.erase(left.begin() + static_cast<std::ptrdiff_t>(i));
    }
  } else {
    for (size_t i = 0; i < rank; ++i)
      if (choices_.choose(2) == 1) chosen.push_back(static_cast<int64_t>(i));
    if (chosen.empty()) stop(Outcome::Impossible);
  }
  return Attr::of(std::move(chosen));
}

/// Any shape, of the rank that the rule's text says, or of any.
Attr Case::some_shape(TermId reshape, uint32_t v) {
  std::optional<size_t> rank = ranks_.terms[reshape];
  if (!rank) rank = ranks_.lengths[v];
  if (!rank) rank = choices_.choose(kMaxRank + 1);
  std::vector<Poly> ns;
  for (size_t i = 0; i < *rank; ++i) ns.push_back(arith_.fresh_poly(1));
  return Attr::of(std::move(ns));
}

const Attr& Case::value_variable(uint32_t v, const AttrInfo& info, const Tensor& first) {
  if (values_[v]) return *values_[v];
  // What a condition says it is.
  for (ExprIndex condition : rule_.conditions) {
    const ValueExpr& e = rule_.exprs[condition];
    if (e.kind != Kind::Eq || info.kind == AttrKind::pad) continue;
    for (size_t side : {0, 1}) {
      const ValueExpr& me = rule_.exprs[e.operands[side]];
      if (me.kind != Kind::Variable || me.variable != v || !bound_all(e.operands[1 - side]))
        continue;
      if (std::optional<Attr> value = evaluate(e.operands[1 - side]); value && !values_[v])
        values_[v] = value;
    }
  }
  if (!values_[v]) {
    Attr attr = fresh_attr(info, first);
    if (info.kind == AttrKind::act) attr = Attr::any_member(v);
    if (info.kind == AttrKind::real)
      attr.number = Sums::of({Factor::Kind::Unknown, std::to_string(v), {}, {}, false});
    values_[v] = std::move(attr);
  }
  try_conditions();
  return *values_[v];
}

/// As infer() would have it: the one form that values of the slot's kind have, so that who asks for
/// an attribute never finds another. nullopt for what has none, and for kinds that no model reads.
std::optional<Attr> Case::in_normal_form(AttrKind kind, Attr attr) const {
  using Is = Attr::Kind;
  auto repeated = [&](size_t from, size_t to) { // [h, w] for [h, w, h, w]
    if (attr.kind == Is::Int && from == 1) attr = Attr::of(std::vector<Poly>{attr.n});
    if (attr.kind != Is::Ints || attr.ns.size() != from) return;
    for (size_t i = from; i < to; ++i) attr.ns.push_back(attr.ns[i - from]);
  };
  bool fits = false;
  switch (kind) {
  case AttrKind::integer:
  case AttrKind::axis: fits = attr.kind == Is::Int; break;
  case AttrKind::boolean: fits = attr.kind == Is::Bool; break;
  case AttrKind::real:
    if (attr.kind == Is::Int)
      if (std::optional<int64_t> n = arith_.normal(attr.n).constant())
        attr = Attr{Is::Number, 0, {}, "", false, Sums::number(Ratio{*n})};
    [[fallthrough]];
  case AttrKind::floats: fits = attr.kind == Is::Number; break;
  case AttrKind::axes: repeated(1, 1); [[fallthrough]];
  case AttrKind::ints: fits = attr.kind == Is::Ints; break;
  case AttrKind::pair:
    repeated(1, 2);
    fits = attr.kind == Is::Ints && attr.ns.size() == 2;
    break;
  case AttrKind::pad:
    repeated(1, 4);
    repeated(2, 4);
    fits = attr.kind == Is::Text ? attr.text == "same" || attr.text == "valid"
                                 : attr.kind == Is::Ints && attr.ns.size() == 4;
    break;
  case AttrKind::act: fits = attr.kind == Is::Text && (attr.any() || parse_act(attr.text)); break;
  case AttrKind::type: fits = attr.kind == Is::Shape; break;
  case AttrKind::string:
  case AttrKind::dtype: break;
  }
  return fits ? std::optional<Attr>(std::move(attr)) : std::nullopt;
}

Attr Case::attribute(TermId id, size_t slot) {
  if (auto known = attributes_[id].find(slot); known != attributes_[id].end()) return known->second;
  const Term& term = rule_.terms[id];
  const TermAttr& a = term.attrs[slot];
  const AttrInfo& info = op_info(term.op).attrs()[slot];
  std::optional<Attr> attr;
  if (a.kind == TermAttr::Kind::Literal) attr = literal(a.literal);
  if (a.kind == TermAttr::Kind::Computed) attr = evaluate(a.expr);
  bool open = a.kind == TermAttr::Kind::Variable && !values_[a.variable];
  if (open && info.kind == AttrKind::axes)
    values_[a.variable] = some_axes(term.op, type(term.operands[0]));
  if (open && term.op == OpKind::Reshape) values_[a.variable] = some_shape(id, a.variable);
  if (a.kind == TermAttr::Kind::Variable)
    attr =
        value_variable(a.variable, info, term.operands.empty() ? Tensor() : type(term.operands[0]));
  if (attr) attr = in_normal_form(info.kind, std::move(*attr));
  if (!attr) {
    beyond("an attribute that is not understood: " + std::string(info.name));
    return {};
  }
  if (info.kind == AttrKind::pair || info.kind == AttrKind::pad) // as infer() demands
    for (const Poly& n : attr->ns) must(at_least(n, info.kind == AttrKind::pair));
  attributes_[id].emplace(slot, *attr);
  return *attr;
}

} // namespace tg::proof
