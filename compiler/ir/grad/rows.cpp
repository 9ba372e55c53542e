// Gradients of normalisation and reductions.
#include "compiler/ir/grad/rules.h"

#include <llvm/ADT/STLExtras.h>

namespace tg::grad {

namespace {

/// Returns the shape of a reduction's result with the reduced axes kept.
Shape kept(Reverse& r) {
  Shape shape = copied(r.b.shape(r.x()));
  for (int64_t axis : r.ints("axes")) shape[static_cast<size_t>(axis)] = 1;
  return shape;
}

int64_t reduced_elements(Reverse& r) {
  return r.b.type(r.x()).elements() / r.b.type(r.node).elements();
}

} // namespace

void softmax(Reverse& r) {
  NodeBuilder& b = r.b;
  NodeId weighted = b.mul(r.dy, r.node);
  r.add_gradient(0, b.sub(weighted, b.mul(r.node, b.sum(weighted, {r.number("axis")}))));
}

/// Rewrites it as a scale and an offset for each channel, which are differentiated instead.
void batch_norm(Reverse& r) {
  NodeBuilder& b = r.b;
  Shape column(static_cast<size_t>(b.rank(r.x())) - 1, 1);
  column[0] = b.size(r.x(), 1);
  auto channel = [&](size_t i) { return b.reshape(r.operands[i], column); };
  NodeId root = b.unary(OpKind::Rsqrt, b.add(channel(4), r.attr("eps").real));
  NodeId normal = b.mul(b.sub(r.x(), channel(3)), root);
  r.through(b.add(b.mul(normal, channel(1)), channel(2)));
}

/// Ba et al. 2016: a shift or scaling of a whole row has no effect, so that component is removed.
void layer_norm(Reverse& r) {
  NodeBuilder& b = r.b;
  Shape last = {b.rank(r.x()) - 1};
  NodeId far = b.sub(r.x(), b.mean(r.x(), last));
  NodeId root = b.unary(OpKind::Rsqrt, b.add(b.mean(b.mul(far, far), last), r.attr("eps").real));
  NodeId normal = b.mul(far, root);
  if (r.wanted(1)) r.add_gradient(1, b.mul(r.dy, normal));
  if (r.wanted(2)) r.add_gradient(2, r.dy);
  if (!r.wanted(0)) return;
  NodeId scaled = b.mul(r.dy, r.operands[1]);
  NodeId along = b.mul(normal, b.mean(b.mul(scaled, normal), last));
  r.add_gradient(0, b.mul(root, b.sub(b.sub(scaled, b.mean(scaled, last)), along)));
}

void reduce_sum(Reverse& r) {
  r.add_gradient(0, r.b.expand(r.b.reshape(r.dy, kept(r)), r.b.shape(r.x())));
}

void reduce_mean(Reverse& r) {
  NodeId share = r.b.div(r.dy, static_cast<double>(reduced_elements(r)));
  r.add_gradient(0, r.b.expand(r.b.reshape(share, kept(r)), r.b.shape(r.x())));
}

/// Sends the gradient to the largest or smallest element. Equal elements share it.
void reduce_extreme(Reverse& r) {
  NodeBuilder& b = r.b;
  NodeId chosen = b.equal(r.x(), b.reshape(r.node, kept(r)));
  NodeId zero = b.like(r.dy, 0);
  NodeId count = b.sum(b.select(chosen, b.like(r.dy, 1), zero), r.ints("axes"));
  r.add_gradient(0, b.select(chosen, b.div(b.reshape(r.dy, kept(r)), count), zero));
}

/// Computes the product of all others without a division, which would fail for zeros: each row is
/// repeated for each of its elements, with a 1 in that element's place.
void reduce_prod(Reverse& r) {
  NodeBuilder& b = r.b;
  Shape perm, back(static_cast<size_t>(b.rank(r.x())));
  for (int64_t axis = 0; axis < b.rank(r.x()); ++axis)
    if (!llvm::is_contained(r.ints("axes"), axis)) perm.push_back(axis);
  perm.append(r.ints("axes").begin(), r.ints("axes").end());
  for (size_t i = 0; i < perm.size(); ++i)
    back[static_cast<size_t>(perm[i])] = static_cast<int64_t>(i);
  int64_t n = reduced_elements(r), rows = b.type(r.node).elements();
  NodeId turned = b.transpose(r.x(), perm);
  NodeId lines = b.reshape(turned, {rows, 1, n});
  TensorType square{DType::F32, {n, n}}; // exact: n x n limits n far below 2^24
  NodeId self = b.equal(b.iota(square, 0), b.iota(square, 1));
  NodeId others = b.select(self, b.like(r.x(), 1), lines);
  NodeId product = b.reduce(OpKind::ReduceProd, others, {2}, false);
  NodeId share = b.mul(product, b.reshape(r.dy, {rows, 1}));
  r.add_gradient(0, b.transpose(b.reshape(share, b.shape(turned)), back));
}

/// An element contributes to all sums from its own place on.
void cumsum(Reverse& r) {
  int64_t axis = r.number("axis");
  NodeId sums = r.b.op(OpKind::Cumsum, {r.b.reverse(r.dy, axis)}, {{"axis", Value::of_int(axis)}});
  r.add_gradient(0, r.b.reverse(sums, axis));
}

} // namespace tg::grad
