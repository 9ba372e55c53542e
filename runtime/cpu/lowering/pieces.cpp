// Operators that only move elements: views, concat, pad, and the rearrangements
// of convolution kernels (which run at load).
#include "runtime/cpu/lowering/lowering.h"

#include <cassert>

namespace tg::cpu {

bool is_always_view(OpKind op) { return op_info(op).has(Trait::Strided); }

namespace {

/// Windows that overlap share their elements.
Place windows(const Place& p, const PlanStep& step) {
  Place out = p;
  auto axis = static_cast<size_t>(attr(step, "axis").number);
  int64_t size = attr(step, "size").number, stride = p.strides[axis];
  int64_t span = attr(step, "dilation").number * (size - 1);
  out.shape[axis] = (p.shape[axis] - span - 1) / attr(step, "step").number + 1;
  out.strides[axis] = stride * attr(step, "step").number;
  out.shape.insert(out.shape.begin() + static_cast<std::ptrdiff_t>(axis) + 1, size);
  out.strides.insert(out.strides.begin() + static_cast<std::ptrdiff_t>(axis) + 1,
                     stride * attr(step, "dilation").number);
  return out;
}

/// Copies a reshape that is not a view and whose result is an image (shuffled channels) to
/// channels-last, the layout of its readers. Returns nothing for other reshapes.
Result<std::optional<Place>> copied_as_image(Lowering& l, const PlanStep& step) {
  const TensorType& type = l.type(step.result);
  if (type.rank() != 4 || l.plan.values[step.result].is_output || !l.needs_image(step.result))
    return std::optional<Place>();
  Place image{kNoBuffer, 0, type.shape, nhwc_strides(type.shape), type.dtype};
  std::optional<Place> before = reshape(image, l.type(step.operands[0]).shape);
  if (!before) return std::optional<Place>();
  TG_TRY(Place copy, l.operand_as(step.operands[0], before->strides));
  return reshape(copy, type.shape);
}

/// Returns true if images are flattened to rows that only a layer_norm reads,
/// whose result becomes images again, and whose scale and bias are one number each.
/// Such a layer_norm does not depend on the order of elements in a row.
bool is_normalised_whole(const Lowering& l, const PlanStep& flatten) {
  if (flatten.op != OpKind::Reshape) return false;
  const Shape &image = l.type(flatten.operands[0]).shape, &rows = l.type(flatten.result).shape;
  if (image.size() != 4 || rows.empty() || rows.back() != image[1] * image[2] * image[3])
    return false;
  const PlanStep* norm = only_reader(l, flatten.result);
  if (!norm || norm->op != OpKind::LayerNorm) return false;
  for (const char* name : {"scale", "bias"}) {
    const PlanValue& factor = l.plan.values[operand(*norm, name)];
    if (factor.kind != PlanValue::Kind::Constant || factor.constant.size() != 1) return false;
  }
  const PlanStep* back = only_reader(l, norm->result);
  return back && back->op == OpKind::Reshape && l.type(back->result).shape == image;
}

bool is_channels_last(const Place& image) { return is_nhwc(image) && !is_plain(image); }

/// Returns the rows of channels-last images, in memory order.
std::optional<Place> rows_in_memory_order(const Lowering& l, const PlanStep& flatten) {
  const Place& x = l.place(flatten.operands[0]);
  if (!is_channels_last(x) || !is_normalised_whole(l, flatten)) return std::nullopt;
  const Shape& shape = l.type(flatten.result).shape;
  return Place{x.buffer, x.offset, shape, contiguous_strides(shape), x.dtype};
}

/// The inverse of rows_in_memory_order().
std::optional<Place> image_from_rows(const Lowering& l, const PlanStep& back) {
  auto maker = [&](PlanValueId value) -> const PlanStep* {
    const PlanValue& v = l.plan.values[value];
    return v.kind == PlanValue::Kind::Temporary ? &l.plan.steps[v.defined_by] : nullptr;
  };
  const PlanStep* norm = maker(back.operands[0]);
  if (!norm || norm->op != OpKind::LayerNorm) return std::nullopt;
  const PlanStep* flatten = maker(operand(*norm, "x"));
  if (!flatten || !rows_in_memory_order(l, *flatten)) return std::nullopt;
  const Place& rows = l.place(back.operands[0]);
  assert(is_plain(rows) && "a value that only a reshape reads has a plain layout");
  const Shape& shape = l.type(back.result).shape;
  return Place{rows.buffer, rows.offset, shape, nhwc_strides(shape), rows.dtype};
}

} // namespace

Result<void> lower_view(Lowering& l, const PlanStep& step) {
  const Place x = l.place(step.operands[0]);
  switch (step.op) {
  case OpKind::Slice:
    l.set_view(step, slice(x, attr(step, "axis").number, attr(step, "start").number,
                           attr(step, "stop").number));
    return {};
  case OpKind::Windows: l.set_view(step, windows(x, step)); return {};
  case OpKind::Transpose: l.set_view(step, transpose(x, attr(step, "perm").ints)); return {};
  case OpKind::Reshape: {
    const Shape& shape = l.type(step.result).shape;
    std::optional<Place> view = rows_in_memory_order(l, step);
    if (!view) view = image_from_rows(l, step);
    if (!view) view = reshape(x, shape);
    if (!view) {
      TG_TRY(view, copied_as_image(l, step));
    }
    if (!view) {
      TG_TRY(Place plain, l.operand_plain(step.operands[0]));
      view = reshape(plain, shape);
    }
    l.set_view(step, *view);
    return {};
  }
  case OpKind::Broadcast: l.set_view(step, broadcast(x, l.type(step.result).shape)); return {};
  case OpKind::Identity: l.set_view(step, x); return {};
  default: return error(Code::internal, "`{0}` has no view", op_info(step.op).name);
  }
}

Result<void> lower_concat(Lowering& l, const PlanStep& step) {
  auto axis = attr(step, "axis").number;
  Place whole = l.place(step.result);
  if (whole.buffer == kNoBuffer) {
    Shape strides = l.preferred_strides(step.result);
    for (PlanValueId piece : step.operands)
      if (is_nhwc(l.place(piece)) && !is_plain(l.place(piece)))
        strides = nhwc_strides(l.type(step.result).shape);
    whole = l.new_result(step, strides, true);
  }
  int64_t start = 0;
  bool copied = false;
  for (PlanValueId piece : step.operands) {
    int64_t size = l.type(piece).shape[static_cast<size_t>(axis)];
    Place cut = slice(whole, axis, start, start + size);
    start += size;
    const Place from = l.place(piece);
    if (from.buffer == cut.buffer && from.offset == cut.offset) continue; // written in place
    TG_CHECK(l.add_copy(from, cut, step.phase, l.id(step), "concat"));
    copied = true;
  }
  if (copied) return {};
  Op op = l.describe(step);
  op.implementation = "in place";
  op.flops = op.bytes = 0;
  l.add_op(step.phase, std::move(op));
  return {};
}

namespace {

/// Sets the whole result to `value`, as the first op of the step.
Place filled_result(Lowering& l, const PlanStep& step, llvm::ArrayRef<int64_t> strides,
                    const Value& value) {
  Place whole = l.new_result(step, strides);
  Op op = l.describe(step);
  op.bytes = static_cast<double>(l.type(step.result).bytes());
  op.flops = 0;
  set_fill_kernel(op, whole, value, l.threads_for(copy_us(op.bytes)));
  l.add_op(step.phase, std::move(op));
  return whole;
}

} // namespace

Result<void> lower_pad(Lowering& l, const PlanStep& step) {
  const Place x = l.place(step.operands[0]);
  const Shape& shape = l.type(step.result).shape;
  Shape strides = is_nhwc(x) ? nhwc_strides(shape) : contiguous_strides(shape);
  Place inside = filled_result(l, step, strides, attr(step, "value"));
  for (size_t i = 0; i < shape.size(); ++i) {
    int64_t before = attr(step, "before").ints[i];
    inside = slice(inside, static_cast<int64_t>(i), before, before + x.shape[i]);
  }
  return l.add_copy(x, inside, step.phase, l.id(step), "pad");
}

Result<void> lower_enlarge(Lowering& l, const PlanStep& step) {
  const Place w = l.place(step.operands[0]);
  const Shape& shape = l.type(step.result).shape;
  Place inside = filled_result(l, step, contiguous_strides(shape), Value::of_float(0));
  for (size_t i = 2; i < 4; ++i) {
    int64_t before = (shape[i] - w.shape[i]) / 2;
    inside = slice(inside, static_cast<int64_t>(i), before, before + w.shape[i]);
  }
  return l.add_copy(w, inside, step.phase, l.id(step), "enlarge");
}

Result<void> lower_merge_gconv(Lowering& l, const PlanStep& step) {
  const Place w = l.place(step.operands[0]);
  int64_t count = attr(step, "count").number, groups = attr(step, "groups").number;
  int64_t rows = w.shape[0] / groups, inputs = w.shape[1];
  Place whole =
      filled_result(l, step, contiguous_strides(l.type(step.result).shape), Value::of_float(0));
  for (int64_t g = 0; g < groups; ++g) {
    int64_t first = (g % count) * inputs;
    Place from = slice(w, 0, g * rows, (g + 1) * rows);
    Place to = slice(slice(whole, 0, g * rows, (g + 1) * rows), 1, first, first + inputs);
    TG_CHECK(l.add_copy(from, to, step.phase, l.id(step), "merge_gconv"));
  }
  return {};
}

} // namespace tg::cpu
