// Operators on rows that data selects (FileValue::Kind::Padded). They process rows one by one, or
// use them as indices. Their forms see a tensor padded to the largest number of rows, and the
// result has such rows too.
#pragma once

#include "compiler/import/onnx/read/call.h"

namespace tg::onnx {

/// The rows of the operands of one call.
class OpenRows {
public:
  using Axes = llvm::ArrayRef<int64_t>;
  /// Returns the axis of the rows in the first result. `axes`: the axis in each input, or -1.
  /// Fails, and returns a negative number, if the operator does not process them one by one.
  using RowAxisRule = int64_t (*)(Call& call, Axes axes);

  /// Returns nullopt unless there are such rows and the operator of ONNX's own domain supports
  /// them. `carried` receives tensors instead of them.
  static std::optional<OpenRows> of(Emitter& e, llvm::StringRef op,
                                    llvm::ArrayRef<FileValue> inputs,
                                    std::vector<FileValue>& carried);

  /// Marks the rows of the result, after the form has been written.
  void mark(Call& call) const;

private:
  RowAxisRule behind_ = nullptr; // null for ScatterND, whose result has no such rows
  std::vector<int64_t> axes_;
  NodeId count_;
};

/// Returns the sizes of a tensor with rows that data selects: i64[rank].
NodeId sizes_of(Emitter& e, const FileValue& rows);

} // namespace tg::onnx
