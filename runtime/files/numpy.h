// NumPy's files. A .npy file is one array. Format 1.0 to 3.0 as numpy.lib.format documents it;
// written as 1.0. A file is checked in full before anything of its claimed size is allocated, and
// no content, however damaged, does more than give an error.
#pragma once

#include "runtime/tensor.h"

#include <llvm/ADT/STLExtras.h>

namespace tg {

/// The end of the name of an array (before `.npy`) whose 16-bit unsigned integers are bits of bf16.
inline constexpr llvm::StringLiteral kBitsOfBf16(".bf16");

/// Reads floats, integers and bool, little-endian, in C order; bf16 as ml_dtypes writes it, or as
/// the bits that uint16 holds (kBitsOfBf16). Other integers of 8 and 16 bits become i32, those of
/// 32 and 64 bits without a sign i64, which keeps their bits. Errors: `cannot_read`, `empty_file`,
/// `bad_data_file` (damaged, or of a form not listed above).
Result<Tensor> read_npy(llvm::StringRef path);
/// The same from memory; `name` is for messages.
Result<Tensor> parse_npy(llvm::StringRef bytes, llvm::StringRef name);

/// What the head of such a file says: the tensor's type, and where its elements begin.
struct NpyHeader {
  TensorType type;
  size_t data = 0;
  int width = 0; // bytes of an element in the file
  bool is_signed = false;
};
/// So many bytes hold every header that NumPy writes or reads.
inline constexpr size_t kMaxNpyHeader = size_t{64} << 10;
/// The header at the start of a file of `size` bytes, of which kMaxNpyHeader or all are given; that
/// the file holds exactly the elements is checked. Errors: `bad_data_file`.
Result<NpyHeader> parse_npy_header(llvm::StringRef start, uint64_t size, llvm::StringRef name);

/// Writes under a temporary name beside it and renames. Errors: `cannot_write`.
Result<void> write_npy(llvm::StringRef path, const Tensor& tensor);
/// bf16, which NumPy does not have, as f32.
std::string format_npy(const Tensor& tensor);

// A .npz file is a zip archive of .npy files, one for each array (numpy.savez and
// savez_compressed; PKWARE APPNOTE 6.3). Read with stored and deflated members, 32 and 64 bits
// wide; written stored, 64 bits wide, as numpy does.
//
// An archive is checked before it is believed: the directory and every member must lie inside the
// file, members must not overlap, names must differ, a member's claimed size must be one that its
// compressed bytes can come to, and checksums must agree. Two megabytes can hold two gigabytes of
// zeros, so an array is unpacked only after its header fits its size and the reader wants its type.

struct NamedTensor {
  std::string name;
  Tensor tensor;
};

/// Whether an array is wanted, by its name and type; asked before it is unpacked. Null: each is.
using AcceptArray = llvm::function_ref<Result<void>(llvm::StringRef, const TensorType&)>;

/// The arrays in the order of the archive's directory, without the ending of their names, which for
/// bits of bf16 includes kBitsOfBf16.
/// Errors: `cannot_read`, `empty_file`, `bad_data_file`, and those of `accept`.
Result<std::vector<NamedTensor>> read_npz(llvm::StringRef path, AcceptArray accept = nullptr);
/// The same from memory; `name` is for messages.
Result<std::vector<NamedTensor>> parse_npz(llvm::StringRef bytes, llvm::StringRef name,
                                           AcceptArray accept = nullptr);

/// Writes under a temporary name beside it and renames. The names must differ.
/// Errors: `cannot_write`.
Result<void> write_npz(llvm::StringRef path, llvm::ArrayRef<NamedTensor> tensors);
std::string format_npz(llvm::ArrayRef<NamedTensor> tensors);

} // namespace tg
