// A computation for cuDNN: a few operations over strided tensors.
// It is a value, independent of the library: it can be compared,
// is printed as the operation's key in the database, and is built into descriptors (build)
// for a plan.
//
// Invariant: operations are in dependency order; every tensor that one operation writes
// and another reads is virtual, without memory.
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
  std::optional<float> value; // one number, passed with each call
  bool operator==(const DnnTensor&) const = default;
};

using DnnTensorId = uint32_t;
inline constexpr DnnTensorId kNoTensor = UINT32_MAX;

/// Modes of pointwise operations, with the library's numbers.
enum class DnnPointwise : int { Add = 0, Relu = 100, Tanh = 101, Sigmoid = 102, Gelu = 104 };

struct DnnOp {
  enum class Kind : uint8_t { Convolution, Pointwise, Attention };
  Kind kind{};
  int mode = 0; // DnnPointwise
  /// Convolution x, w; pointwise x, b; attention q, k, v, scale.
  llvm::SmallVector<DnnTensorId, 4> operands;
  DnnTensorId result = kNoTensor;
  Shape stride, dilation, before, after; // along H and W
  std::optional<double> upper;           // upper bound of relu
  bool operator==(const DnnOp&) const = default;
};

struct DnnGraph {
  std::vector<DnnTensor> tensors;
  std::vector<DnnOp> ops;
  bool operator==(const DnnGraph&) const = default;

  DnnTensorId tensor(DType dtype, Shape dims, Shape strides);
  /// Returns a tensor in f32 with the strides of another: intermediate results stay exact until
  /// they are stored.
  DnnTensorId inner_like(DnnTensorId other);
  DnnTensorId number(float value, size_t rank);
  void pointwise(DnnPointwise mode, DnnTensorId x, DnnTensorId y, DnnTensorId result);

  /// Returns one line, the same for equal graphs: "conv(t0, t1) ...; t0 f16[1, 64, 56, 56]@...".
  std::string text() const;
};

/// A graph as finalized descriptors, with the objects that they refer to.
struct DnnBuilt {
  std::vector<DnnDescriptor> tensors, hows, ops;
  DnnDescriptor graph;
};
/// Errors: `device`.
Result<DnnBuilt> build(const DnnApi& api, void* handle, const DnnGraph& graph);

int dnn_data_type(DType dtype);
/// The library's number of a tensor.
inline int64_t dnn_id(DnnTensorId tensor) { return int64_t{tensor} + 1; }

} // namespace tg::cuda
