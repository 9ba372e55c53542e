// What forms that write out the rounds of a loop share: a bound, and results that are stacked.
#pragma once

#include "compiler/import/onnx/read/call.h"

namespace tg::onnx {

/// Rounds that are written out; a longer loop is refused.
inline constexpr int64_t kMostRounds = 4096;

/// False, and the node refused, where there are more than that.
inline bool check_rounds(Call& call, int64_t rounds) {
  if (rounds <= kMostRounds) return true;
  call.fail("it has " + llvm::Twine(rounds) + " rounds, and at most " + llvm::Twine(kMostRounds) +
            " are written out");
  return false;
}

/// The slice of index `i` along the axis, without that axis.
inline NodeId at(Emitter& e, NodeId x, int64_t axis, int64_t i) {
  return e.squeeze(e.slice(x, axis, i, i + 1), axis);
}

/// Tensors of one type side by side along a new axis. Fails for what are none, or none at all.
FileValue stack(Call& call, llvm::ArrayRef<FileValue> values, int64_t axis);

/// Every result is one of a refused node: what refused it has been reported.
inline void refuse_results(Call& call) {
  for (size_t i = 0; i < call.result_count(); ++i)
    call.result(i, FileValue::of(FileValue::Kind::Refused));
}

} // namespace tg::onnx
