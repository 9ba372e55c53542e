// Files as bytes: read whole (mapped where the system can), written whole or not at all.
#pragma once

#include "lang/core/result.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/Support/MemoryBuffer.h>

#include <memory>

namespace tg {

/// Errors: `cannot_read`, `empty_file`.
Result<std::unique_ptr<llvm::MemoryBuffer>> read_data_file(llvm::StringRef path);

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

} // namespace tg
