// Converts an attention step to a cuDNN problem.
#include "runtime/cuda/cudnn/attention_step.h"

namespace tg::cuda {

DnnProblem attention_problem(const Plan& plan, const PlanStep& step) {
  DnnProblem problem;
  DType dtype = plan.values[step.result].type.dtype;
  auto lay = [&](size_t role, PlanValueId value) {
    problem.values.push_back(value);
    return problem.graph.tensor(dtype, sizes(step.attrs[kTensors + 2 * role]),
                                sizes(step.attrs[kTensors + 2 * role + 1]));
  };
  DnnOp op;
  op.kind = DnnOp::Kind::Attention;
  for (size_t role : {kQ, kK, kV}) op.operands.push_back(lay(role, step.operands[role]));
  op.result = lay(kO, step.result);
  op.operands.push_back(problem.graph.number(static_cast<float>(step.attrs[kScale].real), 4));
  problem.values.push_back(kNoValue);
  problem.graph.ops.push_back(std::move(op));
  return problem;
}

} // namespace tg::cuda
