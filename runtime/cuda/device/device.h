// What the executable asks of a GPU: memory, kernels, streams, events, capture. Behind it is the
// driver API (open_gpu) or, in tests, a device that records. Everything that it hands out belongs
// to it and is given back when it goes, so that a failure on the way leaves nothing behind.
//
// Errors: `device` with the driver's words; `memory_limit` where memory is refused. After a lost
// GPU every call fails in the same way.
#pragma once

#include "runtime/cuda/device/compile.h"
#include "runtime/tensor.h"

#include <llvm/ADT/ArrayRef.h>

#include <cstdint>
#include <functional>

namespace tg::cuda {

using Address = uint64_t; // of device memory; 0 is none
using Stream = uint32_t;
using Event = uint32_t;
using Function = uint32_t;
using Graph = uint32_t;

/// Addresses keep vector accesses and sectors aligned.
inline constexpr int64_t kDeviceAlignment = 256;
/// What so many bytes, or a value, take on the device, so that what comes next is aligned.
int64_t device_bytes(int64_t bytes);
inline int64_t device_bytes(const TensorType& type) { return device_bytes(type.bytes()); }

class GpuDevice {
public:
  virtual ~GpuDevice() = default;

  /// "NVIDIA H200, driver 13.0": part of cost keys.
  virtual std::string description() const = 0;
  virtual std::string architecture() const = 0; // "sm_90"
  virtual int multiprocessors() const = 0;
  virtual int64_t l2_bytes() const = 0;
  virtual int64_t memory_bytes() const = 0; // all that it has

  /// Aligned to 256 bytes.
  virtual Result<Address> allocate(int64_t bytes) = 0;
  /// Gives back early what allocate() gave; nothing may be using it.
  virtual Result<void> release(Address memory) = 0;
  /// Host memory that copies need not stage; not zeroed.
  virtual Result<std::byte*> allocate_pinned(int64_t bytes) = 0;
  virtual Result<Stream> make_stream() = 0;
  virtual Result<Event> make_event() = 0;
  /// Kernels of one name are one, and are loaded once (generate.h).
  virtual Result<Function> load(const Cubin& cubin, const std::string& kernel) = 0;
  /// As the driver says: of PTX nothing else can.
  virtual Result<KernelUse> use(Function function) = 0;

  // In order on a stream; while a stream is captured they are recorded, not run.
  virtual Result<void> copy_in(Address to, const std::byte* from, int64_t bytes, Stream) = 0;
  virtual Result<void> copy_out(std::byte* to, Address from, int64_t bytes, Stream) = 0;
  virtual Result<void> copy(Address to, Address from, int64_t bytes, Stream) = 0;
  virtual Result<void> fill(Address at, uint8_t byte, int64_t bytes, Stream) = 0;
  virtual Result<void> launch(Function function, int64_t blocks, int threads,
                              llvm::ArrayRef<Address> parameters, Stream) = 0;
  /// Calls a library, which puts its work on the stream that it is given (a CUstream).
  virtual Result<void> run_library(std::function<Result<void>(void* stream)> call, Stream) = 0;
  /// Captured, it is part of the graph: every replay records it anew.
  virtual Result<void> record(Event event, Stream) = 0;

  virtual Result<void> begin_capture(Stream) = 0;
  virtual Result<Graph> end_capture(Stream) = 0;
  virtual Result<void> replay(Graph graph, Stream) = 0;
  /// Gives back early what end_capture() gave; it is not replayed any more.
  virtual Result<void> release_graph(Graph graph) = 0;

  virtual Result<void> synchronise(Stream) = 0;
  /// Between two events that have passed.
  virtual Result<double> microseconds(Event from, Event to) = 0;
};

/// Copies what the tensor holds over the memory, over and over. The tensor must live until the
/// stream has been waited for.
Result<void> fill_with(GpuDevice& device, Address at, int64_t bytes, const Tensor& pattern,
                       Stream stream);

/// The first GPU. Errors: `no_backend`.
Result<std::unique_ptr<GpuDevice>> open_gpu();

} // namespace tg::cuda
