// Asks the operating system and the libraries; nothing is measured.
#include "compiler/driver/devices.h"

#include <llvm/ADT/StringMap.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/Support/FormatVariadic.h>
#include <llvm/Support/Host.h>
#include <llvm/Support/MemoryBuffer.h>

#ifdef TG_HAVE_CUDA
#include "runtime/cuda/device/libraries.h"
#endif
#ifdef TG_HAVE_ONEDNN
#include <oneapi/dnnl/dnnl.h>
#endif

#include <algorithm>

#include <sched.h>
#include <unistd.h>

namespace tg {
namespace {

std::string read_text(const char* path) {
  auto file = llvm::MemoryBuffer::getFileAsStream(path);
  return file ? (*file)->getBuffer().str() : std::string();
}

/// The widest vector instructions that kernels here are dispatched to.
llvm::StringRef vector_isa() {
  llvm::StringMap<bool> features;
  if (!llvm::sys::getHostCPUFeatures(features)) return "no vector extension known";
  if (features.lookup("avx512f") && features.lookup("avx512vl")) return "AVX-512";
  if (features.lookup("avx2") && features.lookup("fma")) return "AVX2";
  return "baseline";
}

#ifdef TG_HAVE_CUDA
llvm::StringRef label(cuda::Tried tried) {
  switch (tried) {
  case cuda::Tried::Not: return " (untested)";
  case cuda::Tried::Planned: return " (planned only)";
  case cuda::Tried::Compiled: return " (compiled only)";
  case cuda::Tried::OnGpu: return "";
  }
  return "";
}

void add_tried_versions(DeviceReport& report) {
  for (const cuda::TriedVersion& tried : cuda::tried_versions()) {
    std::string name = (cuda::library_name(tried.library) + " " + tried.version).str();
    if (tried.how == cuda::Tried::OnGpu) report.on_gpu.push_back(name);
    if (tried.how == cuda::Tried::Compiled) report.compiled_only.push_back(name);
    if (tried.how == cuda::Tried::Planned) report.planned_only.push_back(name);
  }
  report.untested = {"CUDA 11.8", "CUDA 12", "CUDA 13", "cuDNN 8.9", "cuDNN 9"};
}
#endif

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

int available_cores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return std::max(1, CPU_COUNT(&set));
}

int thread_count(int64_t asked) { return asked > 0 ? static_cast<int>(asked) : available_cores(); }

int64_t physical_memory_bytes() {
  int64_t pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGE_SIZE);
  int64_t bytes = pages > 0 && page > 0 ? pages * page : int64_t{1} << 32;
  int64_t group = 0;
  std::string limit = read_text("/sys/fs/cgroup/memory.max"); // "max" where there is none
  if (!llvm::StringRef(limit).trim().getAsInteger(10, group) && group > 0)
    bytes = std::min(bytes, group);
  return bytes;
}

std::vector<Device> devices() {
  std::string processor = llvm::formatv("{0}, {1}, {2} core{3}", processor_name(), vector_isa(),
                                        available_cores(), available_cores() == 1 ? "" : "s");
  std::vector<Device> found = {{"ref", processor, {}}};
#ifdef TG_HAVE_ONEDNN
  const dnnl_version_t* version = dnnl_version();
  found.push_back(
      {"cpu",
       processor,
       {{"oneDNN", llvm::formatv("{0}.{1}.{2}", version->major, version->minor, version->patch)}}});
#endif
  return found;
}

DeviceReport report_devices() {
  DeviceReport report{devices(), {}};
#ifdef TG_HAVE_CUDA
  add_tried_versions(report);
  cuda::Installation installation = cuda::find_installation();
  std::vector<std::pair<std::string, std::string>> versions, problems;
  for (const cuda::FoundLibrary& library : installation.libraries)
    if (library.problem.empty())
      versions.emplace_back(cuda::library_name(library.library),
                            library.version + label(library.tried).str());
    else
      problems.emplace_back(cuda::library_name(library.library), library.problem);
  for (const cuda::Gpu& gpu : installation.gpus) {
    if (!installation.problem.empty()) break;
    std::string name =
        llvm::formatv("{0}, {1}, {2} multiprocessors, {3} MiB", gpu.name, gpu.architecture(),
                      gpu.multiprocessors, gpu.memory_bytes >> 20);
    if (llvm::StringRef(gpu.target).startswith("compute_"))
      name += ", kernels by the driver from PTX for " + gpu.target + " (newer than NVRTC)";
    report.usable.push_back({"cuda", name, versions, problems});
  }
  if (!installation.problem.empty())
    report.missing.push_back({"cuda", installation.problem, versions, problems});
#else
  report.missing.push_back({"cuda", "this build has no cuda backend (TG_CUDA was off)", {}});
#endif
  return report;
}

} // namespace tg
