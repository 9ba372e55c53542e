#include "runtime/ref/kernels.h"

#include "lang/core/semantics/impl.h"
#include "runtime/convert.h"
#include "runtime/execute.h"

#include <new>

namespace tg {

RefStep::RefStep(const Plan& plan, const PlanStep& step, const ExternKernels* externs)
    : op_(step.op), type_(plan.values[step.result].type) {
  llvm::SmallVector<llvm::ArrayRef<int64_t>, 4> shapes;
  bool floats = type_.dtype == DType::F32, doubles = type_.dtype == DType::F64;
  bool integers = !is_float(type_.dtype);
  int64_t elements = type_.elements();
  for (PlanValueId id : step.operands) {
    const TensorType* type = id == kNoValue ? nullptr : &plan.values[id].type;
    operands_.push_back({type, nullptr});
    shapes.push_back(type ? llvm::ArrayRef<int64_t>(type->shape) : llvm::ArrayRef<int64_t>());
    if (!type) continue;
    floats &= type->dtype == DType::F32;
    doubles &= type->dtype == DType::F64;
    integers &= !is_float(type->dtype);
    elements += type->elements();
  }
  static const Value kNoAct = Value::of_enum("none");
  for (const Value& value : step.attrs) attrs_.push_back(&value);
  // A sum of i32 is wrapped before the activation, as it is if the activation is a separate step.
  int act = op_info(op_).attr_slot("act");
  if (act >= 0 && type_.dtype == DType::I32) {
    last_ = act_op(parse_act(attrs_[static_cast<size_t>(act)]->text).value_or(Act::None));
    if (last_) attrs_[static_cast<size_t>(act)] = &kNoAct;
  }
  if (op_ == OpKind::Extern) {
    if (externs) extern_ = externs->find(attrs_[0]->text, attrs_[1]->text);
    return;
  }
  bool widens = !floats && !doubles;
  if (!floats)
    scalar_ = doubles ? Scalar::Double : integers ? Scalar::Integer : Scalar::WidenedDouble;
  scratch_ = scratch_elements(op_, attrs_, shapes, type_.shape);
  static_assert(sizeof(Integer) == sizeof(double));
  if (op_ != OpKind::Cast)
    workspace_bytes_ = (scratch_ + (widens ? elements : 0)) * static_cast<int64_t>(sizeof(double));
  if (op_ == OpKind::FusedMap) body_ = parse_fused_body(attrs_[0]->text);
}

void RefStep::bind(llvm::ArrayRef<const std::byte*> operands, std::byte* result,
                   std::byte* workspace) {
  for (size_t i = 0; i < operands_.size(); ++i) operands_[i].data = operands[i];
  result_ = result;
  workspace_ = workspace;
}

Result<void> RefStep::run_alone(llvm::ArrayRef<const std::byte*> operands, std::byte* result) {
  TG_TRY(AlignedBuffer workspace, allocate(workspace_bytes_));
  bind(operands, result, workspace.get());
  run();
  return {};
}

template <class T>
void RefStep::evaluate(llvm::ArrayRef<ConstView<T>> operands, View<T> result,
                       llvm::MutableArrayRef<WideOf<T>> scratch) const {
  if (body_) return evaluate_fused<T>(*body_, operands, result, scratch);
  evaluate_op<T>(op_, attrs_, operands, result, scratch);
}

template <class T> void RefStep::run_in_place() const {
  llvm::SmallVector<ConstView<T>, 8> operands;
  for (const Operand& operand : operands_) {
    llvm::ArrayRef<int64_t> shape;
    if (operand.type) shape = operand.type->shape;
    operands.push_back({reinterpret_cast<const T*>(operand.data), shape});
  }
  llvm::MutableArrayRef<double> scratch(reinterpret_cast<double*>(workspace_),
                                        static_cast<size_t>(scratch_));
  evaluate<T>(operands, {reinterpret_cast<T*>(result_), type_.shape}, scratch);
}

template <class T> void RefStep::run_widened() const {
  T* next = reinterpret_cast<T*>(workspace_);
  llvm::MutableArrayRef<T> scratch(next, static_cast<size_t>(scratch_));
  next += scratch_;
  llvm::SmallVector<ConstView<T>, 8> operands;
  for (const Operand& operand : operands_) {
    operands.emplace_back();
    if (!operand.type) continue;
    int64_t count = operand.type->elements();
    widen(operand.type->dtype, operand.data, next, count);
    operands.back() = {next, operand.type->shape};
    next += count;
  }
  evaluate<T>(operands, {next, type_.shape}, scratch);
  if constexpr (std::is_same_v<T, Integer>)
    for (int64_t i = 0; last_ && i < type_.elements(); ++i) {
      Integer cut = Math<Integer>::cast(type_.dtype, next[i]);
      next[i] = pointwise<Integer>(*last_, &cut);
    }
  narrow(type_.dtype, next, result_, type_.elements());
}

void RefStep::run_extern() const {
  llvm::SmallVector<ExternOperand, 8> operands;
  for (const Operand& operand : operands_) operands.push_back({operand.type, operand.data});
  if (extern_) (*extern_)(operands, type_, result_);
}

void RefStep::run() const {
  if (op_ == OpKind::Extern) return run_extern();
  if (op_ == OpKind::Cast)
    return convert(operands_[0].type->dtype, operands_[0].data, type_.dtype, result_,
                   type_.elements());
  switch (scalar_) {
  case Scalar::Float: return run_in_place<float>();
  case Scalar::Double: return run_in_place<double>();
  case Scalar::WidenedDouble: return run_widened<double>();
  case Scalar::Integer: return run_widened<Integer>();
  }
}

} // namespace tg
