#include "compiler/verify/proof/values.h"

#include "lang/core/formula.h"

#include <llvm/ADT/STLExtras.h>

namespace tg::proof {

namespace {

Value over_size(const Poly& size) {
  return Sums::of({Factor::Kind::InverseSize, "", {size}, {}, false});
}

Value by_formula(Sums& sums, const Formula& formula, llvm::ArrayRef<Value> args, bool integers) {
  std::vector<Value> values(args.begin(), args.end());
  for (const FormulaStep& step : formula.steps().drop_front(args.size())) {
    std::vector<Value> of;
    for (uint8_t i = 0; i < step.arity; ++i) of.push_back(values[step.args[i]]);
    bool literal = step.kind == FormulaStep::Kind::Literal;
    values.push_back(literal ? Sums::number(ratio_of(step.literal))
                             : pointwise(sums, step.op, std::move(of), integers));
  }
  return values.back();
}

} // namespace

Value pointwise(Sums& sums, OpKind op, std::vector<Value> args, bool integers) {
  const OpInfo& info = op_info(op);
  switch (op) {
  case OpKind::Identity: return args[0];
  case OpKind::Add: return Sums::add(args[0], args[1]);
  case OpKind::Sub: return Sums::add(args[0], Sums::negate(args[1]));
  case OpKind::Neg: return Sums::negate(args[0]);
  case OpKind::Mul: return Sums::multiply(args[0], args[1]);
  case OpKind::Div:
    if (integers) break; // rounds down
    return Sums::multiply(args[0], sums.inverse(args[1]));
  case OpKind::Relu: return sums.maximum(args[0], {});
  case OpKind::Maximum: return sums.maximum(args[0], args[1]);
  case OpKind::Sigmoid: {
    Value exp = sums.call("exp", {Sums::negate(args[0])}, false);
    return sums.inverse(Sums::add(Sums::number(Ratio{1}), exp));
  }
  default: break;
  }
  if (const Formula* formula = formula_of(op)) return by_formula(sums, *formula, args, integers);
  return sums.call(std::string(info.name), std::move(args), info.has(Trait::Commutes));
}

// --- terms ------------------------------------------------------------------------------------

/// Returns the operand's element where all guards hold, else 0. Known guards are decided at once.
Value Elements::within(TermId operand, const Index& index, std::vector<Fact> guards) {
  std::vector<Fact> open;
  for (const Fact& guard : guards) {
    if (facts_.arith().follows(guard)) continue;
    if (facts_.arith().follows(negated(guard))) return {};
    if (!facts_.has_bound(guard.p)) {
      if (!facts_.decide(guard)) return {};
      continue;
    }
    open.push_back(guard);
  }
  size_t mark = facts_.arith().mark();
  for (const Fact& guard : open) facts_.arith().push(guard);
  Value value = at(operand, index);
  facts_.arith().restore(mark);
  return Sums::where(std::move(value), open);
}

/// Returns the index into an operand that broadcasts.
Index Elements::operand_index(TermId operand, const Index& index) {
  const std::vector<Poly> dims = types_.type(operand).dims;
  Index result(index.end() - static_cast<std::ptrdiff_t>(dims.size()), index.end());
  for (size_t i = 0; i < dims.size(); ++i)
    if (facts_.is(dims[i], 1)) result[i] = 0;
  return result;
}

Value Elements::at(TermId id, const Index& index) {
  if (facts_.halted()) return {};
  const Term& term = rule_.terms[id];
  if (term.kind == Term::Kind::ClassVar)
    return Sums::of({Factor::Kind::Element, std::to_string(term.variable), index, {}, false});
  Value value = element(id, index);
  types_.expect_all_read(id);
  return value;
}

Value Elements::element(TermId id, const Index& index) {
  const Term& term = rule_.terms[id];
  if (is_pointwise(term.op)) {
    std::vector<Value> args;
    for (TermId operand : term.operands) args.push_back(at(operand, operand_index(operand, index)));
    for (size_t slot = 0; slot < term.attrs.size() && !facts_.halted(); ++slot)
      args.push_back(types_.attribute(id, slot).number);
    if (facts_.halted()) return {};
    return pointwise(sums_, term.op, std::move(args), dtypes_.may_be_integer(id));
  }
  using Rule = Value (Elements::*)(TermId, const Index&);
  static constexpr Rule kOf[] = {
#define TG_OP(...)
#define TG_VALUE_proved(member) &Elements::member
#define TG_VALUE_typed(member) nullptr
#define TG_VALUE_tested(member) nullptr
#define TG_SHAPE(shape, result, dtype, price, proof) TG_VALUE_##proof(shape),
#include "lang/core/ops.def"
  };
  if (Rule rule = kOf[static_cast<size_t>(op_info(term.op).shape)]) return (this->*rule)(id, index);
  facts_.beyond(term.op);
  return {};
}

/// A constant.
Value Elements::leaf(TermId id, const Index&) { return types_.attribute(id, 0).number; }

Value Elements::broadcast_to(TermId id, const Index& index) {
  TermId x = rule_.terms[id].operands[0];
  return at(x, operand_index(x, index));
}

Value Elements::slice(TermId id, const Index& index) {
  const Term& term = rule_.terms[id];
  Index inner = index;
  std::optional<size_t> along =
      axis(facts_, types_.attribute(id, 0).n, types_.type(term.operands[0]));
  if (!along) return {};
  inner[*along] = inner[*along] + types_.attribute(id, 1).n;
  return at(term.operands[0], inner);
}

Value Elements::transpose(TermId id, const Index& index) {
  const Term& term = rule_.terms[id];
  Index inner = index;
  std::vector<size_t> perm = axes(facts_, types_.attribute(id, 0), types_.type(term.operands[0]));
  for (size_t i = 0; i < perm.size() && !facts_.halted(); ++i) inner[perm[i]] = index[i];
  return at(term.operands[0], inner);
}

Value Elements::activated(const Attr& act, Value value) {
  if (std::optional<Act> known = parse_act(act.text)) {
    std::optional<OpKind> op = act_op(*known);
    return op ? pointwise(sums_, *op, {std::move(value)}) : value;
  }
  return sums_.call(act.text, {std::move(value)}, false); // an uninterpreted function
}

/// act(sum + bias + residual) of matmul and conv2d.
Value Elements::epilogue(TermId id, Value sum, const Index& index, size_t channel_axis) {
  const Term& term = rule_.terms[id];
  if (!types_.type(term.operands[2]).none)
    sum = Sums::add(std::move(sum), at(term.operands[2], {index[channel_axis]}));
  if (!types_.type(term.operands[3]).none)
    sum = Sums::add(std::move(sum), at(term.operands[3], index));
  if (facts_.halted()) return {};
  size_t act = static_cast<size_t>(op_info(term.op).attr_slot("act"));
  return activated(types_.attribute(id, act), std::move(sum));
}

Value Elements::matmul(TermId id, const Index& index) {
  const Term& term = rule_.terms[id];
  auto batch = [&](TermId operand) { // the index of the leading axes, and space for two more
    const std::vector<Poly> dims = types_.type(operand).dims;
    Index result(dims.size(), Poly(0));
    for (size_t i = 0; i + 2 < dims.size(); ++i)
      if (!facts_.is(dims[i], 1)) result[i] = index[index.size() - dims.size() + i];
    return result;
  };
  Index left = batch(term.operands[0]), right = batch(term.operands[1]);
  Poly k = indices_.open_sum(types_.type(term.operands[0]).dims.back());
  left[left.size() - 2] = index[index.size() - 2];
  left[left.size() - 1] = k;
  right[right.size() - 2] = k;
  right[right.size() - 1] = index.back();
  Value x = at(term.operands[0], left), y = at(term.operands[1], right);
  Value sum = indices_.close_sum(Sums::multiply(x, y));
  return epilogue(id, std::move(sum), index, index.size() - 1);
}

/// Sums over channels of the group and over the window; elements outside of x are 0.
Value Elements::conv2d(TermId id, const Index& index) {
  const Term& term = rule_.terms[id];
  TermId x = term.operands[0], w = term.operands[1];
  const std::vector<Poly> xs = types_.type(x).dims, ws = types_.type(w).dims;
  Attr stride = types_.attribute(id, 0), dilation = types_.attribute(id, 2);
  bool one_group = facts_.is(xs[1], ws[1]);
  // The group g of output o: g * per <= o < (g + 1) * per; a sum of one term.
  Poly group = 0;
  std::vector<Fact> of_group;
  if (!one_group) {
    const Groups& made = types_.windows().groups(xs[1], ws[1], ws[0]);
    Poly per = made.outputs_each;
    group = indices_.open_sum(made.count);
    of_group = {at_least(index[1], group * per), less(index[1], group * per + per)};
    for (const Fact& guard : of_group) facts_.arith().push(guard);
  }
  Poly c = indices_.open_sum(ws[1]), i = indices_.open_sum(ws[2]), j = indices_.open_sum(ws[3]);
  Index from = {index[0], one_group ? c : group * ws[1] + c,
                index[2] * stride.ns[0] + i * dilation.ns[0] - types_.conv_window(id, 0).before,
                index[3] * stride.ns[1] + j * dilation.ns[1] - types_.conv_window(id, 1).before};
  Attr pad = types_.attribute(id, 1);
  bool unpadded = pad.kind == Attr::Kind::Text && pad.text == "valid";
  std::vector<Fact> inside;
  for (size_t axis : {2, 3}) {
    if (unpadded) break; // every window is inside
    inside.push_back(at_least(from[axis], 0));
    inside.push_back(less(from[axis], xs[axis]));
  }
  Value kernel = at(w, {index[1], c, i, j});
  Value sum = Sums::multiply(within(x, from, inside), kernel);
  for (int n = 0; n < 3; ++n) sum = indices_.close_sum(std::move(sum));
  if (!one_group) sum = indices_.close_sum(Sums::where(std::move(sum), of_group));
  return epilogue(id, std::move(sum), index, 1);
}

Value Elements::pool2d(TermId id, const Index& index) {
  if (rule_.terms[id].op != OpKind::AvgPool2d) return facts_.beyond(rule_.terms[id].op), Value();
  Attr kernel = types_.attribute(id, 0), stride = types_.attribute(id, 1),
       pad = types_.attribute(id, 2);
  bool unpadded = pad.kind == Attr::Kind::Text && pad.text == "valid";
  bool all_count = types_.attribute(id, 3).truth; // irrelevant without padding
  if (!unpadded && !all_count)
    return facts_.beyond("averages over windows of different sizes"), Value();
  TermId x = rule_.terms[id].operands[0];
  const std::vector<Poly> xs = types_.type(x).dims;
  Poly i = indices_.open_sum(kernel.ns[0]), j = indices_.open_sum(kernel.ns[1]);
  Index from = {index[0], index[1], index[2] * stride.ns[0] + i - types_.pool_window(id, 0).before,
                index[3] * stride.ns[1] + j - types_.pool_window(id, 1).before};
  std::vector<Fact> inside;
  for (size_t axis : {2, 3}) {
    if (unpadded) break; // every window is inside
    inside.push_back(at_least(from[axis], 0));
    inside.push_back(less(from[axis], xs[axis]));
  }
  Value sum = indices_.close_sum(indices_.close_sum(within(x, from, inside)));
  return Sums::multiply(sum, Sums::multiply(over_size(kernel.ns[0]), over_size(kernel.ns[1])));
}

Value Elements::concat(TermId id, const Index& index) {
  const Term& term = rule_.terms[id];
  std::optional<size_t> along =
      axis(facts_, types_.attribute(id, 0).n, types_.type(term.operands[0]));
  if (!along) return {};
  Poly before = 0;
  Value result;
  for (size_t i = 0; i < term.operands.size() && !facts_.halted(); ++i) {
    TermId operand = term.operands[i];
    const Tensor& piece = types_.type(operand);
    if (facts_.halted()) return {};
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

Value Elements::pad(TermId id, const Index& index) {
  TermId x = rule_.terms[id].operands[0];
  const std::vector<Poly> dims = types_.type(x).dims;
  Attr before = types_.attribute(id, 0), after = types_.attribute(id, 1),
       fill = types_.attribute(id, 2);
  Index inner = index;
  std::vector<Fact> inside;
  bool zero = fill.number.products.empty();
  for (size_t i = 0; i < dims.size(); ++i) {
    inner[i] = index[i] - before.ns[i];
    if (!facts_.is(before.ns[i], 0)) inside.push_back(at_least(inner[i], 0));
    if (!facts_.is(after.ns[i], 0)) inside.push_back(less(inner[i], dims[i]));
  }
  if (zero) return within(x, inner, inside);
  for (const Fact& guard : inside) // one after the other
    if (!facts_.decide(guard)) return fill.number;
  return at(x, inner);
}

Value Elements::enlarge(TermId id, const Index& index) {
  TermId w = rule_.terms[id].operands[0];
  const std::vector<Poly> dims = types_.type(w).dims;
  Attr kernel = types_.attribute(id, 0);
  Index inner = index;
  std::vector<Fact> inside;
  for (size_t i : {2, 3}) {
    if (facts_.is(kernel.ns[i - 2], dims[i])) continue;
    Poly ring = facts_.arith().fresh_poly(0);
    facts_.arith().assume(proof::equal(kernel.ns[i - 2], dims[i] + ring + ring));
    inner[i] = index[i] - ring;
    inside.push_back(at_least(inner[i], 0));
    inside.push_back(less(inner[i], dims[i]));
  }
  return within(w, inner, inside);
}

Value Elements::reshape(TermId id, const Index& index) {
  TermId x = rule_.terms[id].operands[0];
  Index inner = indices_.reshaped(types_.type(x).dims, types_.type(id).dims, index);
  return facts_.halted() ? Value() : at(x, inner);
}

// --- rows -------------------------------------------------------------------------------------

Value Elements::reduce(TermId id, const Index& index) {
  bool mean = rule_.terms[id].op == OpKind::ReduceMean;
  if (!mean && rule_.terms[id].op != OpKind::ReduceSum)
    return facts_.beyond(rule_.terms[id].op), Value();
  TermId x = rule_.terms[id].operands[0];
  const std::vector<Poly> dims = types_.type(x).dims;
  std::vector<size_t> gone = axes(facts_, types_.attribute(id, 0), types_.type(x));
  bool keep = types_.attribute(id, 1).truth;
  Index inner;
  Value factor = Sums::number(Ratio{1});
  size_t next = 0;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (!llvm::is_contained(gone, i)) {
      inner.push_back(index[next++]);
      continue;
    }
    inner.push_back(indices_.open_sum(dims[i]));
    next += keep;
    if (mean) factor = Sums::multiply(factor, over_size(dims[i]));
  }
  Value sum = at(x, inner);
  for (size_t i = 0; i < gone.size(); ++i) sum = indices_.close_sum(std::move(sum));
  return Sums::multiply(sum, factor);
}

Value Elements::batch_norm(TermId id, const Index& index) {
  const Term& term = rule_.terms[id];
  auto of_channel = [&](size_t operand) { return at(term.operands[operand], {index[1]}); };
  Value x = at(term.operands[0], index), eps = types_.attribute(id, 0).number;
  Value variance = Sums::add(of_channel(4), eps);
  if (facts_.halted()) return {};
  Value root = sums_.call("sqrt", {std::move(variance)}, false);
  Value scaled = Sums::multiply(Sums::add(x, Sums::negate(of_channel(3))), sums_.inverse(root));
  return Sums::add(Sums::multiply(scaled, of_channel(1)), of_channel(2));
}

/// Uses the definition; the maximum that is subtracted cancels.
Value Elements::softmax(TermId id, const Index& index) {
  TermId x = rule_.terms[id].operands[0];
  std::optional<size_t> along = axis(facts_, types_.attribute(id, 0).n, types_.type(x));
  if (!along) return {};
  Value above = sums_.call("exp", {at(x, index)}, false);
  if (facts_.halted()) return {};
  Index row = index;
  row[*along] = indices_.open_sum(types_.type(x).dims[*along]);
  Value below = indices_.close_sum(sums_.call("exp", {at(x, row)}, false));
  return facts_.halted() ? Value() : Sums::multiply(above, sums_.inverse(below));
}

} // namespace tg::proof
