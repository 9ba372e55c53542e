#include "compiler/import/onnx/read/tensors.h"

namespace tg::onnx {
namespace {

/// Integer tensors of up to this many elements are assumed to decide shapes.
constexpr int64_t kMostIntegers = kMostFolded;
/// Floats of a small `Constant` are numbers of the model; those of an initialiser are weights.
constexpr int64_t kMostReals = 8;

bool is_literal(const TensorType& type, TensorRole role) {
  if (role == TensorRole::Weight) return false;
  if (!is_float(type.dtype)) return type.elements() <= kMostIntegers;
  return type.elements() == 1 || (role == TensorRole::Literal && type.elements() <= kMostReals);
}

} // namespace

Result<FileValue> value_of_tensor(Emitter& emitter, const ModelFile& file,
                                  const schema::Tensor& tensor, llvm::StringRef name,
                                  TensorRole role) {
  TG_TRY(TensorType type, file.type_of(tensor));
  int32_t element = carrier_of(tensor.data_type()) == DType::None ? 0 : tensor.data_type();
  auto value = [&](NodeId node) {
    FileValue::Kind kind = element ? FileValue::Kind::Narrow : FileValue::Kind::Tensor;
    return FileValue{kind, node, type, {}, element};
  };
  if (llvm::is_contained(type.shape, 0))
    return FileValue{FileValue::Kind::Empty, {}, type, {}, element};
  if (!is_literal(type, role) || emitter.is_updated(name))
    return value(emitter.weight(tensor, name, type));
  Literal literal{type, {}, {}};
  if (literal.is_whole()) {
    TG_TRY(literal.ints, file.integers(tensor));
  } else {
    TG_TRY(literal.reals, file.doubles(tensor));
  }
  return value(emitter.literal(literal));
}

} // namespace tg::onnx
