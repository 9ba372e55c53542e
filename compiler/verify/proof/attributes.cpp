#include "compiler/verify/proof/types.h"

namespace tg::proof {

/// Returns an arbitrary value of the slot, in normal form.
Attr Attributes::fresh(const AttrInfo& info, uint32_t v, const Tensor& first) {
  switch (info.kind) {
  case AttrKind::integer: return Attr::of(facts_.arith().fresh_poly(std::nullopt));
  case AttrKind::pair:
    return Attr::of({facts_.arith().fresh_poly(1), facts_.arith().fresh_poly(1)});
  case AttrKind::pad: {
    size_t form = facts_.choose(3);
    if (form == 0) return Attr::member("valid");
    if (form == 1) return Attr::member("same");
    std::vector<Poly> pads;
    for (int i = 0; i < 4; ++i) pads.push_back(facts_.arith().fresh_poly(0));
    return Attr::of(std::move(pads));
  }
  case AttrKind::boolean: {
    Attr attr;
    attr.kind = Attr::Kind::Bool;
    attr.truth = facts_.choose(2) == 1;
    return attr;
  }
  case AttrKind::axis:
    if (first.packed || first.dims.empty()) {
      if (first.packed) facts_.beyond("an axis of a tensor of any rank");
      facts_.stop(Outcome::Impossible);
      return {};
    }
    return Attr::of(Poly(static_cast<int64_t>(facts_.choose(first.dims.size()))));
  case AttrKind::act: return Attr::any_member(v);
  case AttrKind::ints: { // one nonnegative number for each axis: pad; shapes use some_shape
    if (first.packed) break;
    std::vector<Poly> ns;
    for (size_t i = 0; i < first.dims.size(); ++i) ns.push_back(facts_.arith().fresh_poly(0));
    return Attr::of(std::move(ns));
  }
  case AttrKind::real:
    return Attr::of_number(Sums::of({Factor::Kind::Unknown, std::to_string(v), {}, {}, false}));
  default: break;
  }
  facts_.beyond("an attribute of this kind that may be anything: " + std::string(info.name));
  return {};
}

/// Returns an arbitrary permutation, or arbitrary reduced axes.
std::optional<Attr> Attributes::some_axes(OpKind op, const Tensor& type) {
  constexpr size_t kPermuted = 4; // up to this rank all permutations are cases
  size_t rank = type.dims.size();
  if (type.packed || (op == OpKind::Transpose && rank > kPermuted))
    return facts_.beyond("any axes of a tensor of any rank"), std::nullopt;
  std::vector<Poly> chosen;
  if (op == OpKind::Transpose) {
    std::vector<int64_t> left(rank);
    for (size_t i = 0; i < rank; ++i) left[i] = static_cast<int64_t>(i);
    for (; !left.empty();) {
      size_t i = facts_.choose(left.size());
      chosen.push_back(left[i]);
      left.erase(left.begin() + static_cast<std::ptrdiff_t>(i));
    }
  } else {
    for (size_t i = 0; i < rank; ++i)
      if (facts_.choose(2) == 1) chosen.push_back(static_cast<int64_t>(i));
    if (chosen.empty()) facts_.stop(Outcome::Impossible);
  }
  return Attr::of(std::move(chosen));
}

/// Returns an arbitrary shape, of the rank given by the rule's text, or of any rank.
Attr Attributes::some_shape(TermId reshape, uint32_t v) {
  std::optional<size_t> rank = ranks_.terms[reshape];
  if (!rank) rank = ranks_.lengths[v];
  if (!rank) rank = facts_.choose(kMaxRank + 1);
  std::vector<Poly> ns;
  for (size_t i = 0; i < *rank; ++i) ns.push_back(facts_.arith().fresh_poly(1));
  return Attr::of(std::move(ns));
}

/// Returns the attribute in the form that infer() uses. nullopt if it has no such form, and for
/// kinds that no model reads.
std::optional<Attr> Attributes::in_normal_form(AttrKind kind, Attr attr) {
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
      if (std::optional<int64_t> n = facts_.arith().normal(attr.n).constant())
        attr = Attr::of_number(Sums::number(Ratio{*n}));
    [[fallthrough]];
  case AttrKind::floats:
    if (attr.kind == Is::Ints && attr.ns.size() == 1) // an integer that is not a double
      if (std::optional<int64_t> n = facts_.arith().normal(attr.ns[0]).constant())
        attr = Attr::of_number(Sums::number(Ratio{*n}));
    fits = attr.kind == Is::Number;
    break;
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

/// Returns the value of a slot's variable, which is chosen now if it is unknown.
Attr Attributes::variable(TermId id, size_t slot, llvm::function_ref<Tensor()> first) {
  OpKind op = rule_.terms[id].op;
  uint32_t v = rule_.terms[id].attrs[slot].variable;
  const AttrInfo& info = op_info(op).attrs()[slot];
  bool open = !variables_.value(v);
  if (open && info.kind == AttrKind::axes)
    if (std::optional<Attr> axes = some_axes(op, first())) variables_.set(v, std::move(*axes));
  if (open && (op == OpKind::Reshape || op == OpKind::Broadcast))
    variables_.set(v, some_shape(id, v));
  Tensor type = first();
  if (variables_.value(v)) return *variables_.value(v);
  if (info.kind != AttrKind::pad) variables_.take_from_conditions(v);
  if (!variables_.value(v)) variables_.set(v, fresh(info, v, type));
  variables_.try_conditions();
  return *variables_.value(v);
}

Attr Attributes::of(TermId id, size_t slot, llvm::function_ref<Tensor()> first) {
  if (auto known = known_[id].find(slot); known != known_[id].end()) return known->second;
  const TermAttr& a = rule_.terms[id].attrs[slot];
  const AttrInfo& info = op_info(rule_.terms[id].op).attrs()[slot];
  std::optional<Attr> attr;
  if (a.kind == TermAttr::Kind::Literal) attr = literal(a.literal);
  if (a.kind == TermAttr::Kind::Computed) attr = variables_.evaluate(a.expr);
  if (a.kind == TermAttr::Kind::Variable) attr = variable(id, slot, first);
  if (attr) attr = in_normal_form(info.kind, std::move(*attr));
  if (!attr) {
    facts_.beyond("an attribute that proofs do not support: " + std::string(info.name));
    return {};
  }
  if (info.kind == AttrKind::pair || info.kind == AttrKind::pad) // required by infer()
    for (const Poly& n : attr->ns) facts_.must(at_least(n, info.kind == AttrKind::pair));
  known_[id].emplace(slot, *attr);
  return *attr;
}

} // namespace tg::proof
