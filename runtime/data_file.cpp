#include "runtime/data_file.h"

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

Result<void> write_data_file(llvm::StringRef path,
                             llvm::function_ref<Result<void>(llvm::raw_ostream&)> write) {
  int descriptor = -1;
  llvm::SmallString<128> temporary;
  auto failed = [&](std::error_code code) {
    if (!temporary.empty()) llvm::sys::fs::remove(temporary);
    return error(Code::cannot_write, "cannot write `{0}`: {1}", path, code.message());
  };
  if (std::error_code code =
          llvm::sys::fs::createUniqueFile(path + ".%%%%%%%%", descriptor, temporary))
    return failed(code);
  {
    llvm::raw_fd_ostream out(descriptor, /*shouldClose=*/true);
    Result<void> written = write(out);
    out.close();
    std::error_code code = out.error();
    out.clear_error();
    if (!written) {
      llvm::sys::fs::remove(temporary);
      return written;
    }
    if (code) return failed(code);
  }
  if (std::error_code code = llvm::sys::fs::rename(temporary, path)) return failed(code);
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
