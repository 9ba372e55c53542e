// What can run here: the backends of this build, the processor, the libraries behind them.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tg {

struct Device {
  std::string backend; // "ref", "cpu"
  std::string name;    // "Intel(R) Xeon(R) ..., avx512, 2 cores"
  /// Library and version, in the order in which a person would name them.
  std::vector<std::pair<std::string, std::string>> library_versions;
  /// Library and why it cannot be used: "cuDNN", "cuDNN is not found (libcudnn.so.9)".
  std::vector<std::pair<std::string, std::string>> library_problems = {};
};

/// A backend that this build has and this machine cannot use.
struct MissingDevice {
  std::string backend; // "cuda"
  std::string reason;  // "NVIDIA driver is not found (libcuda.so.1)"
  std::vector<std::pair<std::string, std::string>> library_versions; // of what was found
  std::vector<std::pair<std::string, std::string>> library_problems = {};
};

/// What can run here, and what cannot and why. Loads NVIDIA's libraries to ask for their versions.
struct DeviceReport {
  std::vector<Device> usable;
  std::vector<MissingDevice> missing;
  /// Versions of NVIDIA's libraries: what was run on a GPU, and what no further than to compile
  /// kernels or to plan operations with, without one.
  std::vector<std::string> on_gpu = {}, compiled_only = {}, planned_only = {};
  /// Those that this build is written for and that were not run on a GPU.
  std::vector<std::string> untested = {};
};
DeviceReport report_devices(); // backends.cpp

/// The processor as its maker names it, or its architecture where that cannot be read.
std::string processor_name();
/// "Intel(R) Xeon(R) ..., AVX-512, 2 cores"
std::string processor_text();

/// As many threads as were asked for; one for each available core where that is none (0).
int thread_count(int64_t asked);

/// Physical memory of the machine in bytes, or the limit of the control group if that is lower.
int64_t physical_memory_bytes();

} // namespace tg
