// The reference kernels: lang/core/semantics/semantics.h over float with sums in double, or over
// double, one thread. Of other dtypes operands are widened first, to double or Integer, and the
// result is rounded once. RefStep is a plan step made ready to run; other backends use it for what
// they have no kernel for.
#pragma once

#include "lang/core/result.h"
#include "lang/core/semantics/semantics.h"
#include "runtime/extern_kernels.h"
#include "runtime/plan.h"

#include <cstddef>

namespace tg {

/// Refers to the plan, which must outlive it and not change.
class RefStep {
public:
  /// `externs` has a kernel for the step if it is an `extern op` (check_externs), and outlives it.
  RefStep(const Plan& plan, const PlanStep& step, const ExternKernels* externs = nullptr);

  /// Scratch that run() needs.
  int64_t workspace_bytes() const { return workspace_bytes_; }
  /// Row-major memory of each operand (null where absent) and of the result, in their dtypes, and
  /// workspace_bytes aligned for double. The result may be the memory of PlanStep::in_place.
  void bind(llvm::ArrayRef<const std::byte*> operands, std::byte* result, std::byte* workspace);
  /// Allocates nothing for operators of up to eight operands.
  void run() const;
  /// bind() and run() with a workspace of its own. Errors: `memory_limit` where there is none.
  Result<void> run_alone(llvm::ArrayRef<const std::byte*> operands, std::byte* result);

private:
  struct Operand {
    const TensorType* type = nullptr; // null where absent
    const std::byte* data = nullptr;
  };
  /// The scalar over which the operator is evaluated.
  enum class Scalar : uint8_t { Float, Double, WidenedDouble, Integer };

  template <class T>
  void evaluate(llvm::ArrayRef<ConstView<T>> operands, View<T> result,
                llvm::MutableArrayRef<WideOf<T>> scratch) const;
  template <class T> void run_in_place() const; // on the elements where they lie
  template <class T> void run_widened() const;
  void run_extern() const;

  OpKind op_;
  Scalar scalar_ = Scalar::Float;
  llvm::SmallVector<const Value*, 4> attrs_;
  llvm::SmallVector<Operand, 4> operands_;
  const TensorType& type_;
  std::byte* result_ = nullptr;
  int64_t scratch_ = 0; // elements
  int64_t workspace_bytes_ = 0;
  std::byte* workspace_ = nullptr;
  std::optional<FusedBody> body_; // of a fused_map
  std::optional<OpKind> last_;    // the activation of a product of i32
  const ExternKernel* extern_ = nullptr;
};

} // namespace tg
