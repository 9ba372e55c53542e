// Elements of terms at a symbolic index, after lang/core/semantics_*.h.
#include "compiler/equiv/proof/case.h"

#include <llvm/ADT/STLExtras.h>

namespace tg::proof {

namespace {

Value over_size(const Poly& size) {
  return Sums::of({Factor::Kind::InverseSize, "", {size}, {}, false});
}

} // namespace

// --- sums ------------------------------------------------------------------------------------

/// Opens a sum over 0 .. size; its symbol, or 0 for a sum of one term.
Poly Case::open_sum(const Poly& size) {
  scopes_.push_back({arith_.mark(), {}});
  if (is(size, 1)) return 0;
  Sym s = arith_.fresh();
  bound_.resize(s + 1);
  bound_[s] = true;
  scopes_.back().symbols.push_back({s, size});
  arith_.push(at_least(Poly::of(s), 0));
  arith_.push(less(Poly::of(s), size));
  return Poly::of(s);
}

Value Case::close_sum(Value body) {
  Scope scope = std::move(scopes_.back());
  scopes_.pop_back();
  arith_.restore(scope.mark);
  for (const auto& [s, size] : scope.symbols) {
    for (Product& p : body.products) p.bound.push_back(s);
    body = Sums::where(std::move(body), {at_least(Poly::of(s), 0), less(Poly::of(s), size)});
  }
  return body;
}

/// The operand's element where all guards hold, else 0. What is known is decided at once.
Value Case::within(TermId operand, const Index& index, std::vector<Fact> guards) {
  std::vector<Fact> open;
  for (const Fact& guard : guards) {
    if (arith_.follows(guard)) continue;
    if (arith_.follows(negated(guard))) return {};
    if (!has_bound(guard.p)) {
      if (!decide(guard)) return {};
      continue;
    }
    open.push_back(guard);
  }
  size_t mark = arith_.mark();
  for (const Fact& guard : open) arith_.push(guard);
  Value value = at(operand, index);
  arith_.restore(mark);
  return Sums::where(std::move(value), open);
}

// --- terms -----------------------------------------------------------------------------------

/// The index into an operand that broadcasts.
Case::Index Case::operand_index(TermId operand, const Index& index) {
  const std::vector<Poly> dims = type(operand).dims;
  Index result(index.end() - static_cast<std::ptrdiff_t>(dims.size()), index.end());
  for (size_t i = 0; i < dims.size(); ++i)
    if (is(dims[i], 1)) result[i] = 0;
  return result;
}

Value Case::at(TermId id, const Index& index) {
  if (halted()) return {};
  const Term& term = rule_.terms[id];
  if (term.kind == Term::Kind::ClassVar)
    return Sums::of({Factor::Kind::Element, std::to_string(term.variable), index, {}, false});
  Value value = element(id, index);
  expect_all_read(id);
  return value;
}

/// Ends the proof at an operator of which something had no part in its type and its elements.
void Case::expect_all_read(TermId id) {
  const Term& term = rule_.terms[id];
  const OpInfo& info = op_info(term.op);
  for (size_t slot = 0; slot < term.attrs.size() && !halted(); ++slot)
    if (!attributes_[id].count(slot))
      beyond("the attribute " + std::string(info.attrs()[slot].name) + " of the operator " +
             std::string(info.name) + ", of which proofs know nothing");
  for (TermId operand : term.operands)
    if (!halted() && !types_[operand])
      beyond("an operand of the operator " + std::string(info.name) +
             ", of which proofs know nothing");
}

Value Case::element(TermId id, const Index& index) {
  const Term& term = rule_.terms[id];
  const OpInfo& info = op_info(term.op);
  if (info.has(Trait::Pointwise)) {
    std::vector<Value> args;
    for (TermId operand : term.operands) args.push_back(at(operand, operand_index(operand, index)));
    if (halted()) return {};
    return pointwise(sums_, term.op, std::move(args), dtypes_.may_be_integer(id));
  }
  switch (term.op) {
  case OpKind::Constant: return attribute(id, 0).number;
  case OpKind::Matmul: return matmul(id, index);
  case OpKind::Conv2d: return conv(id, index);
  case OpKind::AvgPool2d: return pool(id, index);
  case OpKind::Clip: return clip(id, index);
  case OpKind::Concat: return concat(id, index);
  case OpKind::Pad: return pad(id, index);
  case OpKind::Enlarge: return enlarge(id, index);
  case OpKind::Reshape: return reshape(id, index);
  case OpKind::ReduceSum:
  case OpKind::ReduceMean: return reduce(id, index);
  case OpKind::BatchNorm: return batch_norm(id, index);
  case OpKind::Softmax: return softmax(id, index);
  default: return at_rest(id, index);
  }
}

Value Case::at_rest(TermId id, const Index& index) {
  const Term& term = rule_.terms[id];
  Index inner = index;
  if (term.op == OpKind::Slice) {
    std::optional<size_t> along = axis(attribute(id, 0).n, type(term.operands[0]));
    if (!along) return {};
    inner[*along] = inner[*along] + attribute(id, 1).n;
    return at(term.operands[0], inner);
  }
  if (term.op == OpKind::Transpose) {
    std::vector<size_t> perm = axes(attribute(id, 0), type(term.operands[0]));
    for (size_t i = 0; i < perm.size() && !halted(); ++i) inner[perm[i]] = index[i];
    return at(term.operands[0], inner);
  }
  beyond(term.op);
  return {};
}

Value pointwise(Sums& sums, OpKind op, std::vector<Value> args, bool integers) {
  const OpInfo& info = op_info(op);
  switch (op) {
  case OpKind::Identity: return args[0];
  case OpKind::Add: return Sums::add(args[0], args[1]);
  case OpKind::Sub: return Sums::add(args[0], Sums::negate(args[1]));
  case OpKind::Neg: return Sums::negate(args[0]);
  case OpKind::Mul: return Sums::multiply(args[0], args[1]);
  case OpKind::Div:
    if (integers) break; // rounded down
    return Sums::multiply(args[0], sums.inverse(args[1]));
  case OpKind::Relu: return sums.maximum(args[0], {});
  case OpKind::Maximum: return sums.maximum(args[0], args[1]);
  case OpKind::Relu6:
    return sums.call("minimum", {sums.maximum(args[0], {}), Sums::number(Ratio{6})}, true);
  case OpKind::Rsqrt: return sums.inverse(sums.call("sqrt", std::move(args), false));
  case OpKind::Sigmoid: {
    Value exp = sums.call("exp", {Sums::negate(args[0])}, false);
    return sums.inverse(Sums::add(Sums::number(Ratio{1}), exp));
  }
  default: break;
  }
  return sums.call(std::string(info.name), std::move(args), info.has(Trait::Commutes));
}

/// As relu6 is: min(max(x, low), high).
Value Case::clip(TermId id, const Index& index) {
  Value x = at(rule_.terms[id].operands[0], index);
  if (halted()) return {};
  Value above = sums_.maximum(x, attribute(id, 0).number);
  return sums_.call("minimum", {std::move(above), attribute(id, 1).number}, true);
}

Value Case::activated(const Attr& act, Value value) {
  if (std::optional<Act> known = parse_act(act.text)) {
    std::optional<OpKind> op = act_op(*known);
    return op ? pointwise(sums_, *op, {std::move(value)}) : value;
  }
  return sums_.call(act.text, {std::move(value)}, false); // any function
}

/// act(sum + bias + residual) of matmul and conv2d.
Value Case::epilogue(TermId id, Value sum, const Index& index, size_t channel_axis) {
  const Term& term = rule_.terms[id];
  if (!type(term.operands[2]).none)
    sum = Sums::add(std::move(sum), at(term.operands[2], {index[channel_axis]}));
  if (!type(term.operands[3]).none) sum = Sums::add(std::move(sum), at(term.operands[3], index));
  if (halted()) return {};
  size_t act = static_cast<size_t>(op_info(term.op).attr_slot("act"));
  return activated(attribute(id, act), std::move(sum));
}

Value Case::matmul(TermId id, const Index& index) {
  const Term& term = rule_.terms[id];
  auto batch = [&](TermId operand) { // the index of the leading axes, and room for two
    const std::vector<Poly> dims = type(operand).dims;
    Index result(dims.size(), Poly(0));
    for (size_t i = 0; i + 2 < dims.size(); ++i)
      if (!is(dims[i], 1)) result[i] = index[index.size() - dims.size() + i];
    return result;
  };
  Index left = batch(term.operands[0]), right = batch(term.operands[1]);
  Poly k = open_sum(type(term.operands[0]).dims.back());
  left[left.size() - 2] = index[index.size() - 2];
  left[left.size() - 1] = k;
  right[right.size() - 2] = k;
  right[right.size() - 1] = index.back();
  Value x = at(term.operands[0], left), y = at(term.operands[1], right);
  Value sum = close_sum(Sums::multiply(x, y));
  return epilogue(id, std::move(sum), index, index.size() - 1);
}

/// Of a convolution of more than one; the same for equal arguments.
const Case::Groups& Case::groups(const Poly& inputs, const Poly& inputs_each, const Poly& outputs) {
  for (const auto& known : groups_)
    if (is(known->inputs, inputs) && is(known->inputs_each, inputs_each) &&
        is(known->outputs, outputs))
      return *known;
  groups_.push_back(std::make_unique<Groups>(
      Groups{inputs, inputs_each, outputs, arith_.fresh_poly(2), arith_.fresh_poly(1)}));
  const Groups& made = *groups_.back();
  arith_.assume(proof::equal(inputs, made.count * inputs_each));
  arith_.assume(proof::equal(outputs, made.count * made.outputs_each));
  return made;
}

/// Sums over channels of the group and over the window; elements outside of x are 0.
Value Case::conv(TermId id, const Index& index) {
  const Term& term = rule_.terms[id];
  TermId x = term.operands[0], w = term.operands[1];
  const std::vector<Poly> xs = type(x).dims, ws = type(w).dims;
  Attr stride = attribute(id, 0), dilation = attribute(id, 2);
  bool one_group = is(xs[1], ws[1]);
  // The group g of output o: g * per <= o < (g + 1) * per; a sum of one term.
  Poly group = 0;
  std::vector<Fact> of_group;
  if (!one_group) {
    const Groups& made = groups(xs[1], ws[1], ws[0]);
    Poly per = made.outputs_each;
    group = open_sum(made.count);
    of_group = {at_least(index[1], group * per), less(index[1], group * per + per)};
    for (const Fact& guard : of_group) arith_.push(guard);
  }
  Poly c = open_sum(ws[1]), i = open_sum(ws[2]), j = open_sum(ws[3]);
  Index from = {index[0], one_group ? c : group * ws[1] + c,
                index[2] * stride.ns[0] + i * dilation.ns[0] - conv_window(id, 0).before,
                index[3] * stride.ns[1] + j * dilation.ns[1] - conv_window(id, 1).before};
  Attr pad = attribute(id, 1);
  bool unpadded = pad.kind == Attr::Kind::Text && pad.text == "valid";
  std::vector<Fact> inside;
  for (size_t axis : {2, 3}) {
    if (unpadded) break; // every window lies inside
    inside.push_back(at_least(from[axis], 0));
    inside.push_back(less(from[axis], xs[axis]));
  }
  Value kernel = at(w, {index[1], c, i, j});
  Value sum = Sums::multiply(within(x, from, inside), kernel);
  for (int n = 0; n < 3; ++n) sum = close_sum(std::move(sum));
  if (!one_group) sum = close_sum(Sums::where(std::move(sum), of_group));
  return epilogue(id, std::move(sum), index, 1);
}

Value Case::pool(TermId id, const Index& index) {
  Attr kernel = attribute(id, 0), stride = attribute(id, 1), pad = attribute(id, 2);
  bool unpadded = pad.kind == Attr::Kind::Text && pad.text == "valid";
  bool all_count = attribute(id, 3).truth; // makes no difference where nothing is padded
  if (!unpadded && !all_count) return beyond("averages over windows of different sizes"), Value();
  TermId x = rule_.terms[id].operands[0];
  const std::vector<Poly> xs = type(x).dims;
  Poly i = open_sum(kernel.ns[0]), j = open_sum(kernel.ns[1]);
  Index from = {index[0], index[1], index[2] * stride.ns[0] + i - pool_window(id, 0).before,
                index[3] * stride.ns[1] + j - pool_window(id, 1).before};
  std::vector<Fact> inside;
  for (size_t axis : {2, 3}) {
    if (unpadded) break; // every window lies inside
    inside.push_back(at_least(from[axis], 0));
    inside.push_back(less(from[axis], xs[axis]));
  }
  Value sum = close_sum(close_sum(within(x, from, inside)));
  return Sums::multiply(sum, Sums::multiply(over_size(kernel.ns[0]), over_size(kernel.ns[1])));
}

Value Case::concat(TermId id, const Index& index) {
  const Term& term = rule_.terms[id];
  std::optional<size_t> along = axis(attribute(id, 0).n, type(term.operands[0]));
  if (!along) return {};
  Poly before = 0;
  Value result;
  for (size_t i = 0; i < term.operands.size() && !halted(); ++i) {
    TermId operand = term.operands[i];
    const Tensor& piece = type(operand);
    if (halted()) return {};
    Poly size = piece.dims[*along];
    Index inner = index;
    inner[*along] = index[*along] - before;
    std::vector<Fact> guards;
    if (i > 0) guards.push_back(at_least(inner[*along], 0));
    if (i + 1 < term.operands.size()) guards.push_back(less(inner[*along], size));
    result = Sums::add(std::move(result), within(operand, inner, guards));
    before = before + size;
  }
  return result;
}

Value Case::pad(TermId id, const Index& index) {
  TermId x = rule_.terms[id].operands[0];
  const std::vector<Poly> dims = type(x).dims;
  Attr before = attribute(id, 0), after = attribute(id, 1), fill = attribute(id, 2);
  Index inner = index;
  std::vector<Fact> inside;
  bool zero = fill.number.products.empty();
  for (size_t i = 0; i < dims.size(); ++i) {
    inner[i] = index[i] - before.ns[i];
    if (!is(before.ns[i], 0)) inside.push_back(at_least(inner[i], 0));
    if (!is(after.ns[i], 0)) inside.push_back(less(inner[i], dims[i]));
  }
  if (zero) return within(x, inner, inside);
  for (const Fact& guard : inside) // decided one after the other
    if (!decide(guard)) return fill.number;
  return at(x, inner);
}

Value Case::enlarge(TermId id, const Index& index) {
  TermId w = rule_.terms[id].operands[0];
  const std::vector<Poly> dims = type(w).dims;
  Attr kernel = attribute(id, 0);
  Index inner = index;
  std::vector<Fact> inside;
  for (size_t i : {2, 3}) {
    if (is(kernel.ns[i - 2], dims[i])) continue;
    Poly ring = arith_.fresh_poly(0);
    arith_.assume(proof::equal(kernel.ns[i - 2], dims[i] + ring + ring));
    inner[i] = index[i] - ring;
    inside.push_back(at_least(inner[i], 0));
    inside.push_back(less(inner[i], dims[i]));
  }
  return within(w, inner, inside);
}

// --- rows ------------------------------------------------------------------------------------

Value Case::reduce(TermId id, const Index& index) {
  TermId x = rule_.terms[id].operands[0];
  const std::vector<Poly> dims = type(x).dims;
  std::vector<size_t> gone = axes(attribute(id, 0), type(x));
  bool keep = attribute(id, 1).truth, mean = rule_.terms[id].op == OpKind::ReduceMean;
  Index inner;
  Value factor = Sums::number(Ratio{1});
  size_t next = 0;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (!llvm::is_contained(gone, i)) {
      inner.push_back(index[next++]);
      continue;
    }
    inner.push_back(open_sum(dims[i]));
    next += keep;
    if (mean) factor = Sums::multiply(factor, over_size(dims[i]));
  }
  Value sum = at(x, inner);
  for (size_t i = 0; i < gone.size(); ++i) sum = close_sum(std::move(sum));
  return Sums::multiply(sum, factor);
}

