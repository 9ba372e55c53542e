// Implements the device by the driver API.
#include "runtime/cuda/device/device.h"

#include "runtime/cuda/device/driver_api.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallVector.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <optional>
#include <utility>

namespace tg::cuda {

namespace {

constexpr CUresult kOutOfMemory = 2;
/// Errors for machine code that this driver or GPU cannot run:
/// invalid image, no image for the GPU, invalid or unsupported intermediate code.
constexpr CUresult kForeignCode[] = {200, 209, 218, 222};
/// Errors for PTX that the driver does not compile: it has no compiler, or may not use it.
constexpr CUresult kNoPtxCompiler[] = {221, 223};

/// Returns true for errors after which every call fails in the same way until the process ends:
/// kernel faults (700, 714 to 719) and a kernel timeout.
bool invalidates_context(CUresult result) {
  constexpr CUresult kIllegalAddress = 700, kTimeout = 702, kStackError = 714, kLaunchFailed = 719;
  return result == kIllegalAddress || result == kTimeout ||
         (result >= kStackError && result <= kLaunchFailed);
}

/// Returns advice to append to a message; empty if there is none.
const char* advice(CUresult result) {
  constexpr CUresult kUnavailable = 46, kUnknown = 999;
  if (invalidates_context(result)) return "; the GPU's context is lost: restart the program";
  if (result == kUnavailable) return "; another program may use the GPU exclusively";
  if (result == kUnknown)
    return "; the driver may have lost the GPU: restart the program, then the machine";
  return "";
}

/// Retains the primary context until the process ends. Between a search and a run no device may be
/// open, and the state of cuDNN and cuBLASLt, which stay loaded, would be lost with the context.
class RetainedContext {
public:
  RetainedContext(const DriverApi& api, CUdevice device)
      : release_(api.DevicePrimaryCtxRelease), device_(device) {
    CUcontext context = nullptr;
    held_ = api.DevicePrimaryCtxRetain(&context, device) == 0;
  }
  ~RetainedContext() {
    if (held_) release_(device_); // of a driver that is never unloaded (libraries.h)
  }
  RetainedContext(const RetainedContext&) = delete;
  RetainedContext& operator=(const RetainedContext&) = delete;

private:
  int (*release_)(CUdevice);
  CUdevice device_;
  bool held_ = false;
};

/// The error that lost the context, which all devices of the process share; 0 if it is not lost.
/// A device opened after that fails at once rather than at each call.
std::atomic<CUresult> context_lost_by = 0;

class DriverDevice final : public GpuDevice {
public:
  explicit DriverDevice(std::unique_ptr<DriverApi> api) : api_(std::move(api)) {}

  Result<void> open() {
    TG_CHECK(check(context_lost_by, "earlier work"));
    char name[256] = {};
    int driver = 0, major = 0, minor = 0;
    TG_CHECK(check(api_->DeviceGet(&device_, 0), "opening the device"));
    TG_CHECK(
        check(api_->DeviceGetName(name, sizeof name - 1, device_), "reading the device's name"));
    TG_CHECK(check(api_->DriverGetVersion(&driver), "reading the driver's version"));
    TG_CHECK(attribute(major, kAttributeMajor));
    TG_CHECK(attribute(minor, kAttributeMinor));
    TG_CHECK(attribute(multiprocessors_, kAttributeMultiprocessors));
    TG_CHECK(attribute(l2_bytes_, kAttributeL2Bytes));
    TG_CHECK(
        check(api_->DeviceTotalMem(&memory_bytes_, device_), "reading the size of its memory"));
    TG_CHECK(check(api_->DevicePrimaryCtxRetain(&context_, device_), "creating a context"));
    static const RetainedContext lasting(*api_, device_);
    TG_CHECK(enter());
    architecture_ = "sm_" + std::to_string(major) + std::to_string(minor);
    description_ = std::string(name) + ", driver " + version_text(Library::Driver, driver);
    return {};
  }

  ~DriverDevice() override {
    if (!context_) return;
    api_->CtxSetCurrent(context_);
    for (CUstream stream : streams_) api_->StreamSynchronize(stream);
    for (CUgraphExec graph : graphs_)
      if (graph) api_->GraphExecDestroy(graph);
    for (CUmodule module : modules_) api_->ModuleUnload(module);
    for (CUevent event : events_) api_->EventDestroy(event);
    for (CUstream stream : streams_) api_->StreamDestroy(stream);
    for (void* memory : pinned_) api_->MemFreeHost(memory);
    for (CUdeviceptr memory : memory_) api_->MemFree(memory);
    api_->DevicePrimaryCtxRelease(device_);
  }

