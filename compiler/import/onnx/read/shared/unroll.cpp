#include "compiler/import/onnx/read/shared/unroll.h"

namespace tg::onnx {

FileValue stack(Call& call, llvm::ArrayRef<FileValue> values, int64_t axis) {
  using Kind = FileValue::Kind;
  if (values.empty()) {
    call.fail("there are no tensors to stack");
    return {};
  }
  llvm::SmallVector<NodeId, 8> parts;
  const FileValue& first = values[0];
  for (const FileValue& value : values) {
    if (!value.is(Kind::Tensor) && !value.is(Kind::Empty)) {
      call.fail("it stacks values that are not tensors");
      return {};
    }
    if (!(value.type == first.type)) {
      call.fail("it stacks tensors of different types: " + first.type.text() + " and " +
                value.type.text());
      return {};
    }
    if (value.is(Kind::Tensor)) parts.push_back(call.emit().unsqueeze(value.node, axis));
  }
  if (parts.empty()) {
    TensorType type = first.type;
    type.shape.insert(type.shape.begin() + axis, static_cast<int64_t>(values.size()));
    return FileValue::empty(std::move(type));
  }
  NodeId made = call.emit().concat(parts, axis);
  if (!made.valid()) return {};
  return {Kind::Tensor, made, call.emit().type(made), {}};
}

} // namespace tg::onnx
