// Finds the bytes of mapped files in /proc/self/maps. Small files and irregular ones are read into
// process memory, which must not be released.
#include "compiler/api/files/mapped_pages.h"

#include <cinttypes>
#include <cstdint>
#include <cstdio>

#include <sys/mman.h>
#include <unistd.h>

namespace tg {

namespace {

/// Returns true if the addresses are within one read-only mapping of a file.
bool is_mapped_file(uintptr_t begin, uintptr_t end) {
  std::FILE* maps = std::fopen("/proc/self/maps", "re");
  if (!maps) return false;
  bool found = false;
  uintptr_t first = 0, last = 0;
  char mode[5] = "";
  uint64_t inode = 0;
  while (!found && std::fscanf(maps, "%" SCNxPTR "-%" SCNxPTR " %4s %*s %*s %" SCNu64 "%*[^\n]",
                               &first, &last, mode, &inode) == 4)
    found = first <= begin && end <= last && mode[0] == 'r' && mode[1] == '-' && inode != 0;
  std::fclose(maps);
  return found;
}

} // namespace

void release_mapped_pages(llvm::StringRef bytes) {
  auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  auto address = reinterpret_cast<uintptr_t>(bytes.data());
  uintptr_t begin = (address + page - 1) / page * page;
  uintptr_t end = (address + bytes.size()) / page * page;
  if (begin < end && is_mapped_file(begin, end))
    (void)madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

} // namespace tg
