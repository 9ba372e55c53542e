// What hides keys from queries in attention: a mask of the file's, the order of places, windows,
// and the end of what a cache holds.
#pragma once

#include "compiler/import/onnx/read/call.h"

namespace tg::onnx {

struct MaskRules {
  int64_t queries = 0, keys = 0; // places
  DType dtype{};                 // of scores
  NodeId mask;                   // bools that allow, or floats to add; broadcasts to the scores
  NodeId filled;                 // i64[batch]: keys that the cache holds; absent: all of them
  int64_t offset = 0;            // the place of the first query, where the cache is not given so
  bool causal = false;
  int64_t left = -1, right = -1; // places that a query sees beside its own; -1: all
};

struct AttentionMask {
  NodeId bias;   // to add to scores, -inf where a key is hidden; absent: none
  NodeId hidden; // bool[.., queries, 1]: queries that see no key; absent: there are none
};

/// Fails where the mask does not fit.
AttentionMask attention_mask(Call& call, const MaskRules& rules);

} // namespace tg::onnx
