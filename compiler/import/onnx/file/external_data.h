// Tensor data in files next to the model file. Their location is given by the model file and so is
// not trusted: the path must be relative, and must lead, after following all links, to a regular
// file below the model's folder. A file is mapped once, on first use; any thread may do so.
#pragma once

#include "compiler/import/onnx/file/schema.h"
#include "lang/core/result.h"

#include <llvm/ADT/StringMap.h>
#include <llvm/Support/MemoryBuffer.h>

#include <memory>
#include <mutex>
#include <string>

namespace tg::onnx {

/// The `external_data` entry of a tensor.
struct ExternalPlace {
  std::string location;
  uint64_t offset = 0;
  std::optional<uint64_t> length;
};
/// Parses the entry. Errors: `bad_data_file`, without the tensor's name.
Result<ExternalPlace> external_place(const schema::Tensor& tensor);

class ExternalData {
public:
  /// An empty folder rejects everything.
  explicit ExternalData(llvm::StringRef folder) : folder_(folder.str()) {}

  /// Returns the `size` bytes at the place, valid for the life of this object. Errors:
  /// `bad_data_file`, `cannot_read`, without the tensor's name.
  Result<llvm::StringRef> bytes(const ExternalPlace& place, uint64_t size) const;

private:
  Result<llvm::StringRef> file(llvm::StringRef location) const;
  Result<std::string> path_of(llvm::StringRef location) const;

  std::string folder_;
  mutable std::mutex mutex_;                                           // protects files_
  mutable llvm::StringMap<std::unique_ptr<llvm::MemoryBuffer>> files_; // by location
};

} // namespace tg::onnx
