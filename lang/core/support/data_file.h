// Files as bytes: read whole (mapped where the system can), written whole or not at all.
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

/// The most that is read of what is no regular file, whose size nothing says beforehand: a pipe, a
/// device, a file of /proc.
inline constexpr uint64_t kMaxStreamBytes = uint64_t{1} << 30;
/// The most of a file of text or JSON, whatever it is.
inline constexpr uint64_t kMaxTextBytes = uint64_t{256} << 20;

/// Errors: `cannot_read`, `empty_file`, `input_too_long`.
Result<std::unique_ptr<llvm::MemoryBuffer>> read_data_file(llvm::StringRef path);

/// Text without the byte-order mark that it may begin with; null where there is no such file.
/// Errors: `cannot_read`, `input_too_long`.
Result<std::optional<std::string>> read_text_if_there(llvm::StringRef path,
                                                      uint64_t most = kMaxTextBytes);
/// The same, and it is an error if there is none.
Result<std::string> read_text_file(llvm::StringRef path, uint64_t most = kMaxTextBytes);
Result<std::string> read_standard_input(uint64_t most = kMaxTextBytes);

/// What `write` puts into the stream, under a temporary name beside `path` that is renamed at the
/// end; if `write` fails, `path` is as it was. A device or a pipe is written to as it stands.
/// Errors: `cannot_write`, and those of `write`.
Result<void> write_data_file(llvm::StringRef path,
                             llvm::function_ref<Result<void>(llvm::raw_ostream&)> write);

/// Whether write_data_file() could begin: what takes long asks before, not after. Errors:
/// `cannot_write`.
Result<void> check_writable(llvm::StringRef path);

/// Little-endian unsigned of `size` bytes, 8 at most; there must be so many at `at`.
uint64_t read_little_endian(llvm::StringRef bytes, size_t at, size_t size);
void append_little_endian(std::string& bytes, uint64_t value, size_t size);

// The files that are being written under temporary names: a signal that ends the program must leave
// none of them behind. A handler can reach nothing but what is global, so their names are.

/// A name that is removed if a signal ends the program while this lives. Where there are too many
/// at once, it is not.
class TemporaryFile {
public:
  explicit TemporaryFile(llvm::StringRef path);
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile();

private:
  int slot_ = -1;
};

/// Whether there is one. This and the next are safe in a signal handler.
bool writes_files();
void remove_temporary_files();

/// The .tg files of stdlib/ and rules/, embedded into the program by cmake/embed.cmake, so that
/// they are found from any directory.
struct EmbeddedFile {
  llvm::StringRef name; // "rules/matmul.tg"
  llvm::StringRef text;
};

/// Sorted by name. Defined in a generated file that is linked into the library `tangram`.
llvm::ArrayRef<EmbeddedFile> embedded_files();

// Where what can be made again is kept: measured costs, compiled kernels, verified rules.

/// $XDG_CACHE_HOME/tangram/NAME or ~/.cache/tangram/NAME; "" if there is no home. Makes nothing.
std::string cache_path(llvm::StringRef name);

/// Returns true if `path` is a regular file or does not exist yet. The program opens its caches
/// unasked, and opening a pipe or a device that took the place of one could block for ever.
bool is_usable_cache(llvm::StringRef path);
/// As read_data_file(), for a cache. Errors: also `cannot_read` if the file is not a regular one.
Result<std::unique_ptr<llvm::MemoryBuffer>> read_cache_file(llvm::StringRef path);
/// As write_data_file(), for a cache. Errors: also `cannot_write` if the file is not a regular one.
Result<void> write_cache_file(llvm::StringRef path,
                              llvm::function_ref<Result<void>(llvm::raw_ostream&)> write);

} // namespace tg
