// The mask that hides keys from queries in attention: from a mask input, causal order, windows, and
// the filled length of a cache.
#pragma once

#include "compiler/import/onnx/read/call.h"

namespace tg::onnx {

struct MaskRules {
  int64_t queries = 0, keys = 0; // positions
  DType dtype{};                 // of scores
  NodeId mask;                   // bools that allow, or floats to add; broadcasts to the scores
  NodeId filled;                 // i64[batch]: keys in the cache; absent: all of them
  int64_t offset = 0;            // the position of the first query, unless `filled` gives it
  bool causal = false;
  int64_t left = -1, right = -1; // positions that a query sees on each side; -1: all
};

struct AttentionMask {
  NodeId bias;   // added to scores, -inf for a hidden key; absent: none
  NodeId hidden; // bool[.., queries, 1]: queries that see no key; absent: none
};

/// Fails if the mask does not fit.
AttentionMask attention_mask(Call& call, const MaskRules& rules);

// Masks with known values that a file adds to scores.

/// Returns the operand of a sum to which a mask of zeros adds nothing; absent if no operand is such
/// a mask. A mask has several rows and several positions; a bias does not, and stays.
NodeId sum_with_zero_mask(Emitter& e, NodeId x, NodeId y);

/// If all numbers of the mask below a softmax are finite, returns the softmax of the same mask with
/// its bounds written into the graph, as a clip that changes nothing; otherwise returns the
/// softmax. Rules then know that the mask hides no row.
NodeId softmax_with_bounded_mask(Emitter& e, NodeId softmax);

} // namespace tg::onnx
