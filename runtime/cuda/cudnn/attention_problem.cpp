// An attention step as what cuDNN is asked: as one operation, and put together.
#include "runtime/cuda/cudnn/attention_step.h"

namespace tg::cuda {

namespace {

/// Where the next tensor of a problem lies, and whose it is.
DnnTensorId lay(DnnProblem& problem, const PlanStep& step, size_t role, DType dtype,
                PlanValueId value) {
  problem.values.push_back(value);
  return problem.graph.tensor(dtype, sizes(step.attrs[kTensors + 2 * role]),
                              sizes(step.attrs[kTensors + 2 * role + 1]));
}

/// As one operation.
DnnProblem whole(const Plan& plan, const PlanStep& step) {
  DnnProblem problem;
  DType dtype = plan.values[step.result].type.dtype;
  DnnOp op;
  op.kind = DnnOp::Kind::Attention;
  for (size_t role : {kQ, kK, kV})
    op.operands.push_back(lay(problem, step, role, dtype, step.operands[role]));
  op.result = lay(problem, step, kO, dtype, step.result);
  op.operands.push_back(problem.graph.number(static_cast<float>(step.attrs[kScale].real), 4));
  problem.values.push_back(kNoValue);
  problem.graph.ops.push_back(std::move(op));
  return problem;
}

/// Put together, as the library's engines know it: products around scale, mask and softmax, sums in
/// f32, weights rounded to the operands' type. The scale lies in memory: a number given with each
/// call is taken for that of a dropout.
class Composition {
public:
  Composition(const Plan& plan, const PlanStep& step)
      : step_(step), dtype_(plan.values[step.result].type.dtype) {}

  DnnProblem write() {
    DnnTensorId q = lay(problem_, step_, kQ, dtype_, step_.operands[kQ]),
                k = lay(problem_, step_, kK, dtype_, step_.operands[kK]),
                v = lay(problem_, step_, kV, dtype_, step_.operands[kV]),
                o = lay(problem_, step_, kO, dtype_, step_.result);
    DnnTensor& keys = problem_.graph.tensors[k]; // turned
    std::swap(keys.dims[2], keys.dims[3]);
    std::swap(keys.strides[2], keys.strides[3]);
    scores_ = problem_.graph.tensors[q].dims;
    scores_[3] = keys.dims[3];
    DnnTensorId scores = inner(scores_);
    problem_.graph.matmul(q, k, scores);
    if (step_.attrs[kScale].real != 1) {
      problem_.values.push_back(step_.operands[kFactor]);
      scores = then(DnnPointwise::Mul, scores,
                    problem_.graph.tensor(DType::F32, {1, 1, 1, 1}, {1, 1, 1, 1}));
    }
    if (is_masked(step_))
      scores = then(DnnPointwise::Add, scores,
                    lay(problem_, step_, kMask, dtype_, step_.operands[kAdded]));
    problem_.graph.matmul(softmax(scores), v, o);
    return std::move(problem_);
  }

private:
  DnnTensorId inner(const Shape& dims, DType dtype = DType::F32) {
    problem_.values.push_back(kNoValue);
    return problem_.graph.inner(dims, dtype);
  }
  DnnTensorId then(DnnPointwise mode, DnnTensorId x, DnnTensorId y, DType dtype = DType::F32) {
    DnnTensorId result = inner(scores_, dtype);
    problem_.graph.pointwise(mode, x, y, result);
    return result;
  }
  DnnTensorId row(DnnReduce mode, DnnTensorId x) {
    Shape dims = scores_;
    dims[3] = 1;
    DnnTensorId result = inner(dims);
    problem_.graph.reduce(mode, x, result);
    return result;
  }
  DnnTensorId softmax(DnnTensorId x) {
    DnnTensorId most = row(DnnReduce::Max, x);
    DnnTensorId e = then(DnnPointwise::Exp, then(DnnPointwise::Sub, x, most), kNoTensor);
    return then(DnnPointwise::Div, e, row(DnnReduce::Sum, e), dtype_);
  }

  const PlanStep& step_;
  DType dtype_;
  Shape scores_;
  DnnProblem problem_;
};

} // namespace

std::vector<DnnProblem> attention_problems(const Plan& plan, const PlanStep& step) {
  std::vector<DnnProblem> problems;
  if (!is_masked(step)) problems.push_back(whole(plan, step));
  problems.push_back(Composition(plan, step).write());
  return problems;
}

} // namespace tg::cuda
