#include "lang/core/temporary_file.h"

#include <atomic>
#include <cstdlib>
#include <cstring>

#include <unistd.h>

namespace tg {
namespace {

constexpr int kSlots = 64;
/// Taken by who exchanges it for null, who alone may free it; a handler does not.
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

} // namespace tg
