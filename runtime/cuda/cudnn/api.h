// cuDNN's backend interface: descriptors that are created, filled attribute by attribute
// and finalized. It is declared here, so that building needs nothing of CUDA;
// the numbers are in names.def. All other code calls the library through DnnApi,
// so tests can provide their own.
#pragma once

#include "runtime/cuda/device/libraries.h"

#include <llvm/ADT/ArrayRef.h>

#include <functional>
#include <memory>
#include <string>

namespace tg::cuda {

enum class DnnKind : int {
#define TG_DNN_KIND(name, number) name = number,
#include "runtime/cuda/cudnn/names.def"
};
enum class DnnAttr : int {
#define TG_DNN_ATTR(name, number, type) name = number,
#include "runtime/cuda/cudnn/names.def"
};
/// Types of an attribute's elements.
enum class DnnType : int {
  Handle = 0,
  DataType = 1,
  Boolean = 2,
  Int64 = 3,
  Float = 4,
  Double = 5,
  Pointer = 6,
  ConvolutionMode = 7,
  HeuristicsMode = 8,
  NanPropagation = 10,
  NumericalNote = 11,
  PointwiseMode = 14,
  Descriptor = 15,
  BehaviourNote = 19,
  Char = 24,
};
DnnType dnn_type(DnnAttr attr);
llvm::StringRef dnn_name(DnnKind kind);
llvm::StringRef dnn_name(DnnAttr attr);

inline constexpr int kDnnFloat = 0, kDnnHalf = 2,
                     kDnnBFloat16 = 9; // data types
inline constexpr int kDnnCrossCorrelation = 1;
inline constexpr int kDnnHeuristicsB = 1, kDnnHeuristicsFallback = 2, kDnnHeuristicsA = 3;
/// The numerical properties of an engine.
enum class DnnNote : int {
  TensorCore = 0,
  DownConvertInputs = 1,
  ReducedPrecisionReduction = 2,
  Fft = 3,
  Nondeterministic = 4,
  Winograd = 5,
  WinogradTile4 = 6,
  WinogradTile6 = 7,
  WinogradTile13 = 8,
};
/// Set for an engine that compiles its kernels when a plan is made, which takes seconds,
/// not milliseconds.
inline constexpr int kDnnRuntimeCompilation = 0;

/// The functions that return a status; all are required.
#define TG_CUDNN(F)                                                                                \
  F(create, "cudnnCreate", (void** handle))                                                        \
  F(destroy, "cudnnDestroy", (void* handle))                                                       \
  F(set_stream, "cudnnSetStream", (void* handle, void* stream))                                    \
  F(descriptor_create, "cudnnBackendCreateDescriptor", (int kind, void** descriptor))              \
  F(descriptor_destroy, "cudnnBackendDestroyDescriptor", (void* descriptor))                       \
  F(finalize, "cudnnBackendFinalize", (void* descriptor))                                          \
  F(set, "cudnnBackendSetAttribute",                                                               \
    (void* descriptor, int attribute, int type, int64_t count, const void* values))                \
  F(get, "cudnnBackendGetAttribute",                                                               \
    (void* descriptor, int attribute, int type, int64_t wanted, int64_t* count, void* values))     \
  F(execute, "cudnnBackendExecute", (void* handle, void* plan, void* pack))

struct DnnApi {
  size_t (*version)() = nullptr;
  TG_CUDNN(TG_LIBRARY_MEMBER)
  const char* (*error_text)(int status) = nullptr;
  /// Returns the reason of the last failure; 8.9 does not have it.
  void (*last_error)(char* text, size_t size) = nullptr;
};
/// Loads the functions. Errors: `no_backend` if one is missing.
Result<DnnApi> dnn_api(const SharedLibrary& file);

/// An owned descriptor. Setters record the first failure, and finish() returns it.
class DnnDescriptor {
public:
  DnnDescriptor() = default;
  DnnDescriptor(const DnnApi& api, DnnKind kind);
  ~DnnDescriptor();
  DnnDescriptor(DnnDescriptor&& other) noexcept { *this = std::move(other); }
  DnnDescriptor& operator=(DnnDescriptor&& other) noexcept;

  void set(DnnAttr attr, llvm::ArrayRef<int64_t> values) {
    put(attr, static_cast<int64_t>(values.size()), values.data());
  }
  void set(DnnAttr attr, int64_t value) { put(attr, 1, &value); }
  void set_enum(DnnAttr attr, int value) { put(attr, 1, &value); }
  void set(DnnAttr attr, float value) { put(attr, 1, &value); }
  void set(DnnAttr attr, double value) { put(attr, 1, &value); }
  void set(DnnAttr attr, bool value) { put(attr, 1, &value); }
  void set(DnnAttr attr, const DnnDescriptor& value) { put(attr, 1, &value.raw_); }
  void set(DnnAttr attr, llvm::ArrayRef<void*> values) {
    put(attr, static_cast<int64_t>(values.size()), values.data());
  }
  void set_text(DnnAttr attr, llvm::StringRef text);
  /// Errors: `device` with the library's reason, of the first setter that failed or of finalizing.
  Result<void> finish();

  /// Returns false if there is no such attribute. If there are fewer values,
  /// `values` is truncated or left unchanged.
  bool get(DnnAttr attr, llvm::MutableArrayRef<int64_t> values, int64_t& count) const;
  bool get_enums(DnnAttr attr, llvm::MutableArrayRef<int> values, int64_t& count) const;
  /// Gets into existing descriptors, which the library fills; with an empty list,
  /// returns only their number.
  bool get(DnnAttr attr, llvm::MutableArrayRef<DnnDescriptor> values, int64_t& count) const;
  std::string get_text(DnnAttr attr) const;

  void* raw() const { return raw_; }

private:
  void put(DnnAttr attr, int64_t count, const void* values);
  void fail(int status, const std::string& what);
  bool read(DnnAttr attr, int64_t wanted, int64_t& count, void* values) const;

  const DnnApi* api_ = nullptr;
  void* raw_ = nullptr;
  DnnKind kind_{};
  std::string problem_; // of the first setter that failed
};

/// Returns "not supported: ..." in the library's words.
std::string dnn_problem(const DnnApi& api, int status);

} // namespace tg::cuda
