// Files as bytes: read completely (mapped if possible), written atomically.
#pragma once

#include "lang/core/result.h"

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/Support/MemoryBuffer.h>

#include <memory>
#include <optional>
#include <string>

namespace tg {

/// The read limit for files of unknown size: a pipe, a device, a file of /proc.
inline constexpr uint64_t kMaxStreamBytes = uint64_t{1} << 30;
/// The read limit for a file of text or JSON.
inline constexpr uint64_t kMaxTextBytes = uint64_t{256} << 20;

/// Errors: `cannot_read`, `empty_file`, `input_too_long`.
Result<std::unique_ptr<llvm::MemoryBuffer>> read_data_file(llvm::StringRef path);

/// Returns text without an initial byte-order mark; nullopt if the file does not exist. Errors:
/// `cannot_read`, `input_too_long`.
Result<std::optional<std::string>> read_text_if_there(llvm::StringRef path,
                                                      uint64_t most = kMaxTextBytes);
/// The same, but a missing file is an error.
Result<std::string> read_text_file(llvm::StringRef path, uint64_t most = kMaxTextBytes);
Result<std::string> read_standard_input(uint64_t most = kMaxTextBytes);

/// Writes the output of `write` to a temporary file in the same folder,
/// which is renamed at the end; if `write` fails, `path` is unchanged.
/// A device or a pipe is written directly. Errors: `cannot_write`, and those of `write`.
Result<void> write_data_file(llvm::StringRef path,
                             llvm::function_ref<Result<void>(llvm::raw_ostream&)> write);

/// Checks that write_data_file() could begin, before a long computation rather than after it.
/// Errors: `cannot_write`.
Result<void> check_writable(llvm::StringRef path);

/// Reads a little-endian unsigned integer of `size` bytes, at most 8; the bytes at `at` must exist.
uint64_t read_little_endian(llvm::StringRef bytes, size_t at, size_t size);
void append_little_endian(std::string& bytes, uint64_t value, size_t size);

// The temporary files that are being written: a signal that ends the program must not leave any
// of them behind. A handler can only access globals, so their names are global.

/// A file name that is removed if a signal ends the program while this object lives.
/// If there are too many at once, it is not removed.
class TemporaryFile {
public:
  explicit TemporaryFile(llvm::StringRef path);
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile();

private:
  int slot_ = -1;
};

/// Returns true if there is one. This function and the next are safe in a signal handler.
bool writes_files();
void remove_temporary_files();

/// The .tg files of stdlib/ and rules/, embedded into the program by cmake/embed.cmake,
/// so that they are available in any directory.
struct EmbeddedFile {
  llvm::StringRef name; // "rules/matmul.tg"
  llvm::StringRef text;
};

/// Returns the files sorted by name. Defined in a generated file that is linked into the library
/// `tangram`.
llvm::ArrayRef<EmbeddedFile> embedded_files();

// The cache folder, for data that can be recreated: measured costs, compiled kernels,
// verified rules.

/// Returns $XDG_CACHE_HOME/tangram/NAME or ~/.cache/tangram/NAME; "" if there is no home.
/// Creates nothing.
std::string cache_path(llvm::StringRef name);

/// Returns true if `path` is a regular file or does not exist yet.
/// The program opens its caches on its own, and opening a pipe or a device in place of one could
/// block for ever.
bool is_usable_cache(llvm::StringRef path);
/// Like read_data_file(), for a cache. Errors: also `cannot_read` if the file is not regular.
Result<std::unique_ptr<llvm::MemoryBuffer>> read_cache_file(llvm::StringRef path);
/// Like write_data_file(), for a cache. Errors: also `cannot_write` if the file is not regular.
Result<void> write_cache_file(llvm::StringRef path,
                              llvm::function_ref<Result<void>(llvm::raw_ostream&)> write);

} // namespace tg
