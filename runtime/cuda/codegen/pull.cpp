#include "runtime/cuda/codegen/pull.h"

#include "lang/core/fused_body.h"
#include "lang/core/shape_rules.h"
#include "runtime/kernel_table.h"

#include <llvm/ADT/STLExtras.h>

namespace tg::cuda {

Puller::Puller(const Plan& plan, const Group& group, const StridesOf& strides, Kernel& kernel)
    : plan_(plan), group_(group), strides_(strides), kernel_(kernel), indices_(kernel.indices),
      exprs_(kernel.exprs), members_(group.steps.begin(), group.steps.end()),
      rows_(kernel, type(group.results[0]).shape) {
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
  rows = rows_.rows();
  return why_.empty();
}

double Puller::evaluations(PlanValueId value) const {
  double total = 0;
  std::set<std::vector<IndexId>> seen; // an index under several conditions counts once
  for (const auto& [key, expr] : done_) {
    const auto& [asked, index, condition] = key;
    if (asked != value || !seen.insert(index).second) continue;
    total += rows_.evaluations(index);
  }
  return total;
}

void Puller::set_inner(llvm::ArrayRef<IndexId> positions, int64_t length) {
  rows_.set_inner(positions, length);
}

uint32_t Puller::parameter(PlanValueId value) {
  auto [it, fresh] =
      parameters_.try_emplace(value, static_cast<uint32_t>(kernel_.parameters.size()));
  if (fresh) kernel_.parameters.push_back({value, type(value).dtype, false});
  return it->second;
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

bool Puller::bind_row(Index kept, Index proposed, int64_t length, ConditionId condition) {
  const char* why = rows_.bind(kept, proposed, length, condition);
  if (why) fail(why);
  return !why;
}

// --- element by element -------------------------------------------------------------------------

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
  for (const Value& attr : step.attrs) args.push_back(exprs_.number(exprs_[args[0]].scalar, attr));
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

ExprId Puller::repeated(const PlanStep& step, Index index, ConditionId condition) {
  return pull(step.operands[0], broadcast(index, type(step.operands[0]).shape), condition);
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

// --- the table -----------------------------------------------------------------------------------

struct Rules {
  static constexpr Puller::Rule kNone = nullptr;
  static constexpr KernelTable<Puller::Rule> kTable = {
      {OpKind::FusedMap, &Puller::fused_map},   {OpKind::Cast, &Puller::cast},
      {OpKind::BatchNorm, &Puller::batch_norm}, {OpKind::Softmax, &Puller::softmax},
      {OpKind::LayerNorm, &Puller::layer_norm}, {OpKind::ReduceSum, &Puller::reduction},
      {OpKind::ReduceMean, &Puller::reduction}, {OpKind::ReduceMax, &Puller::reduction},
      {OpKind::ReduceMin, &Puller::reduction},  {OpKind::Cumsum, &Puller::cumsum},
      {OpKind::Argmax, &Puller::argmax},        {OpKind::Matmul, &Puller::matmul},
      {OpKind::Conv2d, &Puller::conv2d},        {OpKind::MaxPool2d, &Puller::pool},
      {OpKind::AvgPool2d, &Puller::pool},       {OpKind::Broadcast, &Puller::repeated},
  };
};

bool is_product_of_few_rows(const Plan& plan, const PlanStep& step) {
  const TensorType& result = plan.values[step.result].type;
  return step.op == OpKind::Matmul && result.elements() < kFewRows * result.shape.back();
}

bool can_generate(OpKind op) { return is_pointwise(op) || can_move(op) || Rules::kTable.has(op); }

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
  Rule rule = can_move(step.op)            ? &Puller::moved
              : Rules::kTable.has(step.op) ? Rules::kTable[step.op]
                                           : &Puller::pointwise;
  ExprId result = (this->*rule)(step, index, condition);
  // Integers wrap to their own width; moves cannot exceed it.
  if (v.type.dtype == DType::I32 && !op_info(step.op).has(Trait::Layout))
    result = exprs_.convert(DType::I32, result);
  done_[std::move(key)] = result;
  return result;
}

} // namespace tg::cuda
