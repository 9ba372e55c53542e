// Tensor types: a dtype and a shape. Every value of a graph has exactly one type.
#pragma once

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/ADT/StringRef.h>

#include <cstdint>
#include <optional>
#include <string>

namespace tg {

/// `None` is the type of the absent operand (`none`), never of a tensor.
enum class DType : uint8_t { None, F32, F16, BF16, I32, I64, Bool, F64 };
/// All but None.
inline constexpr DType kAllDTypes[] = {DType::F32, DType::F16,  DType::BF16, DType::I32,
                                       DType::I64, DType::Bool, DType::F64};

llvm::StringRef dtype_name(DType dtype); // "f32"
std::optional<DType> parse_dtype(llvm::StringRef name);
/// Bytes of one element; 0 for None.
int64_t dtype_size(DType dtype);
/// Returns true for a two-byte float.
inline bool is_half(DType d) { return d == DType::F16 || d == DType::BF16; }
inline bool is_float(DType d) { return d == DType::F32 || is_half(d) || d == DType::F64; }
inline bool is_integer(DType d) { return d == DType::I32 || d == DType::I64; }
/// Returns true if every value of dtype `from` is a value of dtype `to`.
bool holds_all(DType to, DType from);

using Shape = llvm::SmallVector<int64_t, 5>;

struct TensorType {
  DType dtype = DType::None;
  Shape shape;

  bool operator==(const TensorType& other) const {
    return dtype == other.dtype && shape == other.shape;
  }
  bool is_none() const { return dtype == DType::None; }
  int64_t rank() const { return static_cast<int64_t>(shape.size()); }
  /// Returns the number of elements; 1 for rank 0. The shape rules guarantee
  /// that it does not overflow (kMaxElements).
  int64_t elements() const;
  int64_t bytes() const { return elements() * dtype_size(dtype); }
  int64_t operator[](size_t axis) const { return shape[axis]; }
  /// Returns "f32[1, 3, 224, 224]"; "f32" for rank 0; "none".
  std::string text() const;
};

inline TensorType f32(std::initializer_list<int64_t> shape) { return {DType::F32, Shape(shape)}; }
inline TensorType f32(llvm::ArrayRef<int64_t> shape) {
  return {DType::F32, Shape(shape.begin(), shape.end())};
}

/// The maximum number of elements of a tensor, so that sizes in bytes fit in int64 with room
/// for sums.
inline constexpr int64_t kMaxElements = int64_t{1} << 48;
inline constexpr int64_t kMaxRank = 8;

/// Row-major strides in elements.
Shape contiguous_strides(llvm::ArrayRef<int64_t> shape);

} // namespace tg
