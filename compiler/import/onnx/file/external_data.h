// Data of tensors in files beside the model's. Where they lie comes from the model's file, so it is
// not believed: the path is relative, and what it leads to, every link followed, is a regular file
// below the model's folder. A file is mapped when it is first asked for, once, by any thread.
#pragma once

#include "compiler/import/onnx/file/schema.h"
#include "lang/core/result.h"

#include <llvm/ADT/StringMap.h>
#include <llvm/Support/MemoryBuffer.h>

#include <memory>
#include <mutex>
#include <string>

namespace tg::onnx {

/// What `external_data` of a tensor says.
struct ExternalPlace {
  std::string location;
  uint64_t offset = 0;
  std::optional<uint64_t> length;
};
/// Errors: `bad_data_file`, without the tensor's name.
Result<ExternalPlace> external_place(const schema::Tensor& tensor);

class ExternalData {
public:
  /// Without a folder everything is refused.
  explicit ExternalData(llvm::StringRef folder) : folder_(folder.str()) {}

  /// The `size` bytes of the place; they live as long as this. Errors: `bad_data_file`,
  /// `cannot_read`, without the tensor's name.
  Result<llvm::StringRef> bytes(const ExternalPlace& place, uint64_t size) const;

private:
  Result<llvm::StringRef> file(llvm::StringRef location) const;
  Result<std::string> path_of(llvm::StringRef location) const;

  std::string folder_;
  mutable std::mutex mutex_;                                           // of files_
  mutable llvm::StringMap<std::unique_ptr<llvm::MemoryBuffer>> files_; // by location
};

} // namespace tg::onnx
