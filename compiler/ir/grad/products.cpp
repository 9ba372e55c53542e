#include "compiler/ir/grad/rules.h"

namespace tg::grad {

namespace {

NodeId turned(NodeBuilder& b, NodeId x) { return b.swap_axes(x, b.rank(x) - 2, b.rank(x) - 1); }

/// Flattens a tensor to a matrix of its rows.
NodeId rows_of(NodeBuilder& b, NodeId x) {
  int64_t width = b.shape(x).back();
  return b.reshape(x, {b.type(x).elements() / width, width});
}

} // namespace

void matmul(Reverse& r) {
  NodeBuilder& b = r.b;
  if (without_epilogue(r, b.shape(r.operands[2]))) return;
  NodeId x = r.operands[0], y = r.operands[1];
  if (r.wanted(0)) r.add_gradient(0, b.matmul(r.dy, turned(b, y)));
  if (!r.wanted(1)) return;
  if (b.rank(y) == 2) // one product over all rows, not a sum of a product for each batch element
    r.add_gradient(1, b.matmul(turned(b, rows_of(b, x)), rows_of(b, r.dy)));
  else
    r.add_gradient(1, b.matmul(turned(b, x), r.dy));
}

void attention(Reverse& r) {
  NodeBuilder& b = r.b;
  NodeId scores = b.matmul(r.operands[0], r.operands[1]);
  if (r.has(3)) scores = b.add(scores, r.operands[3]);
  if (r.has(4)) scores = b.select(r.operands[4], scores, b.like(scores, r.attr("otherwise").real));
  r.through(b.matmul(b.softmax(scores, b.rank(scores) - 1), r.operands[2]));
}

} // namespace tg::grad
