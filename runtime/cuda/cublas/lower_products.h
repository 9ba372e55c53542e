// Prepares the products of a plan for cuBLASLt: steps that the library can fuse with a product
// are merged into it, and unsupported ones are split off. Four rewrites,
// each only if the library has an algorithm for the result:
//
//   cut      act(x @ y + bias + residual) with an activation that the library lacks (gelu by erf,
//            tanh, sigmoid, relu6) becomes the product and the activation, which then fuses into
//            the next generated kernel
//   gelu     pointwise steps after a product in f16 or bf16 that compute gelu by tanh (below) are
//            merged into it; not in f32, because the accuracy of the library's tanh is undocumented
//   read     an operand that is a transpose of a plain value is read directly from that value
//   write    a result whose only reader is a transpose is written in the transposed layout
//
// A pure function of the plan. In the resulting plan, products may have operands
// of other shapes than the operator requires: `problems` says how they are read.
// Steps without readers are removed.
#pragma once

#include "runtime/cuda/cublas/matmul.h"
#include "runtime/plan.h"

namespace tg::cuda {

struct LoweredPlan {
  Plan plan;
  std::vector<PlanStepId> origin;                     // of each step: its old number
  std::vector<std::optional<MatmulProblem>> problems; // of each step: set if the library runs it
};

/// Returns true if the library has an algorithm.
using CanMultiply = std::function<bool(const MatmulProblem&)>;

LoweredPlan lower_products(const Plan& plan, const CanMultiply& can, bool allow_tf32 = false);

// Recognizes gelu by tanh, which models write as eight or nine operators, as one function:
// cuBLASLt can fuse it with a product.
// It is recognized by its values. Pointwise steps that begin at one value,
// read only that value and numbers, and end in one value are a function of one number,
// which is compared with gelu at sample points. Every way to write it is recognized,
// and gelu by erf, which differs by up to 5e-4, is not mistaken for it.

/// Steps that compute a function of `from` alone, whose intermediate values have no other readers.
struct FunctionSteps {
  std::vector<PlanStepId> steps; // in order
  PlanValueId result = kNoValue;
};

/// Returns the steps that begin at `from` and compute gelu by tanh. `readers`:
/// of each value, in order.
std::optional<FunctionSteps> find_gelu_tanh(const Plan& plan, PlanValueId from,
                                            llvm::ArrayRef<std::vector<PlanStepId>> readers);

} // namespace tg::cuda
