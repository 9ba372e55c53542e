// NumPy's .npz files: a zip archive of .npy files, one for each array (numpy.savez and
// savez_compressed; PKWARE APPNOTE 6.3). Read with stored and deflated members, 32 and 64 bits
// wide; written stored, 64 bits wide, as numpy does.
//
// An archive is checked before it is believed: the directory and every member must lie inside the
// file, members must not overlap, names must differ, a member's claimed size must be one that its
// compressed bytes can come to, and checksums must agree. Two megabytes can hold two gigabytes of
// zeros, so an array is unpacked only after its header fits its size and the reader wants its type.
#pragma once

#include "runtime/tensor.h"

#include <llvm/ADT/STLExtras.h>

namespace tg {

struct NamedTensor {
  std::string name;
  Tensor tensor;
};

/// Whether an array is wanted, by its name and type; asked before it is unpacked. Null: each is.
using AcceptArray = llvm::function_ref<Result<void>(llvm::StringRef, const TensorType&)>;

/// The arrays in the order of the archive's directory, without the ending of their names.
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
