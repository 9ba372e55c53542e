#include "runtime/cuda/pull.h"

#include "lang/core/fused_body.h"
#include "lang/core/shape_rules.h"
#include "runtime/kernel_table.h"

#include <llvm/ADT/STLExtras.h>

#include <bit>
#include <limits>

namespace tg::cuda {

namespace {

int64_t product(llvm::ArrayRef<int64_t> sizes) {
  int64_t count = 1;
  for (int64_t size : sizes) count *= size;
  return count;
}

/// Of a variable that only the analysis of rows has: the domain's axes are numbered from 0.
constexpr uint32_t kFreshRow = 40;

} // namespace

StridesOf plain_strides(const Plan& plan) {
  return [&plan](PlanValueId id) { return contiguous_strides(plan.values[id].type.shape); };
}

Puller::Puller(const Plan& plan, const Group& group, const StridesOf& strides, Kernel& kernel)
    : plan_(plan), group_(group), strides_(strides), kernel_(kernel), indices_(kernel.indices),
      exprs_(kernel.exprs), members_(group.steps.begin(), group.steps.end()) {
  kernel.parameters.clear();
  kernel.stages.clear();
  for (PlanValueId result : group.results) {
    parameters_[result] = static_cast<uint32_t>(kernel.parameters.size());
    kernel.parameters.push_back({result, type(result).dtype, true});
  }
}

ExprId Puller::fail(const char* why) {
  if (why_.empty()) why_ = why;
  return number(0);
}

bool Puller::analyse(Rows& rows, std::string& why) {
  const TensorType& domain = type(group_.results[0]);
  Coordinates index;
  for (uint32_t axis = 0; axis < domain.shape.size(); ++axis)
    index.push_back(indices_.variable(axis, domain.shape[axis]));
  for (PlanValueId result : group_.results) {
    if (result == group_.results[0] || type(result).shape == domain.shape)
      pull(result, index, kAlways);
    else
      fail("results of different shapes");
  }
  if (kernel_.parameters.size() > 48) fail("too many operands");
  why = why_;
  rows = rows_;
  return why_.empty();
}

double Puller::evaluations(PlanValueId value) const {
  llvm::ArrayRef<int64_t> domain = type(group_.results[0]).shape;
  double rows = 1, total = 0;
  for (uint32_t axis = 0; axis < domain.size(); ++axis)
    if (!llvm::is_contained(rows_.axes, axis)) rows *= static_cast<double>(domain[axis]);
  std::set<std::vector<IndexId>> seen; // under several conditions an index counts once
  for (const auto& [key, expr] : done_) {
    const auto& [asked, index, condition] = key;
    if (asked != value || !seen.insert(index).second) continue;
    bool in_row = (variables(index) & inner_variables_) != 0;
    total += in_row ? rows * static_cast<double>(rows_.length) : rows;
  }
  return total;
}

void Puller::set_inner(llvm::ArrayRef<IndexId> positions, int64_t length) {
  bound_ = true;
  inner_.assign(positions.begin(), positions.end());
  rows_.length = length;
  inner_variables_ = 0; // the analysis has looked
}

uint32_t Puller::parameter(PlanValueId value) {
  auto [it, fresh] =
      parameters_.try_emplace(value, static_cast<uint32_t>(kernel_.parameters.size()));
  if (fresh) kernel_.parameters.push_back({value, type(value).dtype, false});
  return it->second;
}

uint64_t Puller::variables(Index index) const {
  uint64_t all = 0;
  for (IndexId id : index) all |= indices_.form(id).variables;
  return all;
}

Puller::Coordinates Puller::broadcast(Index index, llvm::ArrayRef<int64_t> shape) {
  Coordinates own;
  size_t lead = index.size() - shape.size();
  for (size_t i = 0; i < shape.size(); ++i)
    own.push_back(shape[i] == 1 ? indices_.constant(0) : index[lead + i]);
  return own;
}

ExprId Puller::leaf(PlanValueId value, Index index, ConditionId condition) {
  const PlanValue& v = plan_.values[value];
  if (v.kind == PlanValue::Kind::Constant && v.constant.size() == 1)
    return exprs_.number(scalar_of(v.type.dtype), v.constant[0]);
  IndexId offset = indices_.offset(index, strides_(value));
  return exprs_.load(parameter(value), v.type.dtype, offset, condition);
}

// --- rows ---------------------------------------------------------------------------------------

bool Puller::bind_to_proposed(Index proposed) {
  for (IndexId id : proposed) {
    const IndexForm& form = indices_.form(id);
    if (indices_.is_constant(id) && form.constant == 0) continue; // of extent 1
    bool variable = form.terms.size() == 1 && form.constant == 0 && form.terms[0].factor == 1 &&
                    indices_.atom(form.terms[0].atom).kind == IndexAtom::Kind::Variable;
    if (!variable) return false;
    rows_.axes.push_back(indices_.atom(form.terms[0].atom).of);
    inner_variables_ |= form.variables;
  }
  return true;
}

bool Puller::bind_to_unused(uint64_t used, int64_t length) {
  llvm::ArrayRef<int64_t> domain = type(group_.results[0]).shape;
  int64_t count = 1;
  for (uint32_t axis = 0; axis < domain.size(); ++axis)
    if (domain[axis] > 1 && !(used >> axis & 1)) {
      rows_.axes.push_back(axis);
      inner_variables_ |= uint64_t{1} << axis;
      count *= domain[axis];
    }
  return rows_.axes.empty() || count == length;
}

bool Puller::bind_row(Index kept, Index proposed, int64_t length, ConditionId condition) {
  uint64_t used = variables(kept) | exprs_.variables_of(condition);
  if (!bound_) {
    bool fits = proposed.empty() ? bind_to_unused(used, length) : bind_to_proposed(proposed);
    if (!fits) return fail("the row is no part of the domain"), false;
    bound_ = rows_.reduces = true;
    rows_.length = length;
    IndexId position = indices_.constant(0);
    for (uint32_t axis : rows_.axes) {
      int64_t extent = type(group_.results[0]).shape[axis];
      position = indices_.add(indices_.scale(position, extent), indices_.variable(axis, extent));
    }
    if (rows_.axes.empty() && length > 1) {
      position = indices_.variable(kFreshRow, length);
      inner_variables_ = uint64_t{1} << kFreshRow;
    }
    inner_ = {position};
  }
  if (length != rows_.length) return fail("rows of different lengths"), false;
  if (used & inner_variables_) return fail("a reduction within the row of another"), false;
  return true;
}

ExprId Puller::reduce(ReduceOp op, llvm::ArrayRef<int64_t> extents, const Element& element) {
  Stage stage{op, Scalar::Float, {}};
  uint64_t used = 0;
  for (IndexId position : inner_) {
    ExprId value = element(indices_.split(position, extents));
    stage.values.push_back(value);
    used |= exprs_[value].variables;
  }
  stage.scalar = exprs_[stage.values[0]].scalar;
  for (uint32_t i = 0; i < kernel_.stages.size(); ++i)
    if (kernel_.stages[i].op == op && kernel_.stages[i].values == stage.values)
      return exprs_.stage(i, stage.scalar, used & ~inner_variables_);
  kernel_.stages.push_back(stage);
  return exprs_.stage(static_cast<uint32_t>(kernel_.stages.size() - 1), stage.scalar,
                      used & ~inner_variables_);
}

// --- element by element
// ---------------------------------------------------------------------------

namespace {

bool compares(OpKind op) { return op_info(op).shape == ShapeRule::compare; }

Scalar result_scalar(const ExprPool& exprs, OpKind op, llvm::ArrayRef<ExprId> args) {
  if (compares(op)) return Scalar::Integer;
  return exprs[args[op == OpKind::Select ? 1 : 0]].scalar;
}

} // namespace

ExprId Puller::pointwise(const PlanStep& step, Index index, ConditionId condition) {
  llvm::SmallVector<ExprId, 3> args;
  for (PlanValueId operand : step.operands)
    args.push_back(pull(operand, broadcast(index, type(operand).shape), condition));
  return exprs_.apply(step.op, result_scalar(exprs_, step.op, args), args);
}

ExprId Puller::fused_map(const PlanStep& step, Index index, ConditionId condition) {
  std::optional<FusedBody> body = parse_fused_body(step.attrs[0].text);
  llvm::SmallVector<ExprId, 8> stack;
  for (const FusedInstr& instr : body->code) {
    if (instr.is_operand) {
      PlanValueId operand = step.operands[instr.operand];
      stack.push_back(pull(operand, broadcast(index, type(operand).shape), condition));
      continue;
    }
    size_t arity = op_info(instr.op).operand_count;
    llvm::SmallVector<ExprId, 3> args(stack.end() - arity, stack.end());
    stack.resize(stack.size() - arity);
    stack.push_back(exprs_.apply(instr.op, result_scalar(exprs_, instr.op, args), args));
  }
  return stack.back();
}

ExprId Puller::clip(const PlanStep& step, Index index, ConditionId condition) {
  ExprId x = pull(step.operands[0], index, condition);
  Scalar scalar = exprs_[x].scalar;
  ExprId low = apply(OpKind::Maximum, x, exprs_.number(scalar, step.attrs[0].real));
  return apply(OpKind::Minimum, low, exprs_.number(scalar, step.attrs[1].real));
}

ExprId Puller::cast(const PlanStep& step, Index index, ConditionId condition) {
  return exprs_.convert(*parse_dtype(step.attrs[0].text), pull(step.operands[0], index, condition));
}

ExprId Puller::batch_norm(const PlanStep& step, Index index, ConditionId condition) {
  auto of_channel = [&](size_t i) { return pull(step.operands[i], {index[1]}, condition); };
  ExprId x = pull(step.operands[0], index, condition);
  ExprId spread =
      apply(OpKind::Rsqrt, apply(OpKind::Add, of_channel(4), number(step.attrs[0].real)));
  ExprId factor = apply(OpKind::Mul, spread, of_channel(1));
  ExprId centred = apply(OpKind::Sub, x, of_channel(3));
  return apply(OpKind::Add, apply(OpKind::Mul, centred, factor), of_channel(2));
}

// --- rows of one operand
// --------------------------------------------------------------------------

ExprId Puller::softmax(const PlanStep& step, Index index, ConditionId condition) {
  size_t axis = static_cast<size_t>(step.attrs[0].number);
  Coordinates at(index.begin(), index.end()), kept = at;
  kept.erase(kept.begin() + axis);
  int64_t size = operand_type(step, 0).shape[axis];
  if (!bind_row(kept, {index[axis]}, size, condition)) return number(0);
  auto element = [&](Index position) {
    at[axis] = position[0];
    return pull(step.operands[0], at, condition);
  };
  ExprId most = reduce(ReduceOp::Max, {size}, element);
  auto power = [&](ExprId x) { return apply(OpKind::Exp, apply(OpKind::Sub, x, most)); };
  ExprId sum = reduce(ReduceOp::Sum, {size}, [&](Index p) { return power(element(p)); });
  return apply(OpKind::Div, power(element({index[axis]})), sum);
}

ExprId Puller::layer_norm(const PlanStep& step, Index index, ConditionId condition) {
  Coordinates at(index.begin(), index.end());
  int64_t size = operand_type(step, 0).shape.back();
  if (!bind_row(index.drop_back(), {index.back()}, size, condition)) return number(0);
  auto element = [&](IndexId position) {
    at.back() = position;
    return pull(step.operands[0], at, condition);
  };
  ExprId count = number(static_cast<double>(size));
  ExprId sum = reduce(ReduceOp::Sum, {size}, [&](Index p) { return element(p[0]); });
  ExprId mean = apply(OpKind::Div, sum, count);
  auto centred = [&](IndexId position) { return apply(OpKind::Sub, element(position), mean); };
  ExprId squares = reduce(ReduceOp::Sum, {size}, [&](Index p) {
    ExprId distance = centred(p[0]);
    return apply(OpKind::Mul, distance, distance);
  });
  ExprId variance =
      apply(OpKind::Add, apply(OpKind::Div, squares, count), number(step.attrs[0].real));
  ExprId scaled = apply(OpKind::Mul, centred(index.back()), apply(OpKind::Rsqrt, variance));
  ExprId scale = pull(step.operands[1], {index.back()}, condition);
  ExprId bias = pull(step.operands[2], {index.back()}, condition);
  return apply(OpKind::Add, apply(OpKind::Mul, scaled, scale), bias);
}

ExprId Puller::reduction(const PlanStep& step, Index index, ConditionId condition) {
  llvm::ArrayRef<int64_t> shape = operand_type(step, 0).shape, axes = step.attrs[0].ints;
  bool keepdims = step.attrs[1].number != 0;
  Coordinates at, kept;
  Shape extents;
  for (size_t axis = 0, next = 0; axis < shape.size(); ++axis) {
    bool gone = llvm::is_contained(axes, static_cast<int64_t>(axis));
    at.push_back(gone ? indices_.constant(0) : index[next]);
    if (gone)
      extents.push_back(shape[axis]);
    else
      kept.push_back(index[next]);
    next += !gone || keepdims;
  }
  if (!bind_row(kept, {}, product(extents), condition)) return number(0);
  auto element = [&](Index position) {
    for (size_t axis = 0, next = 0; axis < shape.size(); ++axis)
      if (llvm::is_contained(axes, static_cast<int64_t>(axis))) at[axis] = position[next++];
    return pull(step.operands[0], at, condition);
  };
  if (step.op == OpKind::ReduceMax) return reduce(ReduceOp::Max, extents, element);
  ExprId sum = reduce(ReduceOp::Sum, extents, element);
  if (step.op == OpKind::ReduceSum) return sum;
  return apply(OpKind::Div, sum, number(static_cast<double>(product(extents))));
}

/// Every element sums its own prefix: quadratic, in a network's small sizes one short loop.
ExprId Puller::cumsum(const PlanStep& step, Index index, ConditionId condition) {
  size_t axis = static_cast<size_t>(step.attrs[0].number);
  Coordinates at(index.begin(), index.end());
  int64_t size = operand_type(step, 0).shape[axis];
  if (!bind_row(index, {}, size, condition)) return number(0);
  return reduce(ReduceOp::Sum, {size}, [&](Index position) {
    IndexId ahead = indices_.subtract(index[axis], position[0]);
    ConditionId within = exprs_.also(condition, ahead, 0, size);
    at[axis] = position[0];
    ExprId x = pull(step.operands[0], at, within);
    return exprs_.choose(exprs_.also(kAlways, ahead, 0, size), x,
                         exprs_.number(exprs_[x].scalar, 0));
  });
}

ExprId Puller::argmax(const PlanStep& step, Index index, ConditionId condition) {
  size_t axis = static_cast<size_t>(step.attrs[0].number);
  llvm::ArrayRef<int64_t> shape = operand_type(step, 0).shape;
  Coordinates kept(index.begin(), index.end());
  if (step.attrs[1].number != 0) kept.erase(kept.begin() + axis);
  if (!bind_row(kept, {}, shape[axis], condition)) return exprs_.number(Scalar::Integer, 0);
  Coordinates at = kept;
  at.insert(at.begin() + axis, indices_.constant(0));
  auto element = [&](Index position) {
    at[axis] = position[0];
    return pull(step.operands[0], at, condition);
  };
  ExprId most = reduce(ReduceOp::Max, {shape[axis]}, element);
  ExprId none = exprs_.number(Scalar::Integer, static_cast<double>(shape[axis]));
  return reduce(ReduceOp::Min, {shape[axis]}, [&](Index position) {
    ExprId x = element(position); // a NaN makes `most` NaN, which equals nothing
    ExprId found = compare(OpKind::LogicalOr, compare(OpKind::Equal, x, most),
                           compare(OpKind::NotEqual, x, x));
    return exprs_.apply(OpKind::Select, Scalar::Integer, {found, exprs_.index(position[0]), none});
  });
}

// --- products and windows, plainly: what a library does better -----------------------------------

ExprId Puller::epilogue(const PlanStep& step, ExprId sum, IndexId channel, Index index,
                        ConditionId condition, const Value& act) {
  if (step.operands[2] != kNoValue)
    sum = apply(OpKind::Add, sum, pull(step.operands[2], {channel}, condition));
  if (step.operands[3] != kNoValue)
    sum = apply(OpKind::Add, sum, pull(step.operands[3], index, condition));
  std::optional<OpKind> op = act_op(parse_act(act.text).value_or(Act::None));
  return op ? apply(*op, sum) : sum;
}

ExprId Puller::matmul(const PlanStep& step, Index index, ConditionId condition) {
  llvm::ArrayRef<int64_t> x = operand_type(step, 0).shape, y = operand_type(step, 1).shape;
  int64_t depth = x.back();
  if (!bind_row(index, {}, depth, condition)) return number(0);
  Index batch = index.drop_back(2);
  Coordinates left = broadcast(batch, x.drop_back(2)), right = broadcast(batch, y.drop_back(2));
  left.append({index[index.size() - 2], 0});
  right.append({0, index.back()});
  ExprId sum = reduce(ReduceOp::Sum, {depth}, [&](Index k) {
    left.back() = right[right.size() - 2] = k[0];
    return apply(OpKind::Mul, pull(step.operands[0], left, condition),
                 pull(step.operands[1], right, condition));
  });
  return epilogue(step, sum, index.back(), index, condition, step.attrs[0]);
}

ExprId Puller::conv2d(const PlanStep& step, Index index, ConditionId condition) {
  llvm::ArrayRef<int64_t> x = operand_type(step, 0).shape, w = operand_type(step, 1).shape;
  llvm::ArrayRef<int64_t> stride = step.attrs[0].ints, dilation = step.attrs[2].ints;
  if (!bind_row(index, {}, product(w.drop_front()), condition)) return number(0);
  int64_t per_group = type(step.result).shape[1] / (x[1] / w[1]);
  IndexId first = indices_.scale(indices_.divide(index[1], per_group), w[1]);
  ExprId sum = reduce(ReduceOp::Sum, w.drop_front(), [&](Index tap) {
    ConditionId inside = condition;
    Coordinates at = {index[0], indices_.add(first, tap[0])};
    for (int axis = 0; axis < 2; ++axis) {
      int64_t before =
          window(x[2 + axis], w[2 + axis], stride[axis], dilation[axis], step.attrs[1], axis)
              ->before;
      IndexId row = indices_.add(indices_.scale(index[2 + axis], stride[axis]),
                                 indices_.scale(tap[1 + axis], dilation[axis]));
      at.push_back(indices_.shift(row, -before));
      inside = exprs_.also(inside, at.back(), 0, x[2 + axis] - 1);
    }
    ExprId pixel = pull(step.operands[0], at, inside); // 0 outside, where it is a load
    if (inside != condition) pixel = exprs_.choose(inside, pixel, number(0));
    return apply(OpKind::Mul, pixel,
                 pull(step.operands[1], {index[1], tap[0], tap[1], tap[2]}, condition));
  });
  return epilogue(step, sum, index[1], index, condition, step.attrs[3]);
}

ExprId Puller::pool(const PlanStep& step, Index index, ConditionId condition) {
  llvm::ArrayRef<int64_t> x = operand_type(step, 0).shape, kernel = step.attrs[0].ints;
  llvm::ArrayRef<int64_t> stride = step.attrs[1].ints;
  if (!bind_row(index, {}, product(kernel), condition)) return number(0);
  bool most = step.op == OpKind::MaxPool2d;
  bool integer = scalar_of(type(step.result).dtype) == Scalar::Integer;
  bool always_inside = true;
  auto place = [&](Index tap, Coordinates& at) {
    ConditionId inside = kAlways;
    at = {index[0], index[1]};
    for (int axis = 0; axis < 2; ++axis) {
      Window w = *window(x[2 + axis], kernel[axis], stride[axis], 1, step.attrs[2], axis);
      IndexId row = indices_.add(indices_.scale(index[2 + axis], stride[axis]), tap[axis]);
      at.push_back(indices_.shift(row, -w.before));
      inside = exprs_.also(inside, at.back(), 0, x[2 + axis] - 1);
    }
    always_inside &= inside == kAlways;
    return inside;
  };
  double outside = most ? -std::numeric_limits<double>::infinity() : 0;
  if (most && integer) outside = static_cast<double>(std::numeric_limits<int64_t>::min());
  auto element = [&](Index tap) {
    Coordinates at;
    ConditionId inside = place(tap, at), both = condition;
    for (const ConditionTerm& term : llvm::to_vector(exprs_.terms(inside)))
      both = exprs_.also(both, term.id, term.low, term.high);
    ExprId value = pull(step.operands[0], at, both);
    return exprs_.choose(inside, value, exprs_.number(exprs_[value].scalar, outside));
  };
  ExprId result = reduce(most ? ReduceOp::Max : ReduceOp::Sum, kernel, element);
  if (most) return result;
  ExprId count = number(static_cast<double>(product(kernel)));
  if (!always_inside && step.attrs[3].number == 0)
    count = reduce(ReduceOp::Sum, kernel, [&](Index tap) {
      Coordinates at;
      return exprs_.choose(place(tap, at), number(1), number(0));
    });
  return apply(OpKind::Div, result, count);
}

// --- layout
// ---------------------------------------------------------------------------------------

ExprId Puller::concat(const PlanStep& step, Index index, ConditionId condition) {
  size_t axis = static_cast<size_t>(step.attrs[0].number);
  int64_t start = 0;
  std::optional<ExprId> result;
  for (PlanValueId operand : step.operands) {
    int64_t size = type(operand).shape[axis];
    Coordinates at(index.begin(), index.end());
    at[axis] = indices_.shift(index[axis], -start);
    start += size;
    const IndexForm& form = indices_.form(at[axis]);
    if (form.high < 0 || form.low >= size) continue; // no lane of this loop reaches it
    ExprId piece = pull(operand, at, exprs_.also(condition, at[axis], 0, size - 1));
    // Whoever asks lies within one piece: the last that does not begin behind it.
    ConditionId begun = exprs_.also(kAlways, at[axis], 0, int64_t{1} << 48);
    result = result ? exprs_.choose(begun, piece, *result) : piece;
  }
  return *result;
}

ExprId Puller::slice(const PlanStep& step, Index index, ConditionId condition) {
  Coordinates at(index.begin(), index.end());
  size_t axis = static_cast<size_t>(step.attrs[0].number);
  at[axis] = indices_.shift(at[axis], step.attrs[1].number);
  return pull(step.operands[0], at, condition);
}

ExprId Puller::reshape(const PlanStep& step, Index index, ConditionId condition) {
  IndexId offset = indices_.offset(index, contiguous_strides(type(step.result).shape));
  return pull(step.operands[0], indices_.split(offset, operand_type(step, 0).shape), condition);
}

ExprId Puller::transpose(const PlanStep& step, Index index, ConditionId condition) {
  Coordinates at(index.size());
  for (size_t axis = 0; axis < index.size(); ++axis) at[step.attrs[0].ints[axis]] = index[axis];
  return pull(step.operands[0], at, condition);
}

ExprId Puller::padded(const PlanStep& step, llvm::ArrayRef<int64_t> before, double value,
                      Index index, ConditionId condition) {
  Coordinates at;
  ConditionId inside = kAlways, both = condition;
  for (size_t axis = 0; axis < index.size(); ++axis) {
    int64_t last = operand_type(step, 0).shape[axis] - 1;
    at.push_back(indices_.shift(index[axis], -before[axis]));
    inside = exprs_.also(inside, at.back(), 0, last);
    both = exprs_.also(both, at.back(), 0, last);
  }
  ExprId x = pull(step.operands[0], at, both);
  return exprs_.choose(inside, x, exprs_.number(exprs_[x].scalar, value));
}

ExprId Puller::pad(const PlanStep& step, Index index, ConditionId condition) {
  return padded(step, step.attrs[0].ints, step.attrs[2].real, index, condition);
}

ExprId Puller::enlarge(const PlanStep& step, Index index, ConditionId condition) {
  llvm::ArrayRef<int64_t> w = operand_type(step, 0).shape, large = type(step.result).shape;
  return padded(step, {0, 0, (large[2] - w[2]) / 2, (large[3] - w[3]) / 2}, 0, index, condition);
}

ExprId Puller::merge_gconv(const PlanStep& step, Index index, ConditionId condition) {
  llvm::ArrayRef<int64_t> w = operand_type(step, 0).shape;
  int64_t count = step.attrs[0].number, per_group = w[0] / step.attrs[1].number;
  IndexId place = indices_.modulo(indices_.divide(index[0], per_group), count);
  Coordinates at(index.begin(), index.end());
  at[1] = indices_.subtract(index[1], indices_.scale(place, w[1]));
  ExprId x = pull(step.operands[0], at, exprs_.also(condition, at[1], 0, w[1] - 1));
  return exprs_.choose(exprs_.also(kAlways, at[1], 0, w[1] - 1), x,
                       exprs_.number(exprs_[x].scalar, 0));
}

ExprId Puller::gather(const PlanStep& step, Index index, ConditionId condition) {
  size_t axis = static_cast<size_t>(step.attrs[0].number);
  const TensorType &x = operand_type(step, 0), &indices = operand_type(step, 1);
  size_t rank = indices.shape.size();
  ExprId found = pull(step.operands[1], index.slice(axis, rank), condition);
  int64_t last = x.shape[axis] - 1;
  Coordinates at(index.begin(), index.begin() + axis);
  at.push_back(indices_.loaded(found, 0, last, exprs_[found].variables));
  at.append(index.begin() + axis + rank, index.end());
  ExprId value = pull(step.operands[0], at, exprs_.also_value(condition, found, 0, last));
  double missing = is_float(x.dtype) ? std::numeric_limits<double>::quiet_NaN() : 0;
  return exprs_.choose(exprs_.also_value(kAlways, found, 0, last), value,
                       exprs_.number(exprs_[value].scalar, missing));
}

ExprId Puller::iota(const PlanStep& step, Index index, ConditionId) {
  ExprId value = exprs_.index(index[static_cast<size_t>(step.attrs[1].number)]);
  return scalar_of(type(step.result).dtype) == Scalar::Float ? exprs_.convert(DType::F32, value)
                                                             : value;
}

// --- the table
// ------------------------------------------------------------------------------------

struct Rules {
  static constexpr Puller::Rule kNone = nullptr;
  static constexpr KernelTable<Puller::Rule> kTable = {
      {OpKind::FusedMap, &Puller::fused_map},  {OpKind::Clip, &Puller::clip},
      {OpKind::Cast, &Puller::cast},           {OpKind::BatchNorm, &Puller::batch_norm},
      {OpKind::Softmax, &Puller::softmax},     {OpKind::LayerNorm, &Puller::layer_norm},
      {OpKind::ReduceSum, &Puller::reduction}, {OpKind::ReduceMean, &Puller::reduction},
      {OpKind::ReduceMax, &Puller::reduction}, {OpKind::Cumsum, &Puller::cumsum},
      {OpKind::Argmax, &Puller::argmax},       {OpKind::Matmul, &Puller::matmul},
      {OpKind::Conv2d, &Puller::conv2d},       {OpKind::MaxPool2d, &Puller::pool},
      {OpKind::AvgPool2d, &Puller::pool},      {OpKind::Concat, &Puller::concat},
      {OpKind::Slice, &Puller::slice},         {OpKind::Reshape, &Puller::reshape},
      {OpKind::Transpose, &Puller::transpose}, {OpKind::Pad, &Puller::pad},
      {OpKind::Enlarge, &Puller::enlarge},     {OpKind::MergeGconv, &Puller::merge_gconv},
      {OpKind::Gather, &Puller::gather},       {OpKind::Iota, &Puller::iota},
  };
};

bool can_generate(OpKind op) { return op_info(op).has(Trait::Pointwise) || Rules::kTable.has(op); }

ExprId Puller::pull(PlanValueId value, Index index, ConditionId condition) {
  if (failed()) return number(0);
  const PlanValue& v = plan_.values[value];
  if (v.kind != PlanValue::Kind::Temporary || !members_.count(v.defined_by))
    return leaf(value, index, condition);
  auto key = std::make_tuple(value, std::vector<IndexId>(index.begin(), index.end()), condition);
  if (auto it = done_.find(key); it != done_.end()) return it->second;
  const PlanStep& step = plan_.steps[v.defined_by];
  if (!can_generate(step.op)) return fail("an operator without a generated kernel");
  if (exprs_.size() > 6000) return fail("too much for one kernel");
  Rule rule = Rules::kTable.has(step.op) ? Rules::kTable[step.op] : &Puller::pointwise;
  ExprId result = (this->*rule)(step, index, condition);
  // Integers wrap around in their own width; moves cannot leave it.
  if (v.type.dtype == DType::I32 && !op_info(step.op).has(Trait::Layout))
    result = exprs_.convert(DType::I32, result);
  done_[std::move(key)] = result;
  return result;
}

} // namespace tg::cuda
