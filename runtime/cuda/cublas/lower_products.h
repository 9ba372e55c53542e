// Prepares products for cuBLASLt, on the plan: what the library can do beside multiplying moves
// into the product, and what it cannot is cut off. Four rewrites, each only where the library has
// an algorithm for what comes out:
//
//   cut      act(x @ y + bias + residual) with an activation that the library lacks (gelu by erf,
//            tanh, sigmoid, relu6) becomes the product and the activation, which then fuses into
//            the next generated kernel
//   gelu     pointwise steps behind a product in f16 or bf16 that compute gelu by tanh (below)
//   join
//            it; in f32 they do not, since the library does not say how near its tanh is
//   read     an operand that is a transpose of a plain value is read where that lies
//   write    a result whose only reader is a transpose is written as that lies
//
// A pure function of the plan. The result is a plan whose products may have operands of another
// shape than the operator wants: `problems` says how they are read. Steps that nothing needs any
// more are gone.
#pragma once

#include "runtime/cuda/cublas/matmul.h"
#include "runtime/plan.h"

namespace tg::cuda {

struct LoweredPlan {
  Plan plan;
  std::vector<PlanStepId> origin;                     // of each step: which it was
  std::vector<std::optional<MatmulProblem>> problems; // of each step: set for those of the library
};

/// Whether the library has an algorithm.
using CanMultiply = std::function<bool(const MatmulProblem&)>;

LoweredPlan lower_products(const Plan& plan, const CanMultiply& can, bool allow_tf32 = false);

// gelu by tanh, which models spell out of eight or nine operators, as one function: cuBLASLt has it
// behind a product. It is found by what it computes: pointwise steps that begin at one value, read
// nothing else but numbers and end in one value are a function of one number, and that is held
// against the function at points. No spelling is missed, and gelu by erf, which is up to 5e-4 away,
// is not taken for it.

/// Steps that compute a function of `from` alone, which nothing else reads.
struct FunctionSteps {
  std::vector<PlanStepId> steps; // in order
  PlanValueId result = kNoValue;
};

/// Those that begin at `from` and are gelu by tanh. `readers`: of each value, in order.
std::optional<FunctionSteps> find_gelu_tanh(const Plan& plan, PlanValueId from,
                                            llvm::ArrayRef<std::vector<PlanStepId>> readers);

} // namespace tg::cuda
