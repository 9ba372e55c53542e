// Runs operators by the loops that define them (runtime/ref/kernels.h), row-major:
// for rare operators, integers, f64, and rearrangements of weights that run once, at load.
// They compute in the dtypes of the places that they read and write, which differ from those
// of the plan if a step runs between conversions (Lowering::widened).
// They run on one thread, except f64, whose operators all run here, including comparisons:
// an operator for which each index of the first axis depends on the same index of its operands
// is divided along that axis.
#include "runtime/cpu/lowering/lowering.h"
#include "runtime/cpu/parallel.h"
#include "runtime/ref/kernels.h"

namespace tg::cpu {

namespace {

/// Returns a mask of the operands of which index i of the result's first axis reads only index i;
/// the other operands are read completely. 0: the operator cannot be divided.
uint32_t cut_operands(const Plan& plan, const PlanStep& step) {
  const Shape& result = plan.values[step.result].type.shape;
  if (result.empty() || step.operands.size() > 32) return 0;
  auto along = [&](size_t i) -> uint32_t {
    if (i >= step.operands.size() || step.operands[i] == kNoValue) return 0;
    const Shape& x = plan.values[step.operands[i]].type.shape;
    return x.size() == result.size() && x[0] == result[0] ? 1U << i : 0;
  };
  uint32_t all = 0;
  if (is_pointwise(step.op) || step.op == OpKind::FusedMap)
    for (size_t i = 0; i < step.operands.size(); ++i) all |= along(i);
  switch (step.op) {
  case OpKind::Matmul: return along(0) | along(3) | (result.size() > 2 ? along(1) : 0);
  case OpKind::Conv2d:
  case OpKind::Conv3d: return along(0) | along(3);
  case OpKind::MaxPool2d:
  case OpKind::AvgPool2d:
  case OpKind::BatchNorm: return along(0);
  case OpKind::Resize: return attr(step, "sizes").ints.size() < result.size() ? along(0) : 0;
  case OpKind::LayerNorm: return result.size() > 1 ? along(0) : 0;
  case OpKind::Softmax: return attr(step, "axis").number > 0 ? along(0) : 0;
  case OpKind::ReduceSum:
  case OpKind::ReduceMean:
  case OpKind::ReduceMax:
  case OpKind::ReduceMin:
  case OpKind::ReduceProd: return llvm::is_contained(attr(step, "axes").ints, 0) ? 0 : 1;
  default: return all;
  }
}

/// Row-major places of the operands (nullopt if absent) and of the result.
struct StepPlaces {
  llvm::SmallVector<std::optional<Place>, 4> operands;
  Place result;

  bool has_doubles() const {
    auto is_double = [](const std::optional<Place>& place) {
      return place && place->dtype == DType::F64;
    };
    return is_double(result) || llvm::any_of(operands, is_double);
  }
};

/// Returns rows of a step's result along its first axis, or all of it if it is not divided,
/// as a separate plan with the types of the places.
Plan rows_of(const PlanStep& step, const StepPlaces& places, uint32_t cut, int64_t rows) {
  Plan part;
  part.steps.push_back(step);
  auto add = [&](const Place& place, bool rows_alone) {
    part.values.emplace_back().type = {place.dtype, place.shape};
    if (rows_alone) part.values.back().type.shape[0] = rows;
    return static_cast<PlanValueId>(part.values.size() - 1);
  };
  PlanStep& made = part.steps[0];
  for (size_t i = 0; i < places.operands.size(); ++i)
    if (places.operands[i]) made.operands[i] = add(*places.operands[i], cut >> i & 1);
  made.result = add(places.result, cut != 0);
  return part;
}

/// A step on some rows of its result.
struct Part {
  Part(const Lowering& l, const PlanStep& of, const StepPlaces& places, uint32_t cut, int64_t begin,
       int64_t rows)
      : plan(rows_of(of, places, cut, rows)), step(plan, plan.steps[0], l.options.externs.get()),
        first(begin) {}
  Plan plan;
  RefStep step;
  int64_t first;
};

class ReferenceKernel final : public Kernel {
public:
  /// Refers to the kernels of `extern op`s. `cut` is the result of cut_operands();
  /// if it is 0, there is one thread.
  ReferenceKernel(const Lowering& l, const PlanStep& step, StepPlaces places, uint32_t cut,
                  const Threads& threads)
      : places_(std::move(places)), cut_(cut), threads_(threads) {
    int64_t rows = cut != 0 ? places_.result.shape[0] : 1;
    int64_t parts = std::min<int64_t>(threads.chunks(), rows);
    for (int64_t i = 0; i < parts; ++i) {
      int64_t first = rows * i / parts, end = rows * (i + 1) / parts;
      parts_.push_back(std::make_unique<Part>(l, step, places_, cut, first, end - first));
    }
  }

  int64_t scratch_bytes() const {
    int64_t bytes = 0;
    for (const auto& part : parts_) bytes += align_up(part->step.workspace_bytes());
    return bytes;
  }

  Result<void> bind(const Addresses& addresses) override {
    std::byte* scratch = addresses.scratch;
    for (auto& part : parts_) {
      bind(part->step, addresses, part->first, scratch);
      scratch += align_up(part->step.workspace_bytes());
    }
    return {};
  }

  dnnl_status_t run(dnnl_stream_t) override {
    parallel_parts(threads_, static_cast<int>(parts_.size()),
                   [&](int part) { parts_[static_cast<size_t>(part)]->step.run(); });
    return dnnl_success;
  }

private:
  static int64_t row_bytes(const Place& place) {
    return place.elements() / place.shape[0] * dtype_size(place.dtype);
  }

  void bind(RefStep& step, const Addresses& addresses, int64_t first, std::byte* scratch) {
    llvm::SmallVector<const std::byte*, 4> operands;
    for (size_t i = 0; i < places_.operands.size(); ++i) {
      const std::optional<Place>& place = places_.operands[i];
      operands.push_back(place ? addresses.bytes(*place) : nullptr);
      if (place && cut_ >> i & 1) operands.back() += first * row_bytes(*place);
    }
    std::byte* result = addresses.bytes(places_.result);
    if (cut_ != 0) result += first * row_bytes(places_.result);
    step.bind(operands, result, scratch);
  }

  std::vector<std::unique_ptr<Part>> parts_;
  StepPlaces places_;
  uint32_t cut_;
  Threads threads_;
};

/// Estimates the time at the speed of plain loops.
double reference_us(const Op& op) { return std::max(op.bytes / 4e3, op.flops / 1e3); }

} // namespace

Result<void> lower_reference(Lowering& l, const PlanStep& step) {
  StepPlaces places;
  for (PlanValueId id : step.operands) {
    places.operands.emplace_back();
    if (id == kNoValue) continue;
    TG_TRY(places.operands.back(), l.operand_plain(id));
  }
  places.result = l.new_result(step, contiguous_strides(l.type(step.result).shape));
  Op op = l.describe(step);
  op.implementation = "ref";
  for (const std::optional<Place>& place : places.operands)
    if (place) op.buffers.push_back(place->buffer);
  op.buffers.push_back(places.result.buffer);
  uint32_t cut = places.has_doubles() ? cut_operands(l.plan, step) : 0;
  if (cut != 0) op.threads = l.threads_for(reference_us(op));
  auto kernel = std::make_unique<ReferenceKernel>(l, step, std::move(places), cut, op.threads);
  op.scratch_bytes = kernel->scratch_bytes();
  op.kernel = std::move(kernel);
  l.add_op(step.phase, std::move(op));
  return {};
}

} // namespace tg::cpu
