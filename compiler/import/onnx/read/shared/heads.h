// Products of attention, over [batch, heads, places, width]. Where several heads of queries share
// one of keys and values, theirs are rows of one product: nothing is repeated.
#pragma once

#include "compiler/import/onnx/read/call.h"

namespace tg::onnx {

/// [batch, places, heads * width] to [batch, heads, places, width], and back. Fails where the heads
/// do not divide the last axis.
NodeId split_heads(Call& call, NodeId x, int64_t heads);
NodeId join_heads(Emitter& e, NodeId x);

struct Heads {
  NodeId q, k, v;

  /// False, and the node refused, where they do not fit each other.
  bool check(Call& call) const;
  /// q @ transposed k * scale, [batch, heads, places of q, places of k].
  NodeId scores(Emitter& e, double scale) const;
  /// weights @ v, [batch, heads, places of q, width of v].
  NodeId context(Emitter& e, NodeId weights) const;

private:
  /// [batch, heads, places, n] with the heads that share keys as rows of one.
  NodeId grouped(Emitter& e, NodeId x) const;
};

} // namespace tg::onnx
