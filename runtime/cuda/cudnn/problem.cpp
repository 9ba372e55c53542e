#include "runtime/cuda/cudnn/problem.h"

#include "lang/core/shape_rules.h"

#include <llvm/ADT/STLExtras.h>

namespace tg::cuda {

namespace {

/// The channels of an operand along axis 1 in the library's vector layout: [1, C, 1, 1].
Shape channel_dims(int64_t channels) { return {1, channels, 1, 1}; }
Shape channel_strides(int64_t channels) { return {channels, 1, channels, channels}; }

class Writer {
public:
  Writer(const Plan& plan, const PlanStep& step, const StridesOf& strides)
      : plan_(plan), step_(step), strides_(strides) {}

  DnnProblem convolution() {
    const TensorType &x = type(step_.operands[0]), &w = type(step_.operands[1]);
    DnnOp conv;
    conv.kind = DnnOp::Kind::Convolution;
    conv.operands = {value(step_.operands[0]), value(step_.operands[1])};
    conv.stride = sizes(step_.attrs[0]);
    conv.dilation = sizes(step_.attrs[2]);
    pad(conv, x.shape, {w.shape[2], w.shape[3]}, step_.attrs[1]);
    y_ = value(step_.result);
    Act act = parse_act(step_.attrs[3].text).value_or(Act::None);
    bool residual = step_.operands[3] != kNoValue;
    // The library's fused engines require a bias whenever another operation follows the sum.
    bool bias = step_.operands[2] != kNoValue || residual || act != Act::None;
    left_ = (residual ? 1 : 0) + (bias ? 1 : 0) + (act != Act::None ? 1 : 0);
    DnnTensorId sum = conv.result = next();
    problem_.graph.ops.push_back(std::move(conv));
    if (residual) sum = add_pointwise(DnnPointwise::Add, sum, value(step_.operands[3]));
    if (bias) sum = add_pointwise(DnnPointwise::Add, sum, bias_tensor());
    if (act != Act::None) activate(act, sum);
    return finish();
  }

private:
  const TensorType& type(PlanValueId id) const { return plan_.values[id].type; }

  DnnTensorId tensor(PlanValueId id, Shape dims, Shape strides) {
    problem_.values.push_back(id);
    return problem_.graph.tensor(type(step_.result).dtype, std::move(dims), std::move(strides));
  }
  DnnTensorId value(PlanValueId id) { return tensor(id, type(id).shape, strides_(id)); }
  DnnTensorId bias_tensor() {
    int64_t channels = type(step_.result).shape[1];
    PlanValueId bias = step_.operands[2] == kNoValue ? kZeros : step_.operands[2];
    return tensor(bias, channel_dims(channels), channel_strides(channels));
  }

  /// Returns the tensor that the next operation of a chain writes; the last writes the result.
  DnnTensorId next() {
    if (left_-- == 0) return y_;
    problem_.values.push_back(kNoValue);
    return problem_.graph.inner_like(y_);
  }
  DnnTensorId add_pointwise(DnnPointwise mode, DnnTensorId x, DnnTensorId b) {
    DnnTensorId result = next();
    problem_.graph.pointwise(mode, x, b, result);
    return result;
  }
  void activate(Act act, DnnTensorId sum) {
    switch (act) {
    case Act::None: break;
    case Act::Relu:
    case Act::Relu6: add_pointwise(DnnPointwise::Relu, sum, kNoTensor); break;
    case Act::Tanh: add_pointwise(DnnPointwise::Tanh, sum, kNoTensor); break;
    case Act::Sigmoid: add_pointwise(DnnPointwise::Sigmoid, sum, kNoTensor); break;
    case Act::Gelu: add_pointwise(DnnPointwise::Gelu, sum, kNoTensor); break;
    }
    if (act == Act::Relu6) problem_.graph.ops.back().upper = 6;
  }

  void pad(DnnOp& op, llvm::ArrayRef<int64_t> x, llvm::ArrayRef<int64_t> kernel,
           const Value& pad) const {
    for (int axis = 0; axis < 2; ++axis) {
      int64_t dilation = op.dilation.empty() ? 1 : op.dilation[axis];
      Window w = *window(x[2 + axis], kernel[axis], op.stride[axis], dilation, pad, axis);
      op.before.push_back(w.before);
      op.after.push_back(w.after);
    }
  }

  DnnProblem finish() { return std::move(problem_); }

  const Plan& plan_;
  const PlanStep& step_;
  const StridesOf& strides_;
  DnnProblem problem_;
  DnnTensorId y_ = kNoTensor;
  int left_ = 0;
};

} // namespace

Shape channels_last_strides(llvm::ArrayRef<int64_t> shape) {
  int64_t channels = shape[1], width = shape[3];
  return {shape[2] * width * channels, 1, width * channels, channels};
}

std::optional<DnnProblem> dnn_problem(const Plan& plan, const PlanStep& step,
                                      const StridesOf& strides) {
  DType dtype = plan.values[step.result].type.dtype;
  if (!is_float(dtype)) return std::nullopt;
  for (PlanValueId id : step.operands)
    if (id != kNoValue && plan.values[id].type.dtype != dtype) return std::nullopt;
  if (step.op != OpKind::Conv2d) return std::nullopt;
  return Writer(plan, step, strides).convolution();
}

} // namespace tg::cuda
