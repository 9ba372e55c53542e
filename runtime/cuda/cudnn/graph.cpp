#include "runtime/cuda/cudnn/graph.h"

#include <llvm/Support/FormatVariadic.h>
#include <llvm/Support/raw_ostream.h>

namespace tg::cuda {

namespace {

/// The alignment of all addresses that the executable assigns.
constexpr int64_t kAlignment = 16;

constexpr int kPropagateNan = 1;

Result<DnnDescriptor> describe(const DnnApi& api, const DnnTensor& tensor, int64_t id) {
  DnnDescriptor d(api, DnnKind::Tensor);
  d.set_enum(DnnAttr::TensorDataType, dnn_data_type(tensor.dtype));
  d.set(DnnAttr::TensorDims, tensor.dims);
  d.set(DnnAttr::TensorStrides, tensor.strides);
  d.set(DnnAttr::TensorId, id);
  d.set(DnnAttr::TensorAlignment, kAlignment);
  if (tensor.is_virtual) d.set(DnnAttr::TensorVirtual, true);
  if (tensor.value) d.set(DnnAttr::TensorByValue, true);
  TG_CHECK(d.finish());
  return d;
}

/// Builds operations over existing tensor descriptions.
class Builder {
public:
  Builder(const DnnApi& api, DnnBuilt& built) : api_(api), built_(built) {}

  Result<void> add(const DnnOp& op) {
    switch (op.kind) {
    case DnnOp::Kind::Convolution: return convolution(op);
    case DnnOp::Kind::Pointwise: return pointwise(op);
    case DnnOp::Kind::Attention: return attention(op);
    }
    return {};
  }

private:
  const DnnDescriptor& tensor(DnnTensorId id) const { return built_.tensors[id]; }

  Result<void> finish(DnnDescriptor how, DnnDescriptor op, DnnAttr how_attr) {
    TG_CHECK(how.finish());
    op.set(how_attr, how);
    TG_CHECK(op.finish());
    built_.hows.push_back(std::move(how));
    built_.ops.push_back(std::move(op));
    return {};
  }

  Result<void> convolution(const DnnOp& op) {
    DnnDescriptor how(api_, DnnKind::Convolution);
    how.set_enum(DnnAttr::ConvolutionCompute, kDnnFloat);
    how.set_enum(DnnAttr::ConvolutionMode, kDnnCrossCorrelation);
    how.set(DnnAttr::ConvolutionSpatialDims, static_cast<int64_t>(op.stride.size()));
    how.set(DnnAttr::ConvolutionStrides, op.stride);
    how.set(DnnAttr::ConvolutionDilations, op.dilation);
    how.set(DnnAttr::ConvolutionBefore, op.before);
    how.set(DnnAttr::ConvolutionAfter, op.after);
    DnnDescriptor node(api_, DnnKind::OpConvolution);
    node.set(DnnAttr::OpConvolutionX, tensor(op.operands[0]));
    node.set(DnnAttr::OpConvolutionW, tensor(op.operands[1]));
    node.set(DnnAttr::OpConvolutionY, tensor(op.result));
    node.set(DnnAttr::OpConvolutionAlpha, 1.0f);
    node.set(DnnAttr::OpConvolutionBeta, 0.0f);
    return finish(std::move(how), std::move(node), DnnAttr::OpConvolutionHow);
  }

  Result<void> pointwise(const DnnOp& op) {
    DnnDescriptor how(api_, DnnKind::Pointwise);
    how.set_enum(DnnAttr::PointwiseMode, op.mode);
    how.set_enum(DnnAttr::PointwiseCompute, kDnnFloat);
    if (op.mode == static_cast<int>(DnnPointwise::Relu))
      how.set_enum(DnnAttr::PointwiseNan, kPropagateNan);
    if (op.upper) {
      how.set(DnnAttr::PointwiseLowerClip, 0.0);
      how.set(DnnAttr::PointwiseUpperClip, *op.upper);
    }
    DnnDescriptor node(api_, DnnKind::OpPointwise);
    node.set(DnnAttr::OpPointwiseX, tensor(op.operands[0]));
    if (op.operands.size() > 1) node.set(DnnAttr::OpPointwiseB, tensor(op.operands[1]));
    node.set(DnnAttr::OpPointwiseY, tensor(op.result));
    return finish(std::move(how), std::move(node), DnnAttr::OpPointwiseHow);
  }

