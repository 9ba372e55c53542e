#include "compiler/import/onnx/file/external_data.h"

#include "lang/core/support/data_file.h"

#include <llvm/ADT/SmallString.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/Path.h>

namespace tg::onnx {

namespace fs = llvm::sys::fs;
namespace path = llvm::sys::path;

namespace {

/// Returns true if the written path leads outside the folder or is not valid.
bool is_refused(llvm::StringRef location) {
  return location.empty() || location.contains('\0') || location.contains('\\') ||
         path::is_absolute(location, path::Style::posix) ||
         path::is_absolute(location, path::Style::windows) ||
         std::any_of(path::begin(location, path::Style::posix), path::end(location),
                     [](llvm::StringRef part) { return part == ".."; });
}

Diagnostic outside_folder_error(llvm::StringRef location) {
  return error(Code::bad_data_file,
               "its external data `{0}` is not a path to a file in the model's folder", location);
}

Diagnostic cannot_read(llvm::StringRef file, std::error_code why) {
  return error(Code::cannot_read, "its external data `{0}` cannot be read: {1}", file,
               why.message());
}

Result<uint64_t> number(const schema::KeyValue& entry) {
  uint64_t value = 0;
  if (llvm::StringRef(entry.value()).getAsInteger(10, value))
    return error(Code::bad_data_file, "the {0} of its external data must be a number, got `{1}`",
                 entry.key(), entry.value());
  return value;
}

} // namespace

Result<ExternalPlace> external_place(const schema::Tensor& tensor) {
  ExternalPlace place;
  bool has_location = false, has_offset = false;
  for (const schema::KeyValue& entry : tensor.external_data()) {
    bool twice = false;
    if (entry.key() == "location") {
      twice = std::exchange(has_location, true);
      place.location = entry.value();
    } else if (entry.key() == "offset") {
      twice = std::exchange(has_offset, true);
      TG_TRY(place.offset, number(entry));
    } else if (entry.key() == "length") {
      twice = place.length.has_value();
      TG_TRY(place.length, number(entry));
    }
    if (twice)
      return error(Code::bad_data_file, "its external data has two entries `{0}`", entry.key());
  }
  if (!has_location) return error(Code::bad_data_file, "its external data has no location");
  return place;
}

Result<llvm::StringRef> ExternalData::bytes(const ExternalPlace& place, uint64_t size) const {
  if (is_refused(place.location)) return outside_folder_error(place.location);
  if (place.length && *place.length != size)
    return error(Code::bad_data_file, "its external data has {0} bytes, but its type requires {1}",
                 *place.length, size);
  if (size == 0) return llvm::StringRef();
  TG_TRY(llvm::StringRef all, file(place.location));
  if (place.offset > all.size() || size > all.size() - place.offset)
    return error(
        Code::bad_data_file,
        "its external data `{0}` has {1} bytes, but the model requires {2} from byte {3} on",
        place.location, all.size(), size, place.offset);
  return all.substr(place.offset, size);
}

Result<llvm::StringRef> ExternalData::file(llvm::StringRef location) const {
  std::lock_guard lock(mutex_);
  auto found = files_.find(location);
  if (found != files_.end()) return found->second->getBuffer();
  TG_TRY(std::string path, path_of(location));
  TG_TRY(std::unique_ptr<llvm::MemoryBuffer> file, read_data_file(path));
  return (files_[location] = std::move(file))->getBuffer();
}

/// Returns the path of the file with all links resolved.
Result<std::string> ExternalData::path_of(llvm::StringRef location) const {
  if (folder_.empty())
    return error(Code::bad_data_file,
                 "its external data `{0}` requires a model that is read from a file", location);
  llvm::SmallString<256> whole(folder_), folder, real;
  path::append(whole, location);
  if (std::error_code why = fs::real_path(folder_, folder)) return cannot_read(folder_, why);
  if (std::error_code why = fs::real_path(whole, real)) return cannot_read(whole, why);
  if (!folder.endswith("/")) folder += '/';
  if (!real.startswith(folder)) return outside_folder_error(location);
  fs::file_status status;
  if (std::error_code why = fs::status(real, status)) return cannot_read(whole, why);
  if (!fs::is_regular_file(status)) // a pipe would block forever
    return error(Code::cannot_read,
                 "its external data `{0}` cannot be read: it is not a regular file", whole);
  return real.str().str();
}

} // namespace tg::onnx
