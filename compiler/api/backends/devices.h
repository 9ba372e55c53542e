// The devices that can be used here: the backends of this build, the processor and their libraries.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tg {

struct Device {
  std::string backend; // "ref", "cpu"
  std::string name;    // "Intel(R) Xeon(R) ..., avx512, 2 cores"
  /// Library and version, in the order in which users would list them.
  std::vector<std::pair<std::string, std::string>> library_versions;
  /// Library and the reason why it cannot be used: "cuDNN", "cuDNN is not found (libcudnn.so.9)".
  std::vector<std::pair<std::string, std::string>> library_problems = {};
};

/// A backend of this build that this machine cannot use.
struct MissingDevice {
  std::string backend; // "cuda"
  std::string reason;  // "NVIDIA driver is not found (libcuda.so.1)"
  std::vector<std::pair<std::string, std::string>> library_versions; // of the libraries found
  std::vector<std::pair<std::string, std::string>> library_problems = {};
};

/// The usable devices, and the missing ones with reasons. Loads NVIDIA's libraries to query their
/// versions.
struct DeviceReport {
  std::vector<Device> usable;
  std::vector<MissingDevice> missing;
  /// Versions of NVIDIA's libraries: tested on a GPU; or only used, without a GPU, to compile
  /// kernels or to plan operations.
  std::vector<std::string> on_gpu = {}, compiled_only = {}, planned_only = {};
  /// Versions that this build supports but that were not tested on a GPU.
  std::vector<std::string> untested = {};
};
DeviceReport report_devices(); // backends.cpp

/// Returns the processor's model name, or its architecture if the name cannot be read.
std::string processor_name();
/// "Intel(R) Xeon(R) ..., AVX-512, 2 cores"
std::string processor_text();

/// Returns the requested number of threads; for 0, one for each available core.
int thread_count(int64_t asked);

/// Physical memory of the machine in bytes, or the limit of the control group if that is lower.
int64_t physical_memory_bytes();

} // namespace tg
