// NumPy's .npy files: one array each. Format 1.0 to 3.0 as numpy.lib.format documents it; written
// as 1.0. A file is checked in full before anything of its claimed size is allocated, and no
// content, however damaged, does more than give an error.
#pragma once

#include "runtime/tensor.h"

namespace tg {

/// Reads f32, f16, i32, i64 and bool, little-endian, in C order.
/// Errors: `cannot_read`, `empty_file`, `bad_data_file` (damaged, or of a form not listed above).
Result<Tensor> read_npy(llvm::StringRef path);
/// The same from memory; `name` is for messages.
Result<Tensor> parse_npy(llvm::StringRef bytes, llvm::StringRef name);

/// What the head of such a file says: the tensor's type, and where its elements begin.
struct NpyHeader {
  TensorType type;
  size_t data = 0;
};
/// So many bytes hold every header that NumPy writes or reads.
inline constexpr size_t kMaxNpyHeader = size_t{64} << 10;
/// The header at the start of a file of `size` bytes, of which kMaxNpyHeader or all are given; that
/// the file holds exactly the elements is checked. Errors: `bad_data_file`.
Result<NpyHeader> parse_npy_header(llvm::StringRef start, uint64_t size, llvm::StringRef name);

/// Writes under a temporary name beside it and renames. Errors: `cannot_write`.
Result<void> write_npy(llvm::StringRef path, const Tensor& tensor);
std::string format_npy(const Tensor& tensor);

} // namespace tg
