#include "runtime/ref/kernels.h"

#include "lang/core/semantics_impl.h"

namespace tg {

RefStep::RefStep(const Plan& plan, const PlanStep& step) : op_(step.op) {
  llvm::SmallVector<llvm::ArrayRef<int64_t>, 4> shapes;
  for (PlanValueId id : step.operands) {
    llvm::ArrayRef<int64_t> shape;
    if (id != kNoValue) shape = plan.values[id].type.shape;
    shapes.push_back(shape);
    operands_.push_back({nullptr, shape});
  }
  for (const Value& value : step.attrs) attrs_.push_back(&value);
  result_.shape = plan.values[step.result].type.shape;
  scratch_ = scratch_elements(op_, attrs_, shapes, result_.shape);
  if (op_ == OpKind::FusedMap) body_ = parse_fused_body(attrs_[0]->text);
}

void RefStep::bind(llvm::ArrayRef<const float*> operands, float* result, std::byte* workspace) {
  for (size_t i = 0; i < operands_.size(); ++i) operands_[i].data = operands[i];
  result_.data = result;
  workspace_ = reinterpret_cast<double*>(workspace);
}

void RefStep::run() const {
  llvm::MutableArrayRef<double> scratch(workspace_, static_cast<size_t>(scratch_));
  if (body_) return evaluate_fused<float>(*body_, operands_, result_, scratch);
  evaluate_op<float>(op_, attrs_, operands_, result_, scratch);
}

} // namespace tg
