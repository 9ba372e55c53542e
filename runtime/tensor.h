// Tensors in host memory: a type and a buffer of its elements in row-major order,
// aligned for vector loads.
// A Tensor owns its elements and copies deeply, unless it lends immutable elements.
// A TensorView borrows.
#pragma once

#include "lang/core/result.h"
#include "lang/core/type.h"

#include <cstddef>
#include <memory>
#include <vector>

namespace tg {

/// Alignment of every buffer and every arena offset in bytes: a cache line,
/// and an AVX-512 register.
inline constexpr int64_t kAlignment = 64;

/// Sizes so large that the sum would overflow give INT64_MAX rounded down.
inline int64_t align_up(int64_t bytes) {
  return (bytes > INT64_MAX - kAlignment ? INT64_MAX : bytes + kAlignment - 1) & ~(kAlignment - 1);
}

/// Returns the sum of two sizes, saturated at INT64_MAX.
int64_t add_bytes(int64_t a, int64_t b);

struct FreeAligned {
  void operator()(std::byte* p) const;
};
using AlignedBuffer = std::unique_ptr<std::byte[], FreeAligned>;

/// Allocates at least one byte of zeroed memory, aligned to kAlignment.
/// Returns null if the system refuses, as it always does for 2^62 bytes or more.
AlignedBuffer allocate_aligned(int64_t bytes);

class Tensor {
public:
  Tensor() = default;
  Tensor(const Tensor& other);
  Tensor& operator=(const Tensor& other);
  // The move of a shape is not declared noexcept; without this line a growing vector would copy
  // tensors.
  Tensor(Tensor&&) noexcept = default;
  Tensor& operator=(Tensor&&) noexcept = default;

  /// Returns zeros. Errors: memory_limit if the system refuses the memory.
  static Result<Tensor> zeros(const TensorType& type);
  /// Returns a tensor in the memory of `spare`, with unspecified elements, if that is large enough;
  /// else zeros.
  /// The system has to clear new memory, at as little as half a gigabyte per second
  /// on a virtual machine.
  /// Errors: those of zeros().
  static Result<Tensor> in_place_of(Tensor spare, const TensorType& type);
  /// Returns the size of its memory in bytes: at least the size of its type.
  int64_t capacity() const { return buffer_ ? capacity_ : 0; }
  /// Returns an f32 tensor of this shape and these values; the sizes must agree.
  static Tensor of_floats(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<float> values);
  /// Returns an i32 tensor of one axis with these values.
  static Tensor of_indices(llvm::ArrayRef<int32_t> values);
  /// Returns a tensor over immutable elements stored elsewhere, such as a mapped file,
  /// at any address. Copies share them.
  static Tensor borrowed(TensorType type, std::shared_ptr<const std::byte> elements);
  /// Returns true if the elements are lent.
  bool is_borrowed() const { return lent_ != nullptr; }
  /// Returns the tensor with elements aligned to kAlignment, unchanged or copied. Errors:
  /// memory_limit.
  static Result<Tensor> aligned(Tensor tensor);

  const TensorType& type() const { return type_; }
  int64_t bytes() const { return type_.bytes(); }
  const std::byte* data() const { return lent_ ? lent_.get() : buffer_.get(); }
  /// Gives write access; lent elements are copied first.
  std::byte* data() {
    if (lent_) own();
    return buffer_.get();
  }

  /// Returns the elements of any tensor as doubles (an i64 beyond 2^53 is rounded).
  std::vector<double> doubles() const;
  /// Returns the elements of an f32 tensor.
  llvm::ArrayRef<float> floats() const;
  llvm::MutableArrayRef<float> floats();

private:
  void own();

  TensorType type_;
  AlignedBuffer buffer_;
  int64_t capacity_ = 0;
  std::shared_ptr<const std::byte> lent_; // if set, there is no buffer
};

/// Row-major elements in the caller's memory.
struct TensorView {
  const TensorType* type = nullptr;
  const std::byte* data = nullptr;
};

/// Statistics by which a user compares runs. Sums are computed in double, in row-major order.
struct TensorSummary {
  double mean = 0, std = 0;
  uint64_t checksum = 0; // FNV-1a of the bytes
  bool finite = true;
};
TensorSummary summarise(const Tensor& tensor);

/// Returns max |a - b| / max |b| over two tensors of one type,
/// with elements of any dtype compared as doubles.
/// Returns infinity if either holds a NaN or an infinity, or if the types differ.
/// If b is all zero, returns 0 if a is too, else infinity.
double max_rel_diff(const Tensor& a, const Tensor& b);

/// Returns the largest allowed max_rel_diff of outputs from those of `ref` in f32,
/// by the dtype in which a run computes. Used by `tg run --check`, whole-graph comparisons,
/// and the test of the examples.
/// For f32 it allows for sums in another order. For other dtypes it is a few times the difference
/// of the networks in examples/ (tests/half_examples_test.py); a wrong result differs by far more.
inline double difference_bound(DType computed_in, bool allow_tf32) {
  switch (computed_in) {
  case DType::F16: return 2e-2;
  case DType::BF16: return 1e-1;
  default: return allow_tf32 ? 1e-2 : 1e-4; // tf32 has f16's ten mantissa bits, in products alone
  }
}

} // namespace tg
