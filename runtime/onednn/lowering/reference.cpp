// Operators by the loops that define them (runtime/ref/kernels.h), row-major and on one thread: for
// what is rare, for integers, and for rearrangements of weights that run once, at load.
#include "runtime/onednn/lowering/lowering.h"
#include "runtime/ref/kernels.h"

namespace tg::cpu {

namespace {

class ReferenceKernel final : public Kernel {
public:
  /// Places of the operands (nullopt where absent) and of the result, all row-major. Refers to the
  /// plan and to `externs`.
  ReferenceKernel(const Plan& plan, const PlanStep& step, const ExternKernels* externs,
                  llvm::SmallVector<std::optional<Place>, 4> operands, Place result)
      : step_(plan, step, externs), operands_(std::move(operands)), result_(std::move(result)) {}

  int64_t scratch_bytes() const { return step_.workspace_bytes(); }

  Result<void> bind(const Addresses& addresses) override {
    llvm::SmallVector<const std::byte*, 4> operands;
    for (const std::optional<Place>& place : operands_)
      operands.push_back(place ? addresses.bytes(*place) : nullptr);
    step_.bind(operands, addresses.bytes(result_), addresses.scratch);
    return {};
  }

  dnnl_status_t run(dnnl_stream_t) override {
    step_.run();
    return dnnl_success;
  }

private:
  RefStep step_;
  llvm::SmallVector<std::optional<Place>, 4> operands_;
  Place result_;
};

} // namespace

Result<void> lower_reference(Lowering& l, const PlanStep& step) {
  llvm::SmallVector<std::optional<Place>, 4> operands;
  for (PlanValueId id : step.operands) {
    operands.emplace_back();
    if (id == kNoValue) continue;
    TG_TRY(operands.back(), l.operand_plain(id));
  }
  Place result = l.new_result(step, contiguous_strides(l.type(step.result).shape));
  Op op = l.describe(step);
  op.implementation = "ref";
  for (const std::optional<Place>& place : operands)
    if (place) op.buffers.push_back(place->buffer);
  op.buffers.push_back(result.buffer);
  auto kernel = std::make_unique<ReferenceKernel>(l.plan, step, l.options.externs.get(),
                                                  std::move(operands), result);
  op.scratch_bytes = kernel->scratch_bytes();
  op.kernel = std::move(kernel);
  l.add_op(step.phase, std::move(op));
  return {};
}

} // namespace tg::cpu
