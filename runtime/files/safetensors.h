// Files of weights in the .safetensors format (huggingface/safetensors, README "Format"): eight
// bytes of length, a JSON object from names to dtype, shape and place, then the elements, row-major
// and little-endian, without holes.
//
// Nothing in a file is believed before it is checked: the header is read by a scanner of this one
// form, in one pass, without recursion; sizes are multiplied with overflow checks; the places must
// tile the data exactly, so that no two tensors overlap and no byte is unaccounted for. An opened
// file is mapped, and a tensor's elements are touched only when it is read.
#pragma once

#include "lang/core/support/data_file.h"
#include "runtime/tensor.h"

#include <llvm/ADT/StringMap.h>

namespace tg {

/// The longest header that is read, as in the reference implementation.
inline constexpr uint64_t kMaxSafetensorsHeader = 100'000'000;

class Safetensors {
public:
  struct Entry {
    std::string name;
    std::string dtype; // as in the file: "F32", "I64", ...
    /// None where the dtype is one that Tangram does not have (F64, U8, ...): listed, not read.
    TensorType type;
    uint64_t begin = 0, end = 0; // bytes of data
    /// "f32[2, 3]", "F64[2, 3]"
    std::string text() const;
  };

  /// Errors: `cannot_read`, `empty_file`, `bad_data_file`.
  static Result<Safetensors> open(llvm::StringRef path);
  /// The same from memory; `name` is for messages.
  static Result<Safetensors> parse(std::unique_ptr<llvm::MemoryBuffer> file, llvm::StringRef name);

  /// In the order of their places.
  llvm::ArrayRef<Entry> entries() const { return entries_; }
  const Entry* find(llvm::StringRef name) const;
  /// The free texts of `__metadata__`, in the order of the file.
  llvm::ArrayRef<std::pair<std::string, std::string>> metadata() const { return metadata_; }
  llvm::StringRef file_name() const { return file_name_; }

  /// The elements, in the mapped file, at any address. Errors: `bad_data_file` for a dtype, rank or
  /// size that no tensor of Tangram has, or a bool that is neither 0 nor 1.
  Result<llvm::StringRef> bytes(const Entry& entry) const;
  /// A copy of them. Errors: those; `memory_limit`.
  Result<Tensor> read(const Entry& entry) const;

private:
  std::string file_name_;
  std::unique_ptr<llvm::MemoryBuffer> file_;
  llvm::StringRef data_;
  std::vector<Entry> entries_;
  std::vector<std::pair<std::string, std::string>> metadata_;
  llvm::StringMap<size_t> index_;
};

/// A tensor to be written: its elements are asked for when their turn comes, one tensor at a time,
/// so that a file may be larger than what is held in memory.
struct SafetensorsItem {
  std::string name;
  TensorType type;
};
using TensorSource = llvm::function_ref<Result<Tensor>(size_t item)>;

/// Writes the items under a temporary name that is renamed at the end: wide dtypes first, so that
/// all are aligned, then by name, so that equal contents are equal files. The names must differ.
/// Errors: `cannot_write`, and those of `source`.
Result<void> write_safetensors(llvm::StringRef path, llvm::ArrayRef<SafetensorsItem> items,
                               TensorSource source,
                               llvm::ArrayRef<std::pair<std::string, std::string>> metadata = {});

} // namespace tg
