// gelu by tanh, which models spell out of eight or nine operators, as one function: cuBLASLt has it
// behind a product. It is found by what it computes: pointwise steps that begin at one value, read
// nothing else but numbers and end in one value are a function of one number, and that is held
// against the function at points. No spelling is missed, and gelu by erf, which is up to 5e-4 away,
// is not taken for it.
#pragma once

#include "runtime/plan.h"

namespace tg::cuda {

/// Steps that compute a function of `from` alone, which nothing else reads.
struct FunctionSteps {
  std::vector<PlanStepId> steps; // in order
  PlanValueId result = kNoValue;
};

/// Those that begin at `from` and are gelu by tanh. `readers`: of each value, in order.
std::optional<FunctionSteps> find_gelu_tanh(const Plan& plan, PlanValueId from,
                                            llvm::ArrayRef<std::vector<PlanStepId>> readers);

} // namespace tg::cuda
