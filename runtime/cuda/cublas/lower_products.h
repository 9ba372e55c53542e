// Prepares products for cuBLASLt, on the plan: what the library can do beside multiplying moves
// into the product, and what it cannot is cut off. Four rewrites, each only where the library has
// an algorithm for what comes out:
//
//   cut      act(x @ y + bias + residual) with an activation that the library lacks (gelu by erf,
//            tanh, sigmoid, relu6) becomes the product and the activation, which then fuses into
//            the next generated kernel
//   gelu     pointwise steps behind a product in f16 or bf16 that compute gelu by tanh (gelu.h)
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

namespace tg::cuda {

struct LoweredPlan {
  Plan plan;
  std::vector<PlanStepId> origin;                     // of each step: which it was
  std::vector<std::optional<MatmulProblem>> problems; // of each step: set for those of the library
};

/// Whether the library has an algorithm.
using CanMultiply = std::function<bool(const MatmulProblem&)>;

LoweredPlan lower_products(const Plan& plan, const CanMultiply& can, bool allow_tf32 = false);

} // namespace tg::cuda
