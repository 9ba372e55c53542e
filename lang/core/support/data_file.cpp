#include "lang/core/support/data_file.h"

#include <llvm/ADT/ScopeExit.h>
#include <llvm/ADT/SmallString.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/Path.h>
#include <llvm/Support/SmallVectorMemoryBuffer.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

namespace tg {

namespace {

namespace fs = llvm::sys::fs;
using Buffer = std::unique_ptr<llvm::MemoryBuffer>;

Diagnostic cannot_read(llvm::StringRef path, std::error_code why) {
  return error(Code::cannot_read, "cannot read `{0}`: {1}", path, why.message());
}

Diagnostic too_long(llvm::StringRef path, uint64_t most) {
  return error(Code::input_too_long, "`{0}` exceeds the limit of {1} MiB for such a file", path,
               most >> 20);
}

/// Reads in pieces, because the size is unknown or unreliable.
Result<Buffer> read_stream(fs::file_t file, llvm::StringRef path, uint64_t most) {
  constexpr size_t kPiece = size_t{64} << 10;
  llvm::SmallVector<char, 0> bytes;
  while (bytes.size() <= most) {
    size_t before = bytes.size();
    if (bytes.capacity() < before + kPiece) bytes.reserve(2 * before + kPiece);
    bytes.resize_for_overwrite(before + kPiece);
    llvm::Expected<size_t> got =
        fs::readNativeFile(file, llvm::makeMutableArrayRef(bytes.data() + before, kPiece));
    if (!got) return cannot_read(path, llvm::errorToErrorCode(got.takeError()));
    bytes.truncate(before + *got);
    if (*got > 0) continue;
    return Buffer(std::make_unique<llvm::SmallVectorMemoryBuffer>(
        std::move(bytes), path, /*RequiresNullTerminator=*/false));
  }
  return too_long(path, most);
}

/// Returns all bytes of an open file, mapped if it is a regular file, with the limit `most_mapped`.
Result<Buffer> read_open_file(fs::file_t file, llvm::StringRef path, uint64_t most,
                              uint64_t most_mapped) {
  fs::file_status status;
  if (std::error_code why = fs::status(file, status)) return cannot_read(path, why);
  if (fs::is_directory(status))
    return cannot_read(path, std::make_error_code(std::errc::is_a_directory));
  // Files of /proc are regular files without a size.
  if (!fs::is_regular_file(status) || status.getSize() == 0) return read_stream(file, path, most);
  if (status.getSize() > most_mapped) return too_long(path, most_mapped);
  auto mapped = llvm::MemoryBuffer::getOpenFile(file, path, status.getSize(),
                                                /*RequiresNullTerminator=*/false);
  if (!mapped) return cannot_read(path, mapped.getError());
  return std::move(*mapped);
}

Result<Buffer> read_bytes(llvm::StringRef path, uint64_t most, uint64_t most_mapped) {
  llvm::Expected<fs::file_t> file = fs::openNativeFileForRead(path);
  if (!file) return cannot_read(path, llvm::errorToErrorCode(file.takeError()));
  auto close = llvm::make_scope_exit([&] { (void)fs::closeFile(*file); });
  return read_open_file(*file, path, most, most_mapped);
}

std::string text_of(const llvm::MemoryBuffer& file) {
  llvm::StringRef text = file.getBuffer();
  text.consume_front("\xEF\xBB\xBF"); // the byte-order mark, which some editors write
  return text.str();
}

bool is_there(llvm::StringRef path) {
  fs::file_status status;
  return fs::status(path, status) != std::errc::no_such_file_or_directory;
}

} // namespace

Result<std::unique_ptr<llvm::MemoryBuffer>> read_data_file(llvm::StringRef path) {
  TG_TRY(Buffer file, read_bytes(path, kMaxStreamBytes, UINT64_MAX));
  if (file->getBufferSize() == 0) return error(Code::empty_file, "`{0}` is empty", path);
  return file;
}

Result<std::string> read_text_file(llvm::StringRef path, uint64_t most) {
  TG_TRY(Buffer file, read_bytes(path, most, most));
  return text_of(*file);
}

Result<std::string> read_standard_input(uint64_t most) {
  TG_TRY(Buffer file, read_open_file(fs::getStdinHandle(), "standard input", most, most));
  return text_of(*file);
}

Result<std::optional<std::string>> read_text_if_there(llvm::StringRef path, uint64_t most) {
  if (!is_there(path)) return std::optional<std::string>();
  TG_TRY(std::string text, read_text_file(path, most));
  return std::optional<std::string>(std::move(text));
}

namespace {

Diagnostic cannot_write(llvm::StringRef path, std::error_code why) {
  return error(Code::cannot_write, "cannot write `{0}`: {1}", path, why.message());
}

/// The destination of a write: the target of a link; and a device or a pipe itself,
/// because renaming a file would replace it.
struct Target {
  llvm::SmallString<128> path;
  bool in_place = false;
};

Result<Target> target_of(llvm::StringRef path) {
  Target target;
  fs::file_status status;
  if (fs::status(path, status)) { // nothing exists yet
    target.path = path;
    return target;
  }
  if (fs::is_directory(status))
    return cannot_write(path, std::make_error_code(std::errc::is_a_directory));
  target.in_place = !fs::is_regular_file(status);
  if (std::error_code why = fs::real_path(path, target.path)) return cannot_write(path, why);
  return target;
}

/// Returns the result of `write`, or the error of the stream if it failed.
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
  TemporaryFile in_progress(temporary);
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
  TemporaryFile in_progress(temporary);
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

namespace {

constexpr int kSlots = 64;
/// Whoever exchanges it for null owns it and may free it; a handler does not free it.
std::atomic<char*> paths[kSlots]; // NOLINT

} // namespace

TemporaryFile::TemporaryFile(llvm::StringRef path) {
  char* copy = strndup(path.data(), path.size());
  for (int slot = 0; copy && slot < kSlots; ++slot) {
    char* free_slot = nullptr;
    if (!paths[slot].compare_exchange_strong(free_slot, copy)) continue;
    slot_ = slot;
    return;
  }
  std::free(copy);
}

TemporaryFile::~TemporaryFile() {
  if (slot_ >= 0) std::free(paths[slot_].exchange(nullptr));
}

bool writes_files() {
  for (const std::atomic<char*>& path : paths)
    if (path.load()) return true;
  return false;
}

void remove_temporary_files() {
  for (std::atomic<char*>& path : paths)
    if (char* name = path.exchange(nullptr)) unlink(name);
}

std::string cache_path(llvm::StringRef name) {
  llvm::SmallString<128> path;
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  if (cache && cache[0] == '/') { // the standard ignores relative ones
    path = cache;
  } else if (home && home[0] == '/') {
    path = home;
    llvm::sys::path::append(path, ".cache");
  } else {
    return "";
  }
  llvm::sys::path::append(path, "tangram", name);
  return path.str().str();
}

bool is_usable_cache(llvm::StringRef path) {
  fs::file_status status;
  std::error_code why = fs::status(path, status);
  return why ? why == std::errc::no_such_file_or_directory : fs::is_regular_file(status);
}

Result<Buffer> read_cache_file(llvm::StringRef path) {
  if (!is_usable_cache(path))
    return error(Code::cannot_read, "cannot read `{0}`: not a regular file", path);
  return read_data_file(path);
}

Result<void> write_cache_file(llvm::StringRef path,
                              llvm::function_ref<Result<void>(llvm::raw_ostream&)> write) {
  if (!is_usable_cache(path))
    return error(Code::cannot_write, "cannot write `{0}`: not a regular file", path);
  return write_data_file(path, write);
}

} // namespace tg
