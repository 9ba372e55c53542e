#include "compiler/ir/grad/rules.h"

#include <llvm/ADT/STLExtras.h>

namespace tg::grad {

namespace {

void no_extern(Reverse& r) {
  r.refuse("another library computes it, and says nothing of its gradient");
}

void no_winograd(Reverse& r) {
  r.refuse("it is made by rules of the optimiser: take the gradient of the convolution");
}

struct Row {
  OpKind op{};
  Rule rule = nullptr; // none: nothing comes through
};

/// All operators but those that go element by element (pointwise.cpp).
constexpr Row kRows[] = {
    {OpKind::None},
    {OpKind::Input},
    {OpKind::Weight},
    {OpKind::Constant},
    {OpKind::Matmul, matmul},
    {OpKind::Conv2d, conv2d},
    {OpKind::Attention, attention},
    {OpKind::WinogradWeight, no_winograd},
    {OpKind::WinogradConv2d, no_winograd},
    {OpKind::ConvTranspose2d, conv_transpose2d},
    {OpKind::Conv3d, conv3d},
    {OpKind::MaxPool2d, max_pool2d},
    {OpKind::AvgPool2d, avg_pool2d},
    {OpKind::Resize, resize},
    {OpKind::Cast, cast},
    {OpKind::Softmax, softmax},
    {OpKind::BatchNorm, batch_norm},
    {OpKind::LayerNorm, layer_norm},
    {OpKind::ReduceSum, reduce_sum},
    {OpKind::ReduceMean, reduce_mean},
    {OpKind::ReduceMax, reduce_extreme},
    {OpKind::ReduceMin, reduce_extreme},
    {OpKind::ReduceProd, reduce_prod},
    {OpKind::Cumsum, cumsum},
    {OpKind::Argmax},
    {OpKind::TopK},
    {OpKind::Concat, concat},
    {OpKind::Split}, // in a graph it is slices
    {OpKind::Slice, slice},
    {OpKind::Reshape, reshape},
    {OpKind::Transpose, transpose},
    {OpKind::Pad, pad},
    {OpKind::Enlarge, enlarge},
    {OpKind::MergeGconv, merge_gconv},
    {OpKind::Gather, gather},
    {OpKind::Iota},
    {OpKind::Broadcast, broadcast},
    {OpKind::Scatter, scatter},
    {OpKind::NonMaxSuppression},
    {OpKind::FusedMap, fused_map},
    {OpKind::Extern, no_extern},
};

consteval bool complete() {
  for (size_t i = 0; i < kOpCount; ++i) {
    int rows = 0;
    for (const Row& row : kRows) rows += row.op == static_cast<OpKind>(i);
    if (rows != (is_pointwise(static_cast<OpKind>(i)) ? 0 : 1)) return false;
  }
  return true;
}
static_assert(complete(), "every operator says what becomes of gradients: a row above");

} // namespace

Rule rule_of(OpKind op) {
  if (is_pointwise(op)) return pointwise_rule(op);
  const Row* row = llvm::find_if(kRows, [op](const Row& r) { return r.op == op; });
  return row->rule;
}

Reverse::Reverse(NodeBuilder& build, NodeId node, NodeId dy, std::vector<bool> wanted,
                 const Walk& walk)
    : b(build), node(node), dy(dy), operands(llvm::to_vector<5>(build.graph().operands(node))),
      wanted_(std::move(wanted)), walk_(walk), given_(operands.size()) {}

const Value& Reverse::attr(llvm::StringRef name) const {
  int slot = op_info(op()).attr_slot(name);
  assert(slot >= 0 && "rules name attributes of the table");
  return b.graph().attr(node, static_cast<size_t>(slot));
}

void Reverse::give(size_t i, NodeId gradient) {
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
