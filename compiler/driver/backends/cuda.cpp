#include "compiler/driver/backends.h"
#include "compiler/driver/backends/cuda_groups.h"
#include "runtime/cuda/backend.h"
#include "runtime/cuda/device/libraries.h"

#include <llvm/Support/FormatVariadic.h>

namespace tg {

namespace {

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
void report_cuda(DeviceReport& report) {
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
}

} // namespace

const BackendRow& cuda_backend_row() {
  static const BackendRow row = {
      .name = "cuda",
      .make = make_cuda_backend,
      .report = report_cuda,
      .tf32 = true,
      .streams = true,
      .profile = "h200",
      .patterns = cuda_patterns,
      .groups = make_cuda_groups,
  };
  return row;
}

} // namespace tg
