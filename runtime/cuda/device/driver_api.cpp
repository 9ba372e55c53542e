#include "runtime/cuda/device/driver_api.h"

namespace tg::cuda {

namespace {

constexpr CUresult kErrorStub = 34, kErrorNoDevice = 100, kErrorInvalidDevice = 101,
                   kErrorOperatingSystem = 304, kErrorNotPermitted = 800, kErrorNotReady = 802,
                   kErrorMismatch = 803;

/// Returns advice for the user about a driver that does not start.
std::string start_advice(CUresult result) {
  switch (result) {
  case kErrorStub:
    return "the CUDA toolkit's stub of the driver is loaded, which is only for linking: remove its "
           "folder from LD_LIBRARY_PATH, and install the driver if it is missing";
  case kErrorNoDevice:
  case kErrorInvalidDevice:
    return "the driver finds no GPU; check that one is assigned to this machine";
  case kErrorMismatch:
    return "the driver's library and its kernel module have different versions: restart the "
           "machine";
  case kErrorNotReady: return "on machines with NVSwitch, the fabric manager must be running";
  case kErrorNotPermitted:
  case kErrorOperatingSystem: return "this user may lack permission for /dev/nvidia*";
  default: return "";
  }
}

} // namespace

Result<std::unique_ptr<DriverApi>> DriverApi::open() {
  auto driver = std::make_unique<DriverApi>();
  TG_TRY(driver->file, SharedLibrary::open(Library::Driver));
  const SharedLibrary& file = *driver->file;
  DriverApi& api = *driver;
  const char* missing = nullptr;
  TG_CUDA_DRIVER(TG_LIBRARY_LOAD)
  if (missing)
    return error(Code::no_backend, "the NVIDIA driver is too old: it lacks the function {0}",
                 missing);
  if (CUresult result = api.Init(0))
    return error(Code::no_backend, "the NVIDIA driver does not start: {0}", api.message(result))
        .suggest(start_advice(result));
  return driver;
}

std::string DriverApi::message(CUresult result) const {
  const char *name = nullptr, *text = nullptr;
  if (GetErrorName(result, &name) != 0 || GetErrorString(result, &text) != 0 || !name || !text)
    return "error " + std::to_string(result);
  return std::string(text) + " (" + name + ")";
}

Result<std::vector<Gpu>> list_gpus() {
  TG_TRY(std::unique_ptr<DriverApi> api, DriverApi::open());
  int count = 0;
  if (CUresult result = api->DeviceGetCount(&count))
    return error(Code::no_backend, "the NVIDIA driver cannot list GPUs: {0}", api->message(result));
  if (count == 0) return error(Code::no_backend, "the NVIDIA driver finds no GPU");
  std::vector<Gpu> gpus;
  for (int i = 0; i < count; ++i) {
    CUdevice device = 0;
    char name[256] = {};
    size_t bytes = 0;
    Gpu gpu;
    bool known =
        api->DeviceGet(&device, i) == 0 && api->DeviceGetName(name, sizeof name - 1, device) == 0 &&
        api->DeviceGetAttribute(&gpu.major, kAttributeMajor, device) == 0 &&
        api->DeviceGetAttribute(&gpu.minor, kAttributeMinor, device) == 0 &&
        api->DeviceGetAttribute(&gpu.multiprocessors, kAttributeMultiprocessors, device) == 0 &&
        api->DeviceTotalMem(&bytes, device) == 0;
    if (!known) continue;
    gpu.name = name;
    gpu.memory_bytes = static_cast<int64_t>(bytes);
    gpus.push_back(std::move(gpu));
  }
  if (gpus.empty())
    return error(Code::no_backend, "the NVIDIA driver does not describe any of its GPUs");
  return gpus;
}

} // namespace tg::cuda
