// A driver for the fuzz targets without libFuzzer: runs each file of the given folders (or files)
// once, so that seeds and regressions are tested without clang.
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

std::vector<std::string> files_below(const std::string& path) {
  namespace fs = llvm::sys::fs;
  if (!fs::is_directory(path)) return {path};
  std::vector<std::string> files;
  std::error_code code;
  for (fs::directory_iterator at(path, code), end; at != end && !code; at.increment(code))
    if (at->type() == fs::file_type::regular_file) files.push_back(at->path());
  std::sort(files.begin(), files.end());
  return files;
}

} // namespace

int main(int argc, char** argv) {
  size_t ran = 0;
  for (int i = 1; i < argc; ++i)
    for (const std::string& file : files_below(argv[i])) {
      auto buffer = llvm::MemoryBuffer::getFile(file);
      if (!buffer) {
        llvm::errs() << "cannot read " << file << "\n";
        return 1;
      }
      // Printed before the run, so that a crash can be attributed to the file.
      llvm::outs() << file << "\n";
      llvm::outs().flush();
      llvm::StringRef bytes = (*buffer)->getBuffer();
      // A copy of exact size, so that AddressSanitizer detects reads beyond the end.
      std::vector<uint8_t> copy(bytes.bytes_begin(), bytes.bytes_end());
      LLVMFuzzerTestOneInput(copy.data(), copy.size());
      ++ran;
    }
  llvm::outs() << ran << " inputs\n";
  return ran > 0 ? 0 : 1;
}