  std::string description() const override { return description_; }
  std::string architecture() const override { return architecture_; }
  int multiprocessors() const override { return multiprocessors_; }
  int64_t l2_bytes() const override { return l2_bytes_; }
  int64_t memory_bytes() const override { return static_cast<int64_t>(memory_bytes_); }

  Result<Address> allocate(int64_t bytes) override {
    CUdeviceptr memory = 0;
    TG_CHECK(enter());
    TG_CHECK(check(api_->MemAlloc(&memory, static_cast<size_t>(std::max<int64_t>(bytes, 1))),
                   "allocating device memory"));
    memory_.push_back(memory);
    return Address(memory);
  }

  Result<void> release(Address memory) override {
    std::erase(memory_, memory);
    return check(api_->MemFree(memory), "freeing memory");
  }

  Result<std::byte*> allocate_pinned(int64_t bytes) override {
    void* memory = nullptr;
    TG_CHECK(check(api_->MemHostAlloc(&memory, static_cast<size_t>(std::max<int64_t>(bytes, 1)), 0),
                   "allocating pinned memory"));
    pinned_.push_back(memory);
    return static_cast<std::byte*>(memory);
  }

  Result<Stream> make_stream() override {
    CUstream stream = nullptr;
    TG_CHECK(check(api_->StreamCreate(&stream, kStreamNonBlocking), "creating a stream"));
    streams_.push_back(stream);
    return static_cast<Stream>(streams_.size() - 1);
  }

  Result<Event> make_event() override {
    CUevent event = nullptr;
    TG_CHECK(enter());
    TG_CHECK(check(api_->EventCreate(&event, 0), "creating an event"));
    events_.push_back(event);
    return static_cast<Event>(events_.size() - 1);
  }

  Result<Function> load(const Cubin& cubin, const std::string& kernel) override {
    if (auto it = loaded_.find(kernel); it != loaded_.end()) return it->second;
    CUmodule module = nullptr;
    CUfunction function = nullptr;
    if (CUresult result = api_->ModuleLoadData(&module, cubin.data())) {
      Diagnostic refused = std::move(check(result, "loading a compiled kernel").error());
      if (llvm::is_contained(kNoPtxCompiler, result))
        return std::move(refused).suggest(
            "NVRTC does not support this GPU, and the driver's own compiler "
            "(libnvidia-ptxjitcompiler) is missing or switched off (CUDA_DISABLE_PTX_JIT): install "
            "a newer NVRTC");
      if (!llvm::is_contained(kForeignCode, result)) return refused;
      return std::move(refused).suggest("the driver may be older than NVRTC, which compiled it: "
                                        "`tg devices` shows both versions; use LD_LIBRARY_PATH or "
                                        "CUDA_HOME to select another");
    }
    modules_.push_back(module);
    TG_CHECK(check(api_->ModuleGetFunction(&function, module, kernel.c_str()),
                   "finding a kernel in its module"));
    functions_.push_back(function);
    return loaded_[kernel] = static_cast<Function>(functions_.size() - 1);
  }

  Result<KernelUse> use(Function function) override {
    KernelUse use;
    std::pair<int, int*> wanted[] = {{kFunctionRegisters, &use.registers},
                                     {kFunctionSharedBytes, &use.shared_bytes},
                                     {kFunctionLocalBytes, &use.stack_bytes}};
    for (auto [which, value] : wanted)
      TG_CHECK(check(api_->FuncGetAttribute(value, which, functions_[function]),
                     "reading the resources of a kernel"));
    return use;
  }

  Result<void> copy_in(Address to, const std::byte* from, int64_t bytes, Stream stream) override {
    return check(api_->MemcpyHtoDAsync(to, from, static_cast<size_t>(bytes), streams_[stream]),
                 "a copy to the device");
  }
  Result<void> copy_out(std::byte* to, Address from, int64_t bytes, Stream stream) override {
    return check(api_->MemcpyDtoHAsync(to, from, static_cast<size_t>(bytes), streams_[stream]),
                 "a copy from the device");
  }

  Result<void> copy(Address to, Address from, int64_t bytes, Stream stream) override {
    return check(api_->MemcpyDtoDAsync(to, from, static_cast<size_t>(bytes), streams_[stream]),
                 "a copy on the device");
  }

  Result<void> fill(Address at, uint8_t byte, int64_t bytes, Stream stream) override {
    return check(api_->MemsetD8Async(at, byte, static_cast<size_t>(bytes), streams_[stream]),
                 "filling memory");
  }

