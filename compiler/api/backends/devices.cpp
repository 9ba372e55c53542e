// Queries the operating system and the libraries; nothing is measured.
#include "compiler/api/backends/devices.h"

#include "lang/core/support/threads.h"

#include <llvm/ADT/StringMap.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/Support/FormatVariadic.h>
#include <llvm/Support/Host.h>
#include <llvm/Support/MemoryBuffer.h>

#include <algorithm>

#include <unistd.h>

namespace tg {
namespace {

std::string read_text(const char* path) {
  auto file = llvm::MemoryBuffer::getFileAsStream(path);
  return file ? (*file)->getBuffer().str() : std::string();
}

/// Returns the widest vector instructions that kernels here are dispatched to.
llvm::StringRef vector_isa() {
  llvm::StringMap<bool> features;
  if (!llvm::sys::getHostCPUFeatures(features)) return "no known vector extension";
  if (features.lookup("avx512f") && features.lookup("avx512vl")) return "AVX-512";
  if (features.lookup("avx2") && features.lookup("fma")) return "AVX2";
  return "baseline";
}

} // namespace

std::string processor_name() {
  std::string info = read_text("/proc/cpuinfo");
  for (llvm::StringRef rest = info; !rest.empty();) {
    auto [line, after] = rest.split('\n');
    if (line.startswith("model name")) return line.split(':').second.trim().str();
    rest = after;
  }
  return llvm::sys::getHostCPUName().str();
}

int thread_count(int64_t asked) { return asked > 0 ? static_cast<int>(asked) : available_cores(); }

int64_t physical_memory_bytes() {
  int64_t pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGE_SIZE);
  int64_t bytes = pages > 0 && page > 0 ? pages * page : int64_t{1} << 32;
  int64_t group = 0;
  std::string limit = read_text("/sys/fs/cgroup/memory.max"); // "max" if there is no limit
  if (!llvm::StringRef(limit).trim().getAsInteger(10, group) && group > 0)
    bytes = std::min(bytes, group);
  return bytes;
}

std::string processor_text() {
  int cores = available_cores();
  return llvm::formatv("{0}, {1}, {2} core{3}", processor_name(), vector_isa(), cores,
                       cores == 1 ? "" : "s");
}

} // namespace tg
