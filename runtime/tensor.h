// Tensors in host memory: a type and a buffer of its elements in row-major order, aligned for
// vector loads. A Tensor owns and copies deeply, unless it lends elements that nobody changes; a
// view borrows.
#pragma once

#include "lang/core/result.h"
#include "lang/core/type.h"

#include <cstddef>
#include <memory>
#include <vector>

namespace tg {

/// Bytes to which every buffer and every arena offset is aligned:
/// a cache line, and an AVX-512 register.
inline constexpr int64_t kAlignment = 64;

/// Of sizes so large that the sum would not fit: INT64_MAX rounded down.
inline int64_t align_up(int64_t bytes) {
  return (bytes > INT64_MAX - kAlignment ? INT64_MAX : bytes + kAlignment - 1) & ~(kAlignment - 1);
}

/// Sum of sizes that never wraps: INT64_MAX instead.
int64_t add_bytes(int64_t a, int64_t b);

struct FreeAligned {
  void operator()(std::byte* p) const;
};
using AlignedBuffer = std::unique_ptr<std::byte[], FreeAligned>;

/// Zeroed, aligned to kAlignment, at least one byte. Null if the system has no such memory, which
/// it never has of 2^62 bytes or more.
AlignedBuffer allocate_aligned(int64_t bytes);

class Tensor {
public:
  Tensor() = default;
  Tensor(const Tensor& other);
  Tensor& operator=(const Tensor& other);
  // A shape's move is not declared so; a growing vector would copy tensors then.
  Tensor(Tensor&&) noexcept = default;
  Tensor& operator=(Tensor&&) noexcept = default;

  /// Zeros. Errors: memory_limit where the system refuses the memory.
  static Result<Tensor> zeros(const TensorType& type);
  /// In the memory of `spare` where that is large enough, with whatever was there; else zeros. New
  /// memory has to be cleared by the system, which a virtual machine may do at half a gigabyte a
  /// second. Errors: those of zeros().
  static Result<Tensor> in_place_of(Tensor spare, const TensorType& type);
  /// Of its memory, in bytes: at least what its type takes.
  int64_t capacity() const { return buffer_ ? capacity_ : 0; }
  /// f32 of this shape with these values; the sizes must agree.
  static Tensor of_floats(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<float> values);
  /// i32 of one axis with these values.
  static Tensor of_indices(llvm::ArrayRef<int32_t> values);
  /// Elements that are held elsewhere and that nobody changes, such as those of a mapped file, at
  /// any address. Copies share them.
  static Tensor lent(TensorType type, std::shared_ptr<const std::byte> elements);
  /// Whether its elements are.
  bool is_lent() const { return lent_ != nullptr; }
  /// The tensor with elements aligned to kAlignment: as it is, or copied. Errors: memory_limit.
  static Result<Tensor> aligned(Tensor tensor);

  const TensorType& type() const { return type_; }
  int64_t bytes() const { return type_.bytes(); }
  const std::byte* data() const { return lent_ ? lent_.get() : buffer_.get(); }
  /// To be written: lent elements are copied first.
  std::byte* data() {
    if (lent_) own();
    return buffer_.get();
  }

  /// The elements of any tensor as doubles (an i64 beyond 2^53 is rounded).
  std::vector<double> doubles() const;
  /// The elements of an f32 tensor.
  llvm::ArrayRef<float> floats() const;
  llvm::MutableArrayRef<float> floats();

private:
  void own();

  TensorType type_;
  AlignedBuffer buffer_;
  int64_t capacity_ = 0;
  std::shared_ptr<const std::byte> lent_; // then there is no buffer
};

/// Elements in memory of somebody else, row-major, of that type.
struct TensorView {
  const TensorType* type = nullptr;
  const std::byte* data = nullptr;
};

/// What a person compares runs by. Sums are taken in double, in row-major order.
struct TensorSummary {
  double mean = 0, std = 0;
  uint64_t checksum = 0; // FNV-1a of the bytes
  bool finite = true;
};
TensorSummary summarise(const Tensor& tensor);

/// max |a - b| / max |b| over two tensors of one type; infinity if either holds a NaN or an
/// infinity, or if the types differ. Elements of any dtype are compared as doubles. Where b is all
/// zero: 0 if a is too, else infinity.
double max_rel_diff(const Tensor& a, const Tensor& b);

/// How far outputs may be from those of `ref` in f32 (max_rel_diff), by what a run computes in: for
/// `tg run --check`, for graphs that are compared whole, and for the examples' test. Sums in
/// another order for f32; for the rest some times what the networks of examples/ differ by
/// (tests/half_examples_test.py), since a wrong result is off by far more.
inline double difference_bound(DType computed_in, bool allow_tf32) {
  switch (computed_in) {
  case DType::F16: return 2e-2;
  case DType::BF16: return 1e-1;
  default: return allow_tf32 ? 1e-2 : 1e-4; // tf32 has f16's ten bits, in products alone
  }
}

} // namespace tg
