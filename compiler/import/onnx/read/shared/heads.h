// Products of attention over [batch, heads, places, width]. If several query heads share a key and
// value head, their queries become rows of one product, so that nothing is repeated.
#pragma once

#include "compiler/import/onnx/read/call.h"

namespace tg::onnx {

/// Reshapes [batch, places, heads * width] to [batch, heads, places, width], and back. Fails if the
/// number of heads does not divide the last axis.
NodeId split_heads(Call& call, NodeId x, int64_t heads);
NodeId join_heads(Emitter& e, NodeId x);

struct Heads {
  NodeId q, k, v;

  /// Returns false, and rejects the node, if the shapes do not match.
  bool check(Call& call) const;
  /// q @ transposed k * scale, [batch, heads, places of q, places of k].
  NodeId scores(Emitter& e, double scale) const;
  /// weights @ v, [batch, heads, places of q, width of v].
  NodeId context(Emitter& e, NodeId weights) const;

private:
  /// Returns [batch, heads, places, n] with the heads that share keys as rows of one.
  NodeId grouped(Emitter& e, NodeId x) const;
};

} // namespace tg::onnx