Value Case::batch_norm(TermId id, const Index& index) {
  const Term& term = rule_.terms[id];
  auto of_channel = [&](size_t operand) { return at(term.operands[operand], {index[1]}); };
  Value x = at(term.operands[0], index), eps = attribute(id, 0).number;
  Value variance = Sums::add(of_channel(4), eps);
  if (halted()) return {};
  Value root = sums_.call("sqrt", {std::move(variance)}, false);
  Value scaled = Sums::multiply(Sums::add(x, Sums::negate(of_channel(3))), sums_.inverse(root));
  return Sums::add(Sums::multiply(scaled, of_channel(1)), of_channel(2));
}

/// By its definition; the maximum that is subtracted cancels.
Value Case::softmax(TermId id, const Index& index) {
  TermId x = rule_.terms[id].operands[0];
  std::optional<size_t> along = axis(attribute(id, 0).n, type(x));
  if (!along) return {};
  Value above = sums_.call("exp", {at(x, index)}, false);
  if (halted()) return {};
  Index row = index;
  row[*along] = open_sum(type(x).dims[*along]);
  Value below = close_sum(sums_.call("exp", {at(x, row)}, false));
  return halted() ? Value() : Sums::multiply(above, sums_.inverse(below));
}

// --- the verdict -----------------------------------------------------------------------------

void Case::compare(size_t result) {
  const std::vector<Poly> dims = type(rule_.lhs[result]).dims;
  Index index;
  for (const Poly& dim : dims) {
    if (is(dim, 1)) {
      index.push_back(0);
      continue;
    }
    index.push_back(arith_.fresh_poly(0));
    arith_.assume(less(index.back(), dim));
  }
  Value left = at(rule_.lhs[result], index), right = at(rule_.rhs[result], index);
  if (halted()) return;
  if (!arith_.consistent()) return stop(Outcome::Impossible);
  if (!sums_.equal(left, right)) stop(Outcome::Unproved, "the normal forms differ");
}

} // namespace tg::proof
