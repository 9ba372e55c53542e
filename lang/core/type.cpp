#include "lang/core/type.h"

#include <llvm/Support/FormatVariadic.h>

namespace tg {

namespace {
struct DTypeRow {
  DType dtype;
  llvm::StringLiteral name;
  int64_t size;
};
constexpr DTypeRow kDTypes[] = {
    {DType::None, "none", 0}, {DType::F32, "f32", 4}, {DType::F16, "f16", 2},
    {DType::BF16, "bf16", 2}, {DType::I32, "i32", 4}, {DType::I64, "i64", 8},
    {DType::Bool, "bool", 1}, {DType::F64, "f64", 8},
};
} // namespace

llvm::StringRef dtype_name(DType dtype) { return kDTypes[static_cast<size_t>(dtype)].name; }

std::optional<DType> parse_dtype(llvm::StringRef name) {
  for (const DTypeRow& row : kDTypes)
    if (row.dtype != DType::None && row.name == name) return row.dtype;
  return std::nullopt;
}

int64_t dtype_size(DType dtype) { return kDTypes[static_cast<size_t>(dtype)].size; }

bool holds_all(DType to, DType from) {
  switch (from) {
  case DType::Bool: return to != DType::None;
  case DType::F16:
  case DType::BF16: return to == from || to == DType::F32 || to == DType::F64;
  case DType::F32: return to == from || to == DType::F64;
  case DType::I32: return to == from || to == DType::I64 || to == DType::F64;
  default: return to == from;
  }
}

int64_t TensorType::elements() const {
  int64_t count = 1;
  for (int64_t dim : shape) count *= dim;
  return count;
}

std::string TensorType::text() const {
  if (shape.empty()) return dtype_name(dtype).str();
  return llvm::formatv("{0}[{1:$[, ]}]", dtype_name(dtype),
                       llvm::make_range(shape.begin(), shape.end()))
      .str();
}

Shape contiguous_strides(llvm::ArrayRef<int64_t> shape) {
  Shape strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  return strides;
}

} // namespace tg