  Result<void> attention(const DnnOp& op) {
    DnnDescriptor node(api_, DnnKind::OpAttention);
    node.set(DnnAttr::OpAttentionQ, tensor(op.operands[0]));
    node.set(DnnAttr::OpAttentionK, tensor(op.operands[1]));
    node.set(DnnAttr::OpAttentionV, tensor(op.operands[2]));
    node.set(DnnAttr::OpAttentionScale, tensor(op.operands[3]));
    node.set(DnnAttr::OpAttentionO, tensor(op.result));
    TG_CHECK(node.finish());
    built_.ops.push_back(std::move(node));
    return {};
  }

  const DnnApi& api_;
  DnnBuilt& built_;
};

llvm::StringRef mode_name(const DnnOp& op) {
  if (op.kind == DnnOp::Kind::Convolution) return "conv";
  if (op.kind == DnnOp::Kind::Attention) return "attention";
  switch (static_cast<DnnPointwise>(op.mode)) {
  case DnnPointwise::Add: return "add";
  case DnnPointwise::Relu: return "relu";
  case DnnPointwise::Tanh: return "tanh";
  case DnnPointwise::Sigmoid: return "sigmoid";
  case DnnPointwise::Gelu: return "gelu";
  }
  return "";
}

void print(llvm::raw_ostream& out, llvm::StringRef name, llvm::ArrayRef<int64_t> values) {
  if (values.empty()) return;
  out << ' ' << name;
  for (size_t i = 0; i < values.size(); ++i) out << (i == 0 ? ' ' : 'x') << values[i];
}

} // namespace

int dnn_data_type(DType dtype) {
  return dtype == DType::F16 ? kDnnHalf : dtype == DType::BF16 ? kDnnBFloat16 : kDnnFloat;
}

DnnTensorId DnnGraph::tensor(DType dtype, Shape dims, Shape strides) {
  tensors.push_back({dtype, std::move(dims), std::move(strides), false, std::nullopt});
  return static_cast<DnnTensorId>(tensors.size() - 1);
}

DnnTensorId DnnGraph::inner_like(DnnTensorId other) {
  DnnTensorId id = tensor(DType::F32, tensors[other].dims, tensors[other].strides);
  tensors[id].is_virtual = true;
  return id;
}

DnnTensorId DnnGraph::number(float value, size_t rank) {
  Shape ones(rank, 1);
  DnnTensorId id = tensor(DType::F32, ones, ones);
  tensors[id].value = value;
  return id;
}

void DnnGraph::pointwise(DnnPointwise mode, DnnTensorId x, DnnTensorId y, DnnTensorId result) {
  DnnOp op{DnnOp::Kind::Pointwise, static_cast<int>(mode), {x}, result, {}, {}, {}, {}, {}};
  if (y != kNoTensor) op.operands.push_back(y);
  ops.push_back(std::move(op));
}

std::string DnnGraph::text() const {
  std::string text;
  llvm::raw_string_ostream out(text);
  for (const DnnOp& op : ops) {
    if (&op != &ops.front()) out << "; ";
    out << 't' << op.result << " = " << mode_name(op) << '(';
    for (size_t i = 0; i < op.operands.size(); ++i) out << (i ? ", t" : "t") << op.operands[i];
    out << ')';
    if (op.upper) out << " upper " << llvm::formatv("{0}", *op.upper);
    print(out, "stride", op.stride);
    print(out, "dilation", op.dilation);
    print(out, "before", op.before);
    print(out, "after", op.after);
  }
  for (size_t i = 0; i < tensors.size(); ++i) {
    const DnnTensor& t = tensors[i];
    out << "; t" << i << ": " << TensorType{t.dtype, t.dims}.text();
    print(out, "strides", t.strides);
    if (t.is_virtual) out << " inner";
    if (t.value) out << llvm::formatv(" = {0:e8}", *t.value);
  }
  return out.str();
}

Result<DnnBuilt> build(const DnnApi& api, void* handle, const DnnGraph& graph) {
  DnnBuilt built;
  for (size_t i = 0; i < graph.tensors.size(); ++i) {
    TG_TRY(DnnDescriptor tensor,
           describe(api, graph.tensors[i], dnn_id(static_cast<DnnTensorId>(i))));
    built.tensors.push_back(std::move(tensor));
  }
  Builder builder(api, built);
  for (const DnnOp& op : graph.ops) TG_CHECK(builder.add(op));
  built.graph = DnnDescriptor(api, DnnKind::Graph);
  llvm::SmallVector<void*, 8> ops;
  for (const DnnDescriptor& op : built.ops) ops.push_back(op.raw());
  built.graph.set(DnnAttr::GraphOps, llvm::ArrayRef<void*>(ops));
  built.graph.set(DnnAttr::GraphHandle, llvm::ArrayRef<void*>(handle));
  TG_CHECK(built.graph.finish());
  return built;
}

} // namespace tg::cuda
