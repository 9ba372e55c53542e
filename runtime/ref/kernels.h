// The reference kernels: lang/core/semantics/semantics.h over float with sums in double,
// or over double, on one thread. Operands of other dtypes are first widened to double or Integer,
// and the result is rounded once.
// RefStep is a plan step that is ready to run; other backends use it for steps for which they
// have no kernel.
#pragma once

#include "lang/core/result.h"
#include "lang/core/semantics/semantics.h"
#include "runtime/extern_kernels.h"
#include "runtime/plan.h"

#include <cstddef>

namespace tg {

/// Points into the plan, which must outlive it and not change.
class RefStep {
public:
  /// `externs` must have a kernel for the step if it is an `extern op` (check_externs),
  /// and must outlive it.
  RefStep(const Plan& plan, const PlanStep& step, const ExternKernels* externs = nullptr);

  /// Returns the scratch memory that run() needs.
  int64_t workspace_bytes() const { return workspace_bytes_; }
  /// Binds the row-major memory of each operand (null if absent) and of the result, in their
  /// dtypes, and workspace_bytes aligned for double. The result may be the memory of
  /// PlanStep::in_place.
  void bind(llvm::ArrayRef<const std::byte*> operands, std::byte* result, std::byte* workspace);
  /// Allocates nothing for operators of up to eight operands.
  void run() const;
  /// Calls bind() and run() with its own workspace. Errors: `memory_limit` if it cannot be
  /// allocated.
  Result<void> run_alone(llvm::ArrayRef<const std::byte*> operands, std::byte* result);

private:
  struct Operand {
    const TensorType* type = nullptr; // null if absent
    const std::byte* data = nullptr;
  };
  /// The scalar type over which the operator is evaluated.
  enum class Scalar : uint8_t { Float, Double, WidenedDouble, Integer };

  template <class T>
  void evaluate(llvm::ArrayRef<ConstView<T>> operands, View<T> result,
                llvm::MutableArrayRef<WideOf<T>> scratch) const;
  template <class T> void run_in_place() const; // on the elements in their place
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
