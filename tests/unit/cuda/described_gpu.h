// A description of a GPU, from which cuDNN plans without a GPU. It does so since version 9.8.
#pragma once

#include "runtime/cuda/cudnn/plan.h"

#include <memory>
#include <string>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
#endif

namespace tg::test {

/// The properties of an H200 that cuDNN reads, as the CUDA runtime reports them.
inline constexpr const char* kH200 = R"({
  "deviceName": "NVIDIA H200", "deviceVer": 900, "driverVer": 13000, "cudaDeviceId": 0,
  "pciDeviceId": 0, "isTccDriver": 0, "supportCoopLaunch": 1, "warpSize": 32,
  "multiProcessorCount": 132, "maxGridSize": [2147483647, 65535, 65535],
  "maxBlockSize": [1024, 1024, 64], "maxThreadsPerBlock": 1024, "maxThreadsPerSM": 2048,
  "maxCtasPerSM": 32, "regsPerBlock": 65536, "maxRegistersPerSM": 65536,
  "maxSharedMemoryPerBlock": 49152, "maxSharedMemoryPerBlockOptin": 232448,
  "reservedSharedMemoryPerBlock": 1024, "smClockRateKHz": 1980000, "memClockRateKHz": 3201000,
  "l2CacheSize": 62914560, "totalGlobalMem": 150000000000})";

/// The functions of cuDNN, which plan for a described device: where Tangram sets a handle, they set
/// the device.
class DescribedDevice {
public:
  /// cuDNN's numbers of descriptors and attributes.
  static constexpr int kProperties = 38, kHeuristicsDevice = 204, kPlanDevice = 407, kText = 2702;

  /// Errors: `no_backend` if cuDNN is not installed, or too old.
  static Result<std::unique_ptr<cuda::Cudnn>> open(const std::string& description) {
    TG_TRY(file_, cuda::SharedLibrary::open(cuda::Library::Cudnn));
    TG_TRY(real_, cuda::dnn_api(*file_));
    if (real_.descriptor_create(kProperties, &device_) != 0 ||
        real_.set(device_, kText, static_cast<int>(cuda::DnnType::Char),
                  static_cast<int64_t>(description.size() + 1), description.c_str()) != 0 ||
        real_.finalize(device_) != 0)
      return error(Code::no_backend, "cuDNN cannot plan for a described device");
    cuda::DnnApi api = real_;
    api.create = [](void** handle) { return *handle = device_, 0; };
    api.destroy = [](void*) { return 0; };
    api.set = set;
    return cuda::Cudnn::over(api);
  }

private:
  static int set_device(void* descriptor, int attribute) {
    return real_.set(descriptor, attribute, static_cast<int>(cuda::DnnType::Descriptor), 1,
                     &device_);
  }
  static int set(void* descriptor, int attribute, int type, int64_t count, const void* values) {
    auto attr = static_cast<cuda::DnnAttr>(attribute);
    if (attr == cuda::DnnAttr::PlanHandle) return set_device(descriptor, kPlanDevice);
    if (attr == cuda::DnnAttr::GraphHandle) return 0;
    int status = real_.set(descriptor, attribute, type, count, values);
    bool heuristics = status == 0 && attr == cuda::DnnAttr::HeuristicsGraph;
    return heuristics ? set_device(descriptor, kHeuristicsDevice) : status;
  }

  static inline std::unique_ptr<cuda::SharedLibrary> file_;
  static inline cuda::DnnApi real_;
  static inline void* device_ = nullptr; // never destroyed, as the library remains loaded
};

/// Disables the leak checker during its lifetime. For each engine that it tries,
/// cuDNN keeps a handle of cuBLASLt, and it loads and unloads engines. The fake counts Tangram's
/// own objects.
class LeaksOfOthers {
public:
#if defined(__SANITIZE_ADDRESS__)
  LeaksOfOthers() { __lsan_disable(); }
  ~LeaksOfOthers() { __lsan_enable(); }
#else
  LeaksOfOthers() = default;
#endif
  LeaksOfOthers(const LeaksOfOthers&) = delete;
  LeaksOfOthers& operator=(const LeaksOfOthers&) = delete;
};

} // namespace tg::test
