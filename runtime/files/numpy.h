// NumPy's files. A .npy file is one array. Reads format 1.0 to 3.0 as documented
// in numpy.lib.format; writes 1.0. A file is checked completely before anything
// of its claimed size is allocated, and damaged contents only cause an error.
#pragma once

#include "runtime/tensor.h"

#include <llvm/ADT/STLExtras.h>

namespace tg {

/// The suffix of an array name (before `.npy`) whose 16-bit unsigned integers are the bits of bf16.
inline constexpr llvm::StringLiteral kBitsOfBf16(".bf16");

/// Reads floats, integers and bool, little-endian, in C order;
/// and bf16 as ml_dtypes writes it, or as its bits in uint16 (kBitsOfBf16).
/// Other 8- and 16-bit integers become i32; unsigned 32- and 64-bit integers become i64
/// with the same bits.
/// Errors: `cannot_read`, `empty_file`, `bad_data_file` (damaged, or a form not listed above).
Result<Tensor> read_npy(llvm::StringRef path);
/// The same from memory; `name` is used in messages.
Result<Tensor> parse_npy(llvm::StringRef bytes, llvm::StringRef name);

/// The contents of the header: the tensor's type and the offset of its elements.
struct NpyHeader {
  TensorType type;
  size_t data = 0;
  int width = 0; // bytes of an element in the file
  bool is_signed = false;
};
/// The size of the largest header that NumPy writes or reads.
inline constexpr size_t kMaxNpyHeader = size_t{64} << 10;
/// Parses the header at the start of a file of `size` bytes. `start` has the first kMaxNpyHeader
/// bytes, or all. Checks that the file holds exactly the elements. Errors: `bad_data_file`.
Result<NpyHeader> parse_npy_header(llvm::StringRef start, uint64_t size, llvm::StringRef name);

/// Writes a temporary file in the same folder and renames it. Errors: `cannot_write`.
Result<void> write_npy(llvm::StringRef path, const Tensor& tensor);
/// Formats bf16, which NumPy does not have, as f32.
std::string format_npy(const Tensor& tensor);

// A .npz file is a zip archive of .npy files, one per array (numpy.savez and savez_compressed;
// PKWARE APPNOTE 6.3). Reads stored and deflated members with 32- and 64-bit sizes;
// writes stored members with 64-bit sizes, as numpy does.
//
// An archive is validated before use. The directory and every member must be inside the file,
// members must not overlap, names must differ, a member's claimed size must be reachable
// from its compressed bytes, and checksums must match.
// Two megabytes can encode two gigabytes of zeros, so an array is unpacked only after its header
// matches its size and the reader accepts its type.

struct NamedTensor {
  std::string name;
  Tensor tensor;
};

/// Returns success if an array is wanted, by its name and type; called before unpacking. Null:
/// accepts all.
using AcceptArray = llvm::function_ref<Result<void>(llvm::StringRef, const TensorType&)>;

/// Returns the arrays in the order of the archive's directory.
/// Names are without the ending, which for bits of bf16 includes kBitsOfBf16.
/// Errors: `cannot_read`, `empty_file`, `bad_data_file`, and those of `accept`.
Result<std::vector<NamedTensor>> read_npz(llvm::StringRef path, AcceptArray accept = nullptr);
/// The same from memory; `name` is used in messages.
Result<std::vector<NamedTensor>> parse_npz(llvm::StringRef bytes, llvm::StringRef name,
                                           AcceptArray accept = nullptr);

/// Writes a temporary file in the same folder and renames it. The names must differ.
/// Errors: `cannot_write`.
Result<void> write_npz(llvm::StringRef path, llvm::ArrayRef<NamedTensor> tensors);
std::string format_npz(llvm::ArrayRef<NamedTensor> tensors);

} // namespace tg
