// Shared by forms that unroll loops: a limit, and stacked results.
#pragma once

#include "compiler/import/onnx/read/call.h"

namespace tg::onnx {

/// Limit on unrolled rounds; a longer loop is rejected.
inline constexpr int64_t kMostRounds = 4096;

/// Returns false, and rejects the node, if there are more rounds.
inline bool check_rounds(Call& call, int64_t rounds) {
  if (rounds <= kMostRounds) return true;
  call.fail("it has " + llvm::Twine(rounds) + " iterations, but at most " +
            llvm::Twine(kMostRounds) + " are unrolled");
  return false;
}

/// Returns the slice at index `i` along the axis, without that axis.
inline NodeId at(Emitter& e, NodeId x, int64_t axis, int64_t i) {
  return e.squeeze(e.slice(x, axis, i, i + 1), axis);
}

/// Stacks tensors of one type along a new axis. Fails for other values, or without any.
FileValue stack(Call& call, llvm::ArrayRef<FileValue> values, int64_t axis);

/// Marks every result as one of a rejected node, whose reason has been reported.
inline void refuse_results(Call& call) {
  for (size_t i = 0; i < call.result_count(); ++i)
    call.result(i, FileValue::of(FileValue::Kind::Refused));
}

} // namespace tg::onnx
