// The part of the CUDA driver API that is used, declared here:
// NVIDIA keeps its binary interface stable, so building needs no toolkit.
// Names and values are those of cuda.h. Functions with several versions are named
// by the version that is loaded (_v2).
#pragma once

#include "runtime/cuda/device/libraries.h"

#include <cstddef>
#include <cstdint>

namespace tg::cuda {

using CUresult = int; // 0 is success
using CUdevice = int;
using CUdeviceptr = unsigned long long;
struct CUctx_st;
struct CUmod_st;
struct CUfunc_st;
struct CUstream_st;
struct CUevent_st;
struct CUgraph_st;
struct CUgraphExec_st;
using CUcontext = CUctx_st*;
using CUmodule = CUmod_st*;
using CUfunction = CUfunc_st*;
using CUstream = CUstream_st*;
using CUevent = CUevent_st*;
using CUgraph = CUgraph_st*;
using CUgraphExec = CUgraphExec_st*;

inline constexpr int kAttributeMultiprocessors = 16;
inline constexpr int kAttributeL2Bytes = 38;
inline constexpr int kAttributeMajor = 75, kAttributeMinor = 76;
inline constexpr int kFunctionSharedBytes = 1, kFunctionLocalBytes = 3, kFunctionRegisters = 4;
inline constexpr unsigned kStreamNonBlocking = 1;
inline constexpr int kCaptureThreadLocal = 1;
inline constexpr unsigned kRecordExternal = 1; // a node of the captured graph

// return type, name without cu, symbol, parameters
#define TG_CUDA_DRIVER(F)                                                                          \
  F(Init, "cuInit", (unsigned))                                                                    \
  F(DriverGetVersion, "cuDriverGetVersion", (int*))                                                \
  F(GetErrorName, "cuGetErrorName", (CUresult, const char**))                                      \
  F(GetErrorString, "cuGetErrorString", (CUresult, const char**))                                  \
  F(DeviceGetCount, "cuDeviceGetCount", (int*))                                                    \
  F(DeviceGet, "cuDeviceGet", (CUdevice*, int))                                                    \
  F(DeviceGetName, "cuDeviceGetName", (char*, int, CUdevice))                                      \
  F(DeviceGetAttribute, "cuDeviceGetAttribute", (int*, int, CUdevice))                             \
  F(DeviceTotalMem, "cuDeviceTotalMem_v2", (size_t*, CUdevice))                                    \
  F(DevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", (CUcontext*, CUdevice))                    \
  F(DevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2", (CUdevice))                           \
  F(CtxSetCurrent, "cuCtxSetCurrent", (CUcontext))                                                 \
  F(MemAlloc, "cuMemAlloc_v2", (CUdeviceptr*, size_t))                                             \
  F(MemFree, "cuMemFree_v2", (CUdeviceptr))                                                        \
  F(MemHostAlloc, "cuMemHostAlloc", (void**, size_t, unsigned))                                    \
  F(MemFreeHost, "cuMemFreeHost", (void*))                                                         \
  F(MemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2", (CUdeviceptr, const void*, size_t, CUstream))         \
  F(MemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2", (void*, CUdeviceptr, size_t, CUstream))               \
  F(MemcpyDtoDAsync, "cuMemcpyDtoDAsync_v2", (CUdeviceptr, CUdeviceptr, size_t, CUstream))         \
  F(MemsetD8Async, "cuMemsetD8Async", (CUdeviceptr, unsigned char, size_t, CUstream))              \
  F(StreamCreate, "cuStreamCreate", (CUstream*, unsigned))                                         \
  F(StreamDestroy, "cuStreamDestroy_v2", (CUstream))                                               \
  F(StreamSynchronize, "cuStreamSynchronize", (CUstream))                                          \
  F(StreamWaitEvent, "cuStreamWaitEvent", (CUstream, CUevent, unsigned))                           \
  F(StreamBeginCapture, "cuStreamBeginCapture_v2", (CUstream, int))                                \
  F(StreamEndCapture, "cuStreamEndCapture", (CUstream, CUgraph*))                                  \
  F(GraphInstantiate, "cuGraphInstantiateWithFlags", (CUgraphExec*, CUgraph, unsigned long long))  \
  F(GraphLaunch, "cuGraphLaunch", (CUgraphExec, CUstream))                                         \
  F(GraphDestroy, "cuGraphDestroy", (CUgraph))                                                     \
  F(GraphExecDestroy, "cuGraphExecDestroy", (CUgraphExec))                                         \
  F(EventCreate, "cuEventCreate", (CUevent*, unsigned))                                            \
  F(EventDestroy, "cuEventDestroy_v2", (CUevent))                                                  \
  F(EventRecord, "cuEventRecord", (CUevent, CUstream))                                             \
  F(EventRecordWithFlags, "cuEventRecordWithFlags", (CUevent, CUstream, unsigned))                 \
  F(EventElapsedTime, "cuEventElapsedTime", (float*, CUevent, CUevent))                            \
  F(ModuleLoadData, "cuModuleLoadData", (CUmodule*, const void*))                                  \
  F(ModuleUnload, "cuModuleUnload", (CUmodule))                                                    \
  F(ModuleGetFunction, "cuModuleGetFunction", (CUfunction*, CUmodule, const char*))                \
  F(FuncGetAttribute, "cuFuncGetAttribute", (int*, int, CUfunction))                               \
  F(LaunchKernel, "cuLaunchKernel",                                                                \
    (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream,   \
     void**, void**))

/// The functions of the driver; all are present.
struct DriverApi {
  std::unique_ptr<SharedLibrary> file;
  TG_CUDA_DRIVER(TG_LIBRARY_MEMBER)

  /// Loads the driver and initializes it. Errors: `no_backend` with the missing part,
  /// and advice if there is any.
  static Result<std::unique_ptr<DriverApi>> open();
  /// "out of memory (CUDA_ERROR_OUT_OF_MEMORY)".
  std::string message(CUresult result) const;
};

/// Errors: `no_backend`: no driver, no GPU.
Result<std::vector<Gpu>> list_gpus();

} // namespace tg::cuda
