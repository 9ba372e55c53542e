#include "lang/core/data_file.h"

#include <llvm/ADT/SmallString.h>
#include <llvm/Support/FileSystem.h>

namespace tg {

Result<std::unique_ptr<llvm::MemoryBuffer>> read_data_file(llvm::StringRef path) {
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!file)
    return error(Code::cannot_read, "cannot read `{0}`: {1}", path, file.getError().message());
  if ((*file)->getBufferSize() == 0) return error(Code::empty_file, "`{0}` is empty", path);
  return std::move(*file);
}

namespace {

namespace fs = llvm::sys::fs;

Diagnostic cannot_write(llvm::StringRef path, std::error_code why) {
  return error(Code::cannot_write, "cannot write `{0}`: {1}", path, why.message());
}

/// Where the bytes go: what a link points to, and a device or a pipe itself, since a file renamed
/// to its name would take its place.
struct Target {
  llvm::SmallString<128> path;
  bool in_place = false;
};

Result<Target> target_of(llvm::StringRef path) {
  Target target;
  fs::file_status status;
  if (fs::status(path, status)) { // nothing there yet
    target.path = path;
    return target;
  }
  if (fs::is_directory(status))
    return cannot_write(path, std::make_error_code(std::errc::is_a_directory));
  target.in_place = !fs::is_regular_file(status);
  if (std::error_code why = fs::real_path(path, target.path)) return cannot_write(path, why);
  return target;
}

/// What `write` gives; that the stream failed, if it did.
Result<void> write_stream(llvm::raw_fd_ostream& out, llvm::StringRef path,
                          llvm::function_ref<Result<void>(llvm::raw_ostream&)> write) {
  Result<void> written = write(out);
  out.close();
  std::error_code why = out.error();
  out.clear_error();
  if (written && why) return cannot_write(path, why);
  return written;
}

} // namespace

Result<void> write_data_file(llvm::StringRef path,
                             llvm::function_ref<Result<void>(llvm::raw_ostream&)> write) {
  TG_TRY(Target target, target_of(path));
  if (target.in_place) {
    std::error_code why;
    llvm::raw_fd_ostream out(target.path, why, fs::CD_OpenExisting);
    if (why) return cannot_write(path, why);
    return write_stream(out, path, write);
  }
  int descriptor = -1;
  llvm::SmallString<128> temporary;
  if (std::error_code why = fs::createUniqueFile(target.path + ".%%%%%%%%", descriptor, temporary))
    return cannot_write(path, why);
  llvm::raw_fd_ostream out(descriptor, /*shouldClose=*/true);
  Result<void> written = write_stream(out, path, write);
  if (written)
    if (std::error_code why = fs::rename(temporary, target.path)) written = cannot_write(path, why);
  if (!written) fs::remove(temporary);
  return written;
}

Result<void> check_writable(llvm::StringRef path) {
  TG_TRY(Target target, target_of(path));
  if (target.in_place) {
    std::error_code why = fs::access(target.path, fs::AccessMode::Write);
    return why ? Result<void>(cannot_write(path, why)) : Result<void>();
  }
  int descriptor = -1;
  llvm::SmallString<128> temporary;
  if (std::error_code why = fs::createUniqueFile(target.path + ".%%%%%%%%", descriptor, temporary))
    return cannot_write(path, why);
  llvm::raw_fd_ostream(descriptor, /*shouldClose=*/true).close();
  fs::remove(temporary);
  return {};
}

uint64_t read_little_endian(llvm::StringRef bytes, size_t at, size_t size) {
  uint64_t value = 0;
  for (size_t i = size; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  return value;
}

void append_little_endian(std::string& bytes, uint64_t value, size_t size) {
  for (size_t i = 0; i < size; ++i) bytes += static_cast<char>(value >> (8 * i) & 0xff);
}

} // namespace tg
