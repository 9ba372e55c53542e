#include "compiler/verify/proof/types.h"

#include <llvm/ADT/STLExtras.h>

namespace tg::proof {

const Tensor& Types::type(TermId id) {
  static const Tensor nothing;
  if (facts_.halted()) return nothing;
  if (!types_[id]) {
    const Term& term = rule_.terms[id];
    Tensor made =
        term.kind == Term::Kind::ClassVar ? variables_.tensor(term.variable) : type_of(id);
    if (facts_.halted()) return nothing;
    types_[id] = std::move(made);
  }
  return *types_[id];
}

/// Returns the type of a term whose rank an operator requires.
const Tensor& Types::with_rank(TermId id, size_t rank) {
  const Term& term = rule_.terms[id];
  if (term.kind == Term::Kind::ClassVar && !variables_.known(term.variable)) {
    Tensor like;
    bool found =
        variables_.apply_equality(term.variable, like) && like.dims.size() == rank && !like.packed;
    variables_.bind(term.variable, found ? like : fresh_tensor(facts_.arith(), rank));
  }
  const Tensor& made = type(id);
  if (made.packed)
    return of_rank(id, rank);
  else if (made.none || made.dims.size() != rank)
    facts_.stop(Outcome::Impossible);
  return made;
}

/// Fixes the rank of a packed tensor: it then has only the named axes.
const Tensor& Types::of_rank(TermId id, size_t rank) {
  const Tensor& made = type(id);
  if (facts_.halted() || !made.packed) return made;
  if (made.dims.size() != rank) {
    facts_.beyond("an operator of a fixed rank over a tensor of any rank");
    return made;
  }
  facts_.must_equal(made.extra, 0);
  types_[id]->packed = false;
  types_[id]->extra = 0;
  return made;
}

/// Types an operand whose type follows from others; it is absent only in cases that choose so.
void Types::fill(TermId id, const Tensor& wanted) {
  const Term& term = rule_.terms[id];
  if (term.kind == Term::Kind::ClassVar && !variables_.known(term.variable)) {
    Tensor given = wanted;
    if (variables_.may_be_absent(term.variable) && facts_.choose(2) == 1) {
      given = Tensor();
      given.none = true;
    }
    variables_.bind(term.variable, given);
  }
  Tensor made = type(id);
  if (facts_.halted() || made.none) return;
  must_be_as_many(facts_, made, wanted);
  for (size_t i = 0; i < made.dims.size() && !facts_.halted(); ++i)
    facts_.must_equal(made.dims[i], wanted.dims[i]);
}

Poly Types::broadcast(const Poly& a, const Poly& b) {
  if (facts_.is(b, 1)) return a; // for any a
  if (facts_.is(a, 1)) return b;
  if (facts_.decide(proof::equal(a, b))) return a;
  if (facts_.decide(proof::equal(a, 1))) return b;
  if (facts_.decide(proof::equal(b, 1))) return a;
  facts_.stop(Outcome::Impossible);
  return a;
}

Tensor Types::broadcast(const Tensor& a, const Tensor& b) {
  if (a.none || b.none) return facts_.stop(Outcome::Impossible), Tensor();
  const Tensor &more = a.dims.size() >= b.dims.size() ? a : b, &less = &more == &a ? b : a;
  if (less.packed && !more.packed && more.dims.size() > less.dims.size())
    return facts_.beyond("a mix of named and unnamed axes"), Tensor();
  Tensor result = more;
  size_t before = more.dims.size() - less.dims.size();
  for (size_t i = 0; i < less.dims.size(); ++i)
    result.dims[before + i] = broadcast(more.dims[before + i], less.dims[i]);
  result.packed = a.packed || b.packed;
  result.count.reset();
  if (a.packed && b.packed && !facts_.is(a.extra, b.extra)) {
    result.extra = facts_.arith().fresh_poly(0); // the larger one
    facts_.must(at_least(result.extra, a.extra));
    facts_.must(at_least(result.extra, b.extra));
  } else if (result.packed) {
    result.extra = a.packed ? a.extra : b.extra;
  }
  return result;
}

Tensor Types::type_of(TermId id) {
  using Rule = Tensor (Types::*)(TermId);
  static constexpr Rule kOf[] = {
#define TG_OP(...)
#define TG_TYPE_proved(member) &Types::member
#define TG_TYPE_typed(member) &Types::member
#define TG_TYPE_tested(member) nullptr
#define TG_SHAPE(shape, result, dtype, price, proof) TG_TYPE_##proof(shape),
#include "lang/core/ops.def"
  };
  OpKind op = rule_.terms[id].op;
  if (Rule rule = kOf[static_cast<size_t>(op_info(op).shape)]) return (this->*rule)(id);
  facts_.beyond(op);
  return {};
}

Tensor Types::none(TermId) {
  Tensor none;
  none.none = true;
  return none;
}

Tensor Types::same(TermId id) {
  Tensor x = type(rule_.terms[id].operands[0]);
  if (x.none) facts_.stop(Outcome::Impossible);
  return x;
}

Tensor Types::clip(TermId id) { return same(id); }

Tensor Types::softmax(TermId id) { return same(id); }

Tensor Types::broadcast(TermId id) {
  const Term& term = rule_.terms[id];
  Tensor a = type(term.operands[0]), b = type(term.operands[1]);
  return broadcast(a, b);
}

Tensor Types::compare(TermId id) { return broadcast(id); }

Tensor Types::leaf(TermId id) {
  Tensor result;
  if (rule_.terms[id].op != OpKind::Constant) return facts_.beyond("a leaf"), result;
  Attr shape = attribute(id, 1);
  if (shape.kind != Attr::Kind::Shape) return facts_.beyond("the type of a constant"), result;
  for (const Poly& dim : shape.ns) {
    if (!dim.constant()) facts_.must(at_least(dim, 1));
    result.dims.push_back(dim);
  }
  return result;
}

Tensor Types::matmul(TermId id) {
  const Term& term = rule_.terms[id];
  Tensor x = type(term.operands[0]), y = type(term.operands[1]);
  if (facts_.halted()) return {};
  size_t m = x.dims.size(), n = y.dims.size();
  if (x.none || y.none || m < 2 || n < 2) return facts_.stop(Outcome::Impossible), Tensor();
  facts_.must_equal(x.dims[m - 1], y.dims[n - 2]);
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

Tensor Types::conv2d(TermId id) {
  const Term& term = rule_.terms[id];
  Tensor x = with_rank(term.operands[0], 4), w = with_rank(term.operands[1], 4);
  if (facts_.halted()) return {};
  if (!facts_.decide(proof::equal(x.dims[1], w.dims[1])))
    windows_.groups(x.dims[1], w.dims[1], w.dims[0]);
  Tensor result;
  result.dims = {x.dims[0], w.dims[0], conv_window(id, 0).out, conv_window(id, 1).out};
  Tensor bias;
  bias.dims = {w.dims[0]};
  fill(term.operands[2], bias);
  fill(term.operands[3], result);
  return result;
}

const Window& Types::conv_window(TermId id, size_t axis) {
  static const Window nothing;
  const Term& term = rule_.terms[id];
  Attr stride = attribute(id, 0), pad = attribute(id, 1), dilation = attribute(id, 2);
  Tensor x = type(term.operands[0]), w = type(term.operands[1]);
  if (facts_.halted()) return nothing;
  return windows_.window(x.dims[2 + axis], w.dims[2 + axis], stride.ns[axis], dilation.ns[axis],
                         pad, axis);
}

const Window& Types::pool_window(TermId id, size_t axis) {
  static const Window nothing;
  Attr kernel = attribute(id, 0), stride = attribute(id, 1), pad = attribute(id, 2);
  Tensor x = type(rule_.terms[id].operands[0]);
  if (facts_.halted()) return nothing;
  return windows_.window(x.dims[2 + axis], kernel.ns[axis], stride.ns[axis], 1, pad, axis);
}

Tensor Types::pool2d(TermId id) {
  Tensor x = with_rank(rule_.terms[id].operands[0], 4), result;
  if (facts_.halted()) return {};
  result.dims = {x.dims[0], x.dims[1], pool_window(id, 0).out, pool_window(id, 1).out};
  return result;
}

Tensor Types::concat(TermId id) {
  const Term& term = rule_.terms[id];
  // An operand of known type leads; variables of unknown type follow it.
  size_t lead = 0;
  for (size_t i = term.operands.size(); i-- > 0;) {
    const Term& operand = rule_.terms[term.operands[i]];
    if (operand.kind == Term::Kind::Op || variables_.known(operand.variable)) lead = i;
  }
  Tensor result = type(term.operands[lead]);
  if (facts_.halted()) return {};
  if (result.none || (!result.packed && result.dims.empty()))
    return facts_.stop(Outcome::Impossible), Tensor();
  // The axis of an arbitrary attribute is one of the first operand's.
  TermId first = term.operands[0];
  auto follow = [&](TermId operand) {
    const Term& t = rule_.terms[operand];
    if (t.kind != Term::Kind::ClassVar || variables_.known(t.variable)) return;
    Tensor like = result;
    for (Poly& dim : like.dims) dim = facts_.arith().fresh_poly(1);
    variables_.bind(t.variable, like);
  };
  follow(first);
  std::optional<size_t> along = axis(facts_, attribute(id, 0).n, type(first));
  if (!along) return {};
  Poly total = 0;
  for (TermId operand : term.operands) {
    follow(operand);
    Tensor x = type(operand);
    if (facts_.halted()) return {};
    if (x.none || x.dims.size() != result.dims.size() || x.packed != result.packed)
      return facts_.stop(x.packed != result.packed ? Outcome::Beyond : Outcome::Impossible),
             Tensor();
    facts_.must_equal(x.extra, result.extra);
    for (size_t i = 0; i < x.dims.size() && !facts_.halted(); ++i)
      if (i != *along) facts_.must_equal(x.dims[i], result.dims[i]);
    total = total + x.dims[*along];
  }
  result.dims[*along] = total;
  return result;
}

Tensor Types::slice(TermId id) {
  Tensor x = type(rule_.terms[id].operands[0]);
  if (facts_.halted()) return {};
  if (x.none || (!x.packed && x.dims.empty())) return facts_.stop(Outcome::Impossible), Tensor();
  std::optional<size_t> along = axis(facts_, attribute(id, 0).n, x);
  Attr start = attribute(id, 1), stop_at = attribute(id, 2);
  if (facts_.halted() || !along) return {};
  // Negative ones count from the end; bound variables are in normal form.
  for (size_t slot : {1, 2}) {
    Attr& end = slot == 1 ? start : stop_at;
    bool bound = rule_.terms[id].attrs[slot].kind == TermAttr::Kind::Variable;
    if (!bound && !facts_.decide(at_least(end.n, 0))) end.n = end.n + x.dims[*along];
  }
  facts_.must(at_least(start.n, 0));
  facts_.must(less(start.n, stop_at.n));
  facts_.must(at_least(x.dims[*along], stop_at.n));
  attributes_.replace(id, 1, start);
  attributes_.replace(id, 2, stop_at);
  x.dims[*along] = stop_at.n - start.n;
  return x;
}

Tensor Types::reshape(TermId id) {
  Tensor x = type(rule_.terms[id].operands[0]), result;
  if (x.packed && !x.count) facts_.beyond("a reshape of a tensor of any rank");
  Attr shape = attribute(id, 0);
  if (x.none) facts_.stop(Outcome::Impossible);
  if (facts_.halted()) return {};
  Poly elements = x.packed ? *x.count : Poly(1), known = 1;
  for (const Poly& dim : x.dims) elements = elements * dim;
  std::optional<size_t> open;
  for (size_t i = 0; i < shape.ns.size(); ++i) {
    if (facts_.arith().normal(shape.ns[i]) == Poly(-1) && !open) {
      open = i;
      continue;
    }
    // A computed size may also equal -1.
    if (!facts_.arith().follows(at_least(shape.ns[i], 1)) &&
        facts_.decide(proof::equal(shape.ns[i], -1))) {
      if (!facts_.arith().consistent()) facts_.stop(Outcome::Impossible);
      facts_.beyond("a size that may be -1");
    }
    facts_.must(at_least(shape.ns[i], 1));
    known = known * shape.ns[i];
  }
  result.dims = shape.ns;
  if (open) {
    // The whole if there is no other axis; otherwise a new unknown.
    result.dims[*open] =
        facts_.arith().normal(known) == Poly(1) ? elements : facts_.arith().fresh_poly(1);
    known = known * result.dims[*open];
  }
  facts_.must_equal(known, elements);
  // A reshape can ignore unnamed axes only if they have one element.
  if (!facts_.halted() && x.packed && !facts_.is(*x.count, 1))
    facts_.beyond("a reshape of a tensor of any rank");
  return result;
}

Tensor Types::broadcast_to(TermId id) {
  Tensor x = type(rule_.terms[id].operands[0]), result;
  if (x.packed) facts_.beyond("a broadcast of a tensor of any rank");
  if (x.none) facts_.stop(Outcome::Impossible);
  result.dims = attribute(id, 0).ns;
  if (facts_.halted()) return {};
  if (result.dims.size() < x.dims.size()) return facts_.stop(Outcome::Impossible), Tensor();
  size_t before = result.dims.size() - x.dims.size();
  for (const Poly& dim : result.dims) facts_.must(at_least(dim, 1));
  for (size_t i = 0; i < x.dims.size() && !facts_.halted(); ++i) {
    bool known = facts_.is(x.dims[i], 1) || facts_.is(x.dims[i], result.dims[before + i]);
    if (known || facts_.decide(proof::equal(x.dims[i], result.dims[before + i]))) continue;
    facts_.must_equal(x.dims[i], 1);
  }
  return result;
}

Tensor Types::reduce(TermId id) {
  Tensor x = type(rule_.terms[id].operands[0]), result;
  if (x.packed) facts_.beyond("a reduction of a tensor of any rank");
  if (x.none) facts_.stop(Outcome::Impossible);
  std::vector<size_t> gone = axes(facts_, attribute(id, 0), x);
  Attr keep = attribute(id, 1);
  if (facts_.halted()) return {};
  for (size_t i = 0; i < x.dims.size(); ++i) {
    bool reduced = llvm::is_contained(gone, i);
    if (!reduced) result.dims.push_back(x.dims[i]);
    if (reduced && keep.truth) result.dims.push_back(1);
  }
  return result;
}

Tensor Types::transpose(TermId id) {
  const Term& term = rule_.terms[id];
  Tensor x = type(term.operands[0]), result;
  if (x.packed && term.attrs[0].kind == TermAttr::Kind::Literal)
    x = of_rank(term.operands[0], term.attrs[0].literal.ints.size());
  if (x.packed) facts_.beyond("a transpose of a tensor of any rank");
  if (x.none) facts_.stop(Outcome::Impossible);
  std::vector<size_t> perm = axes(facts_, attribute(id, 0), x);
  if (perm.size() != x.dims.size()) facts_.stop(Outcome::Impossible);
  for (size_t i : perm)
    if (!facts_.halted()) result.dims.push_back(x.dims[i]);
  return result;
}

Tensor Types::pad(TermId id) {
  const Term& term = rule_.terms[id];
  Tensor x = type(term.operands[0]);
  if (x.packed) facts_.beyond("padding of a tensor of any rank");
  if (x.none) facts_.stop(Outcome::Impossible);
  Attr before = attribute(id, 0), after = attribute(id, 1);
  if (facts_.halted()) return {};
  if (before.ns.size() != x.dims.size() || after.ns.size() != x.dims.size())
    facts_.stop(Outcome::Impossible);
  for (size_t i = 0; i < x.dims.size() && !facts_.halted(); ++i) {
    facts_.must(at_least(before.ns[i], 0));
    facts_.must(at_least(after.ns[i], 0));
    x.dims[i] = x.dims[i] + before.ns[i] + after.ns[i];
  }
  return x;
}

Tensor Types::enlarge(TermId id) {
  const Term& term = rule_.terms[id];
  Tensor w = with_rank(term.operands[0], 4);
  Attr kernel = attribute(id, 0);
  for (size_t i : {2, 3}) {
    if (facts_.halted()) break;
    facts_.must(at_least(kernel.ns[i - 2], w.dims[i]));
    w.dims[i] = kernel.ns[i - 2];
  }
  return w;
}

Tensor Types::batch_norm(TermId id) {
  const Term& term = rule_.terms[id];
  Tensor x = type(term.operands[0]);
  if (x.packed) facts_.beyond("batch_norm of a tensor of any rank");
  if (x.none || x.dims.size() < 2) facts_.stop(Outcome::Impossible);
  if (facts_.halted()) return {};
  Tensor channels;
  channels.dims = {x.dims[1]};
  for (size_t i = 1; i < 5; ++i) fill(term.operands[i], channels);
  return x;
}

Attr Types::attribute(TermId id, size_t slot) {
  return attributes_.of(id, slot, [&] {
    llvm::ArrayRef<TermId> operands = rule_.terms[id].operands;
    return operands.empty() ? Tensor() : type(operands[0]);
  });
}

void Types::expect_all_read(TermId id) {
  const Term& term = rule_.terms[id];
  const OpInfo& info = op_info(term.op);
  for (size_t slot = 0; slot < term.attrs.size() && !facts_.halted(); ++slot)
    if (!attributes_.was_read(id, slot))
      facts_.beyond("the attribute " + std::string(info.attrs()[slot].name) + " of the operator " +
                    std::string(info.name) + ", which proofs do not support");
  for (TermId operand : term.operands)
    if (!facts_.halted() && !types_[operand])
      facts_.beyond("an operand of the operator " + std::string(info.name) +
                    ", which proofs do not support");
}

} // namespace tg::proof
