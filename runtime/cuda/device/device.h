// The interface of a GPU for the executable: memory, kernels, streams, events, capture.
// It is implemented by the driver API (open_gpu) or, in tests, by a device that records.
// The device owns all objects that it returns and releases them when it is destroyed,
// so an early failure leaks nothing.
//
// Errors: `device` with the driver's message; `memory_limit` if memory is refused.
// After the GPU is lost, every call fails in the same way.
#pragma once

#include "runtime/cuda/device/compile.h"
#include "runtime/tensor.h"

#include <llvm/ADT/ArrayRef.h>

#include <cstdint>
#include <functional>

namespace tg::cuda {

using Address = uint64_t; // of device memory; 0 is null
using Stream = uint32_t;
using Event = uint32_t;
using Function = uint32_t;
using Graph = uint32_t;

/// The alignment of addresses, sufficient for vector accesses and sectors.
inline constexpr int64_t kDeviceAlignment = 256;
/// Returns the aligned size of a number of bytes, or of a value, on the device.
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
  virtual int64_t memory_bytes() const = 0; // total memory

  /// Aligned to 256 bytes.
  virtual Result<Address> allocate(int64_t bytes) = 0;
  /// Releases memory of allocate() early; it must not be in use.
  virtual Result<void> release(Address memory) = 0;
  /// Allocates host memory that copies need not stage; not zeroed.
  virtual Result<std::byte*> allocate_pinned(int64_t bytes) = 0;
  virtual Result<Stream> make_stream() = 0;
  virtual Result<Event> make_event() = 0;
  /// Kernels with the same name are equal and are loaded once (generate.h).
  virtual Result<Function> load(const Cubin& cubin, const std::string& kernel) = 0;
  /// Returns the driver's report, the only source for PTX.
  virtual Result<KernelUse> use(Function function) = 0;

  // The following calls run in order on a stream. While a stream is captured, they are recorded,
  // not run.
  virtual Result<void> copy_in(Address to, const std::byte* from, int64_t bytes, Stream) = 0;
  virtual Result<void> copy_out(std::byte* to, Address from, int64_t bytes, Stream) = 0;
  virtual Result<void> copy(Address to, Address from, int64_t bytes, Stream) = 0;
  virtual Result<void> fill(Address at, uint8_t byte, int64_t bytes, Stream) = 0;
  virtual Result<void> launch(Function function, int64_t blocks, int threads,
                              llvm::ArrayRef<Address> parameters, Stream) = 0;
  /// Calls a library, which enqueues its work on the given stream (a CUstream).
  virtual Result<void> run_library(std::function<Result<void>(void* stream)> call, Stream) = 0;
  /// During capture, the event becomes part of the graph: every replay records it again.
  virtual Result<void> record(Event event, Stream) = 0;

  virtual Result<void> begin_capture(Stream) = 0;
  virtual Result<Graph> end_capture(Stream) = 0;
  virtual Result<void> replay(Graph graph, Stream) = 0;
  /// Releases a graph of end_capture() early; it is not replayed again.
  virtual Result<void> release_graph(Graph graph) = 0;

  virtual Result<void> synchronise(Stream) = 0;
  /// Returns the time between two events that have passed.
  virtual Result<double> microseconds(Event from, Event to) = 0;
};

/// Fills the memory with repetitions of the tensor's elements.
/// The tensor must live until the stream has been synchronized.
Result<void> fill_with(GpuDevice& device, Address at, int64_t bytes, const Tensor& pattern,
                       Stream stream);

/// Opens the first GPU. Errors: `no_backend`.
Result<std::unique_ptr<GpuDevice>> open_gpu();

} // namespace tg::cuda
