#include "compiler/ir/grad/rules.h"

#include <llvm/ADT/STLExtras.h>

namespace tg::grad {

void nothing(Reverse&) {}

void no_extern(Reverse& r) { r.refuse("another library computes it, and its gradient is unknown"); }

void no_winograd(Reverse& r) {
  r.refuse("the optimiser creates this operator: take the gradient of the convolution");
}

Rule rule_of(OpKind op) {
  static constexpr Rule kRules[] = {
#define TG_OP(kind, name, operands, attrs, shape, traits, work, degree, gradient, doc) gradient,
#define TG_POINTWISE(...) nullptr,
#include "lang/core/ops.def"
  };
  if (is_pointwise(op)) return pointwise_rule(op);
  Rule rule = kRules[static_cast<size_t>(op)];
  return rule == nothing ? nullptr : rule;
}

Reverse::Reverse(NodeBuilder& build, NodeId node, NodeId dy, std::vector<bool> wanted,
                 const Walk& walk)
    : b(build), node(node), dy(dy), operands(llvm::to_vector<5>(build.graph().operands(node))),
      wanted_(std::move(wanted)), walk_(walk), given_(operands.size()) {}

const Value& Reverse::attr(llvm::StringRef name) const {
  int slot = op_info(op()).attr_slot(name);
  assert(slot >= 0 && "the operator has an attribute of this name");
  return b.graph().attr(node, static_cast<size_t>(slot));
}

void Reverse::add_gradient(size_t i, NodeId gradient) {
  gradient = sum_to(b, gradient, b.shape(operands[i]));
  given_[i] = given_[i].valid() ? b.add(given_[i], gradient) : gradient;
}

NodeId sum_to(NodeBuilder& b, NodeId x, NodeBuilder::Ints shape) {
  if (!x.valid() || b.shape(x) == shape) return x;
  Shape axes;
  int64_t added = b.rank(x) - static_cast<int64_t>(shape.size());
  for (int64_t axis = 0; axis < b.rank(x); ++axis)
    if (axis < added || (shape[static_cast<size_t>(axis - added)] == 1 && b.size(x, axis) != 1))
      axes.push_back(axis);
  return b.reshape(b.reduce(OpKind::ReduceSum, x, axes, false), shape);
}

bool without_epilogue(Reverse& r, NodeBuilder::Ints bias_shape) {
  NodeBuilder& b = r.b;
  size_t count = op_info(r.op()).operand_count;
  bool residual = count > 3 && r.has(3);
  std::optional<Act> act =
      op_info(r.op()).attr_slot("act") < 0 ? Act::None : parse_act(r.attr("act").text);
  if (!r.has(2) && !residual && act == Act::None) return false;
  llvm::SmallVector<NodeId, 4> operands = {r.x(), r.operands[1]};
  while (operands.size() < count) operands.push_back(b.none());
  llvm::SmallVector<NodeAttribute, 5> attributes;
  for (const AttrInfo& row : op_info(r.op()).attrs())
    if (row.name != "act") attributes.push_back({row.name, r.attr(row.name)});
  NodeId sum = b.op(r.op(), operands, attributes);
  if (r.has(2)) sum = b.add(sum, b.reshape(r.operands[2], bias_shape));
  if (residual) sum = b.add(sum, r.operands[3]);
  if (std::optional<OpKind> last = act_op(*act)) sum = b.unary(*last, sum);
  r.through(sum);
  return true;
}

} // namespace tg::grad