  Result<void> launch(Function function, int64_t blocks, int threads,
                      llvm::ArrayRef<Address> parameters, Stream stream) override {
    llvm::SmallVector<void*, 16> pointers;
    for (const Address& parameter : parameters)
      pointers.push_back(const_cast<Address*>(&parameter));
    return check(api_->LaunchKernel(functions_[function], static_cast<unsigned>(blocks), 1, 1,
                                    static_cast<unsigned>(threads), 1, 1, 0, streams_[stream],
                                    pointers.data(), nullptr),
                 "launching a kernel");
  }

  Result<void> run_library(std::function<Result<void>(void*)> call, Stream stream) override {
    return call(streams_[stream]);
  }

  Result<void> record(Event event, Stream stream) override {
    if (captured_ == stream)
      return check(api_->EventRecordWithFlags(events_[event], streams_[stream], kRecordExternal),
                   "recording an event");
    return check(api_->EventRecord(events_[event], streams_[stream]), "recording an event");
  }

  Result<void> begin_capture(Stream stream) override {
    TG_CHECK(check(api_->StreamBeginCapture(streams_[stream], kCaptureThreadLocal),
                   "beginning a capture"));
    captured_ = stream;
    return {};
  }
  Result<Graph> end_capture(Stream stream) override {
    CUgraph graph = nullptr;
    CUgraphExec executable = nullptr;
    captured_.reset();
    TG_CHECK(check(api_->StreamEndCapture(streams_[stream], &graph), "ending a capture"));
    Result<void> made = check(api_->GraphInstantiate(&executable, graph, 0), "creating a graph");
    api_->GraphDestroy(graph);
    if (!made) return std::move(made.error());
    graphs_.push_back(executable);
    return static_cast<Graph>(graphs_.size() - 1);
  }
  Result<void> replay(Graph graph, Stream stream) override {
    TG_CHECK(enter());
    return check(api_->GraphLaunch(graphs_[graph], streams_[stream]), "starting a run");
  }
  Result<void> release_graph(Graph graph) override {
    return check(api_->GraphExecDestroy(std::exchange(graphs_[graph], nullptr)), "freeing a graph");
  }

  Result<void> synchronise(Stream stream) override {
    TG_CHECK(enter());
    return check(api_->StreamSynchronize(streams_[stream]), "a run");
  }
  Result<double> microseconds(Event from, Event to) override {
    float milliseconds = 0;
    TG_CHECK(check(api_->EventElapsedTime(&milliseconds, events_[from], events_[to]),
                   "reading the time between events"));
    return static_cast<double>(milliseconds) * 1e3;
  }

private:
  /// Makes the context current on the calling thread: runs may come from another thread than loads.
  Result<void> enter() { return check(api_->CtxSetCurrent(context_), "entering the context"); }
  Result<void> check(CUresult result, const char* what) const {
    if (result == 0) return {};
    if (invalidates_context(result)) context_lost_by = result;
    Code code = result == kOutOfMemory ? Code::memory_limit : Code::device;
    return error(code, "{0} failed on the GPU: {1}{2}", what, api_->message(result),
                 advice(result));
  }
  Result<void> attribute(int& value, int which) {
    return check(api_->DeviceGetAttribute(&value, which, device_),
                 "reading an attribute of the device");
  }

  std::unique_ptr<DriverApi> api_;
  CUdevice device_ = 0;
  CUcontext context_ = nullptr;
  std::string description_, architecture_;
  int multiprocessors_ = 1, l2_bytes_ = 0;
  size_t memory_bytes_ = 0;
  std::vector<CUdeviceptr> memory_;
  std::vector<void*> pinned_;
  std::vector<CUstream> streams_;
  std::vector<CUevent> events_;
  std::vector<CUmodule> modules_;
  std::vector<CUfunction> functions_;
  std::map<std::string, Function> loaded_;
  std::vector<CUgraphExec> graphs_; // null: released
  std::optional<Stream> captured_;
};

} // namespace

int64_t device_bytes(int64_t bytes) {
  return (std::max<int64_t>(bytes, 1) + kDeviceAlignment - 1) & ~(kDeviceAlignment - 1);
}

Result<void> fill_with(GpuDevice& device, Address at, int64_t bytes, const Tensor& pattern,
                       Stream stream) {
  int64_t done = std::min(pattern.bytes(), bytes);
  TG_CHECK(device.copy_in(at, pattern.data(), done, stream));
  for (; done < bytes; done *= 2) // existing bytes are whole patterns
    TG_CHECK(
        device.copy(at + static_cast<Address>(done), at, std::min(done, bytes - done), stream));
  return {};
}

Result<std::unique_ptr<GpuDevice>> open_gpu() {
  TG_TRY(std::unique_ptr<DriverApi> api, DriverApi::open());
  auto device = std::make_unique<DriverDevice>(std::move(api));
  TG_CHECK(device->open());
  return std::unique_ptr<GpuDevice>(std::move(device));
}

} // namespace tg::cuda
