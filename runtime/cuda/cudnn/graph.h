// What cuDNN is asked to compute at once: a few operations over tensors whose
// elements lie as their strides say. A value, apart from the library: it is
// compared, printed as the operation's key in the database, and built into
// descriptors (build) when a plan is wanted.
//
// Invariant: operations come in the order of their data; every tensor that an
// operation makes and another reads is virtual, it has no memory.
#pragma once

#include "lang/core/type.h"
#include "runtime/cuda/cudnn/api.h"

#include <optional>
#include <vector>

namespace tg::cuda {

struct DnnTensor {
  DType dtype{};
  Shape dims, strides; // in elements
  bool is_virtual = false;
  std::optional<float> value; // one number, given with each call
  bool operator==(const DnnTensor&) const = default;
};

using DnnTensorId = uint32_t;
inline constexpr DnnTensorId kNoTensor = UINT32_MAX;

/// Modes of pointwise operations have the library's numbers.
enum class DnnPointwise : int { Add = 0, Relu = 100, Tanh = 101, Sigmoid = 102, Gelu = 104 };

struct DnnOp {
  enum class Kind : uint8_t { Convolution, Pointwise, Attention };
  Kind kind{};
  int mode = 0; // DnnPointwise
  /// Convolution x, w; pointwise x, b; attention q, k, v, scale.
  llvm::SmallVector<DnnTensorId, 4> operands;
  DnnTensorId result = kNoTensor;
  Shape stride, dilation, before, after; // along H and W
  std::optional<double> upper;           // where relu stops
  bool operator==(const DnnOp&) const = default;
};

struct DnnGraph {
  std::vector<DnnTensor> tensors;
  std::vector<DnnOp> ops;
  bool operator==(const DnnGraph&) const = default;

  DnnTensorId tensor(DType dtype, Shape dims, Shape strides);
  /// In f32, with the strides of another: what is computed stays exact until it is stored.
  DnnTensorId inner_like(DnnTensorId other);
  DnnTensorId number(float value, size_t rank);
  void pointwise(DnnPointwise mode, DnnTensorId x, DnnTensorId y, DnnTensorId result);

  /// One line, the same for equal graphs: "conv(t0, t1) ...; t0 f16[1, 64, 56,
  /// 56]@...".
  std::string text() const;
};

/// A graph as descriptors, finished; what they refer to lives along.
struct DnnBuilt {
  std::vector<DnnDescriptor> tensors, hows, ops;
  DnnDescriptor graph;
};
/// `handle` may be null where the plan is made for a device that is described
/// (plan.h). Errors: `device`.
Result<DnnBuilt> build(const DnnApi& api, void* handle, const DnnGraph& graph);

int dnn_data_type(DType dtype);
/// The library's number for a tensor.
inline int64_t dnn_id(DnnTensorId tensor) { return int64_t{tensor} + 1; }

} // namespace tg::cuda
