// Weight files in the .safetensors format (huggingface/safetensors, README "Format"):
// an eight-byte length, a JSON object that maps names to dtype, shape and offsets,
// then the elements, row-major and little-endian, without gaps.
//
// A file is validated before use. The header is read by a scanner for this one form, in one pass,
// without recursion. Sizes are multiplied with overflow checks.
// The offsets must cover the data exactly, so that no two tensors overlap and every byte belongs
// to one.
// An opened file is mapped, and a tensor's elements are touched only when it is read.
#pragma once

#include "lang/core/support/data_file.h"
#include "runtime/tensor.h"

#include <llvm/ADT/StringMap.h>

namespace tg {

/// The longest accepted header, as in the reference implementation.
inline constexpr uint64_t kMaxSafetensorsHeader = 100'000'000;

class Safetensors {
public:
  struct Entry {
    std::string name;
    std::string dtype; // as in the file: "F32", "I64", ...
    /// None if Tangram does not have the dtype (U8, ...): listed, but not read.
    TensorType type;
    uint64_t begin = 0, end = 0; // offsets in the data
    /// "f32[2, 3]", "F64[2, 3]"
    std::string text() const;
  };

  /// Errors: `cannot_read`, `empty_file`, `bad_data_file`.
  static Result<Safetensors> open(llvm::StringRef path);
  /// The same from memory; `name` is used in messages.
  static Result<Safetensors> parse(std::unique_ptr<llvm::MemoryBuffer> file, llvm::StringRef name);

  /// In the order of their offsets.
  llvm::ArrayRef<Entry> entries() const { return entries_; }
  const Entry* find(llvm::StringRef name) const;
  /// The strings of `__metadata__`, in the order of the file.
  llvm::ArrayRef<std::pair<std::string, std::string>> metadata() const { return metadata_; }
  llvm::StringRef file_name() const { return file_name_; }

  /// Returns the elements, in the mapped file, at any address. Errors:
  /// `bad_data_file` for a dtype, rank or size that Tangram's tensors cannot have,
  /// or a bool that is neither 0 nor 1.
  Result<llvm::StringRef> bytes(const Entry& entry) const;
  /// Returns a copy of the elements. Errors: those of bytes(); `memory_limit`.
  Result<Tensor> read(const Entry& entry) const;

private:
  std::string file_name_;
  std::unique_ptr<llvm::MemoryBuffer> file_;
  llvm::StringRef data_;
  std::vector<Entry> entries_;
  std::vector<std::pair<std::string, std::string>> metadata_;
  llvm::StringMap<size_t> index_;
};

/// A tensor to be written. Its elements are requested when it is written, one tensor at a time,
/// so a file may be larger than the memory.
struct SafetensorsItem {
  std::string name;
  TensorType type;
};
using TensorSource = llvm::function_ref<Result<Tensor>(size_t item)>;

/// Writes the items to a temporary file that is renamed at the end:
/// wide dtypes first, so that all are aligned, then by name, so that equal contents give equal
/// files. The names must differ. Errors: `cannot_write`, and those of `source`.
Result<void> write_safetensors(llvm::StringRef path, llvm::ArrayRef<SafetensorsItem> items,
                               TensorSource source,
                               llvm::ArrayRef<std::pair<std::string, std::string>> metadata = {});

} // namespace tg
