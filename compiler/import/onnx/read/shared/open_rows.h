// Operators that take rows that data selects (FileValue::Kind::Padded) one by one, or name them:
// their forms see a tensor with as many rows as there may be, and the result has such rows, too.
#pragma once

#include "compiler/import/onnx/read/call.h"

namespace tg::onnx {

/// The rows of the operands of one call.
class OpenRows {
public:
  using Axes = llvm::ArrayRef<int64_t>;
  /// Returns the axis of the rows in the first result. `axes`: in each input; -1 where it has none.
  /// Fails, and returns a negative number, if the operator does not take them one by one.
  using Behind = int64_t (*)(Call& call, Axes axes);

  /// nullopt unless there are such rows and the operator of ONNX's own takes them. `carried` gets
  /// tensors in their place.
  static std::optional<OpenRows> of(Emitter& e, llvm::StringRef op,
                                    llvm::ArrayRef<FileValue> inputs,
                                    std::vector<FileValue>& carried);

  /// Marks the rows of the result, after the form has written it.
  void mark(Call& call) const;

private:
  Behind behind_ = nullptr; // null: of ScatterND, whose result has no such rows
  std::vector<int64_t> axes_;
  NodeId count_;
};

/// The sizes of a tensor with rows that data selects: i64[rank].
NodeId sizes_of(Emitter& e, const FileValue& rows);

} // namespace tg::onnx
