// Types of terms over symbolic sizes, after lang/core/shape_rules.cpp. What infer() demands is
// assumed (`must`): a case where it fails is one that the engine refuses.
#include "compiler/equiv/proof/case.h"

#include <llvm/ADT/STLExtras.h>

namespace tg::proof {

const Tensor& Case::type(TermId id) {
  static const Tensor nothing;
  if (halted()) return nothing;
  if (!types_[id]) {
    const Term& term = rule_.terms[id];
    Tensor made = term.kind == Term::Kind::ClassVar ? variable(term.variable) : type_of(id);
    if (halted()) return nothing;
    types_[id] = std::move(made);
  }
  return *types_[id];
}

/// The type of a term of a rank that an operator demands.
const Tensor& Case::with_rank(TermId id, size_t rank) {
  const Term& term = rule_.terms[id];
  if (term.kind == Term::Kind::ClassVar && !variables_[term.variable]) {
    Tensor like;
    bool found = like_another(term.variable, like) && like.dims.size() == rank && !like.packed;
    bind(term.variable, found ? like : fresh_tensor(rank));
  }
  const Tensor& made = type(id);
  if (made.packed)
    return of_rank(id, rank);
  else if (made.none || made.dims.size() != rank)
    stop(Outcome::Impossible);
  return made;
}

/// A packed tensor of which the rank becomes known: it has no axes but those with names.
const Tensor& Case::of_rank(TermId id, size_t rank) {
  const Tensor& made = type(id);
  if (halted() || !made.packed) return made;
  if (made.dims.size() != rank) {
    beyond("an operator of a fixed rank over a tensor of any rank");
    return made;
  }
  must_equal(made.extra, 0);
  types_[id]->packed = false;
  types_[id]->extra = 0;
  return made;
}

/// An operand whose type is decided by others; absent it may be only where that is chosen.
void Case::fill(TermId id, const Tensor& wanted) {
  const Term& term = rule_.terms[id];
  if (term.kind == Term::Kind::ClassVar && !variables_[term.variable]) {
    Tensor given = wanted;
    if (may_be_absent_[term.variable] && choices_.choose(2) == 1) {
      given = Tensor();
      given.none = true;
    }
    bind(term.variable, given);
  }
  Tensor made = type(id);
  if (halted() || made.none) return;
  must_be_as_many(made, wanted);
  for (size_t i = 0; i < made.dims.size() && !halted(); ++i)
    must_equal(made.dims[i], wanted.dims[i]);
}

Poly Case::broadcast(const Poly& a, const Poly& b) {
  if (is(b, 1)) return a; // whatever a is
  if (is(a, 1)) return b;
  if (decide(proof::equal(a, b))) return a;
  if (decide(proof::equal(a, 1))) return b;
  if (decide(proof::equal(b, 1))) return a;
  stop(Outcome::Impossible);
  return a;
}

Tensor Case::broadcast(const Tensor& a, const Tensor& b) {
  if (a.none || b.none) return stop(Outcome::Impossible), Tensor();
  const Tensor &more = a.dims.size() >= b.dims.size() ? a : b, &less = &more == &a ? b : a;
  if (less.packed && !more.packed && more.dims.size() > less.dims.size())
    return beyond("axes with names beside axes without"), Tensor();
  Tensor result = more;
  size_t before = more.dims.size() - less.dims.size();
  for (size_t i = 0; i < less.dims.size(); ++i)
    result.dims[before + i] = broadcast(more.dims[before + i], less.dims[i]);
  result.packed = a.packed || b.packed;
  result.count.reset();
  if (a.packed && b.packed && !is(a.extra, b.extra)) {
    result.extra = arith_.fresh_poly(0); // the larger
    must(at_least(result.extra, a.extra));
    must(at_least(result.extra, b.extra));
  } else if (result.packed) {
    result.extra = a.packed ? a.extra : b.extra;
  }
  return result;
}

std::optional<size_t> Case::axis(const Poly& p, const Tensor& type) {
  if (halted()) return std::nullopt; // what was asked for the axis, perhaps
  Poly place = arith_.normal(p);
  if (std::optional<int64_t> n = place.constant(); n && *n < 0) place = place + type.rank();
  std::optional<int64_t> n = arith_.normal(place - type.extra).constant();
  if (!n) return beyond("an axis that is not known"), std::nullopt;
  if (*n < 0 && type.packed) return beyond("an axis that has no name"), std::nullopt;
  if (*n < 0 || *n >= static_cast<int64_t>(type.dims.size()))
    return stop(Outcome::Impossible), std::nullopt;
  return static_cast<size_t>(*n);
}

std::vector<size_t> Case::axes(const Attr& attr, const Tensor& type) {
  std::vector<size_t> all;
  for (const Poly& n : attr.ns) {
    std::optional<size_t> place = axis(n, type);
    if (place && llvm::is_contained(all, *place)) stop(Outcome::Impossible);
    if (halted()) return {};
    all.push_back(*place);
  }
  return all;
}

Tensor Case::type_of(TermId id) {
  const Term& term = rule_.terms[id];
  const OpInfo& info = op_info(term.op);
  switch (info.shape) {
  case ShapeRule::none: {
    Tensor none;
    none.none = true;
    return none;
  }
  case ShapeRule::same:
  case ShapeRule::clip:
  case ShapeRule::softmax: {
    Tensor x = type(term.operands[0]);
    if (x.none) stop(Outcome::Impossible);
    return x;
  }
  case ShapeRule::broadcast:
  case ShapeRule::compare: {
    Tensor a = type(term.operands[0]), b = type(term.operands[1]);
    return broadcast(a, b);
  }
  case ShapeRule::leaf: return constant_type(id);
  case ShapeRule::matmul: return matmul_type(id);
  case ShapeRule::conv2d: return conv_type(id);
  case ShapeRule::pool2d: return pool_type(id);
  case ShapeRule::concat: return concat_type(id);
  case ShapeRule::slice: return slice_type(id);
  case ShapeRule::reshape: return reshape_type(id);
  case ShapeRule::reduce: return reduce_type(id);
  default: return type_of_rest(id);
  }
}

Tensor Case::type_of_rest(TermId id) {
  const Term& term = rule_.terms[id];
  switch (op_info(term.op).shape) {
  case ShapeRule::transpose: {
    Tensor x = type(term.operands[0]), result;
    if (x.packed && term.attrs[0].kind == TermAttr::Kind::Literal)
      x = of_rank(term.operands[0], term.attrs[0].literal.ints.size());
    if (x.packed) beyond("a transpose of a tensor of any rank");
    if (x.none) stop(Outcome::Impossible);
    std::vector<size_t> perm = axes(attribute(id, 0), x);
    if (perm.size() != x.dims.size()) stop(Outcome::Impossible);
    for (size_t i : perm)
      if (!halted()) result.dims.push_back(x.dims[i]);
    return result;
  }
  case ShapeRule::pad: {
    Tensor x = type(term.operands[0]);
    if (x.packed) beyond("padding of a tensor of any rank");
    if (x.none) stop(Outcome::Impossible);
    Attr before = attribute(id, 0), after = attribute(id, 1);
    if (halted()) return {};
    if (before.ns.size() != x.dims.size() || after.ns.size() != x.dims.size())
      stop(Outcome::Impossible);
    for (size_t i = 0; i < x.dims.size() && !halted(); ++i) {
      must(at_least(before.ns[i], 0));
      must(at_least(after.ns[i], 0));
      x.dims[i] = x.dims[i] + before.ns[i] + after.ns[i];
    }
    return x;
  }
  case ShapeRule::enlarge: {
    Tensor w = with_rank(term.operands[0], 4);
    Attr kernel = attribute(id, 0);
    for (size_t i : {2, 3}) {
      if (halted()) break;
      must(at_least(kernel.ns[i - 2], w.dims[i]));
      w.dims[i] = kernel.ns[i - 2];
    }
    return w;
  }
  case ShapeRule::batch_norm: {
    Tensor x = type(term.operands[0]);
    if (x.packed) beyond("batch_norm of a tensor of any rank");
    if (x.none || x.dims.size() < 2) stop(Outcome::Impossible);
    if (halted()) return {};
    Tensor channels;
    channels.dims = {x.dims[1]};
    for (size_t i = 1; i < 5; ++i) fill(term.operands[i], channels);
    return x;
  }
  default: beyond(term.op); return {};
  }
}

Tensor Case::constant_type(TermId id) {
  Tensor result;
  if (rule_.terms[id].op != OpKind::Constant) return beyond("a leaf"), result;
  Attr shape = attribute(id, 1);
  if (shape.kind != Attr::Kind::Shape) return beyond("the type of a constant"), result;
  for (const Poly& dim : shape.ns) {
    if (!dim.constant()) must(at_least(dim, 1));
    result.dims.push_back(dim);
  }
  return result;
}

Tensor Case::matmul_type(TermId id) {
  const Term& term = rule_.terms[id];
  Tensor x = type(term.operands[0]), y = type(term.operands[1]);
  if (halted()) return {};
  size_t m = x.dims.size(), n = y.dims.size();
  if (x.none || y.none || m < 2 || n < 2) return stop(Outcome::Impossible), Tensor();
  must_equal(x.dims[m - 1], y.dims[n - 2]);
  Tensor left = x, right = y;
  left.dims.resize(m - 2);
  right.dims.resize(n - 2);
  Tensor result = broadcast(left, right);
  result.dims.push_back(x.dims[m - 2]);
  result.dims.push_back(y.dims[n - 1]);
  Tensor bias;
  bias.dims = {y.dims[n - 1]};
  fill(term.operands[2], bias);
  fill(term.operands[3], result);
  return result;
}

Tensor Case::conv_type(TermId id) {
  const Term& term = rule_.terms[id];
  Tensor x = with_rank(term.operands[0], 4), w = with_rank(term.operands[1], 4);
  if (halted()) return {};
  if (!decide(proof::equal(x.dims[1], w.dims[1]))) groups(x.dims[1], w.dims[1], w.dims[0]);
  Tensor result;
  result.dims = {x.dims[0], w.dims[0], conv_window(id, 0).out, conv_window(id, 1).out};
  Tensor bias;
  bias.dims = {w.dims[0]};
  fill(term.operands[2], bias);
  fill(term.operands[3], result);
  return result;
}

Tensor Case::pool_type(TermId id) {
  Tensor x = with_rank(rule_.terms[id].operands[0], 4), result;
  if (halted()) return {};
  result.dims = {x.dims[0], x.dims[1], pool_window(id, 0).out, pool_window(id, 1).out};
  return result;
}

Tensor Case::concat_type(TermId id) {
  const Term& term = rule_.terms[id];
  // One whose type is known leads; variables that nothing is known of follow it.
  size_t lead = 0;
  for (size_t i = term.operands.size(); i-- > 0;) {
    const Term& operand = rule_.terms[term.operands[i]];
    if (operand.kind == Term::Kind::Op || variables_[operand.variable]) lead = i;
  }
  Tensor result = type(term.operands[lead]);
  if (halted()) return {};
  if (result.none || (!result.packed && result.dims.empty()))
    return stop(Outcome::Impossible), Tensor();
  // The axis of an attribute that may be any is one of the first operand's.
  TermId first = term.operands[0];
  auto follow = [&](TermId operand) {
    const Term& t = rule_.terms[operand];
    if (t.kind != Term::Kind::ClassVar || variables_[t.variable]) return;
    Tensor like = result;
    for (Poly& dim : like.dims) dim = arith_.fresh_poly(1);
    bind(t.variable, like);
  };
  follow(first);
  std::optional<size_t> along = axis(attribute(id, 0).n, type(first));
  if (!along) return {};
  Poly total = 0;
  for (TermId operand : term.operands) {
    follow(operand);
    Tensor x = type(operand);
    if (halted()) return {};
    if (x.none || x.dims.size() != result.dims.size() || x.packed != result.packed)
      return stop(x.packed != result.packed ? Outcome::Beyond : Outcome::Impossible), Tensor();
    must_equal(x.extra, result.extra);
    for (size_t i = 0; i < x.dims.size() && !halted(); ++i)
      if (i != *along) must_equal(x.dims[i], result.dims[i]);
    total = total + x.dims[*along];
  }
  result.dims[*along] = total;
  return result;
}

Tensor Case::slice_type(TermId id) {
  Tensor x = type(rule_.terms[id].operands[0]);
  if (halted()) return {};
  if (x.none || (!x.packed && x.dims.empty())) return stop(Outcome::Impossible), Tensor();
  std::optional<size_t> along = axis(attribute(id, 0).n, x);
  Attr start = attribute(id, 1), stop_at = attribute(id, 2);
  if (halted() || !along) return {};
  // Negative ones count from the end; what a match binds is in normal form.
  for (size_t slot : {1, 2}) {
    Attr& end = slot == 1 ? start : stop_at;
    bool bound = rule_.terms[id].attrs[slot].kind == TermAttr::Kind::Variable;
    if (!bound && !decide(at_least(end.n, 0))) end.n = end.n + x.dims[*along];
  }
  must(at_least(start.n, 0));
  must(less(start.n, stop_at.n));
  must(at_least(x.dims[*along], stop_at.n));
  attributes_[id].insert_or_assign(1, start);
  attributes_[id].insert_or_assign(2, stop_at);
  x.dims[*along] = stop_at.n - start.n;
  return x;
}

Tensor Case::reshape_type(TermId id) {
  Tensor x = type(rule_.terms[id].operands[0]), result;
  if (x.packed && !x.count) beyond("a reshape of a tensor of any rank");
  Attr shape = attribute(id, 0);
  if (x.none) stop(Outcome::Impossible);
  if (halted()) return {};
  Poly elements = x.packed ? *x.count : Poly(1), known = 1;
  for (const Poly& dim : x.dims) elements = elements * dim;
  std::optional<size_t> open;
  for (size_t i = 0; i < shape.ns.size(); ++i) {
    if (arith_.normal(shape.ns[i]) == Poly(-1) && !open) {
      open = i;
      continue;
    }
    // A size that is computed may come to -1, too.
    if (!arith_.follows(at_least(shape.ns[i], 1)) && decide(proof::equal(shape.ns[i], -1))) {
      if (!arith_.consistent()) stop(Outcome::Impossible);
      beyond("a size that may be -1");
    }
    must(at_least(shape.ns[i], 1));
    known = known * shape.ns[i];
  }
  result.dims = shape.ns;
  if (open) {
    // The whole where nothing else is there; else one more unknown.
    result.dims[*open] = arith_.normal(known) == Poly(1) ? elements : arith_.fresh_poly(1);
    known = known * result.dims[*open];
  }
  must_equal(known, elements);
  // Axes without a name are none to a reshape only where they are of one element.
  if (!halted() && x.packed && !is(*x.count, 1)) beyond("a reshape of a tensor of any rank");
  return result;
}

Tensor Case::reduce_type(TermId id) {
  Tensor x = type(rule_.terms[id].operands[0]), result;
  if (x.packed) beyond("a reduction of a tensor of any rank");
  if (x.none) stop(Outcome::Impossible);
  std::vector<size_t> gone = axes(attribute(id, 0), x);
  Attr keep = attribute(id, 1);
  if (halted()) return {};
  for (size_t i = 0; i < x.dims.size(); ++i) {
    bool reduced = llvm::is_contained(gone, i);
    if (!reduced) result.dims.push_back(x.dims[i]);
    if (reduced && keep.truth) result.dims.push_back(1);
  }
  return result;
}

} // namespace tg::proof
