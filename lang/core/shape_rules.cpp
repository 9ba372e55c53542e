// Maps each operator to its shape rule, makes the checks common to all, and instantiates the rules
// for numbers and for open sizes. The rules are in shapes/.
#include "lang/core/shape_rules.h"

#include "lang/core/shapes/attributes.h"
#include "lang/core/shapes/layout.h"
#include "lang/core/shapes/pointwise.h"
#include "lang/core/shapes/products.h"
#include "lang/core/shapes/reductions.h"
#include "lang/core/shapes/resize.h"
#include "lang/core/shapes/window.h"
#include "lang/core/sizes/open_infer.h"

#include <algorithm>

namespace tg {

namespace {

using shapes::ClosedForm;
using shapes::Inference;
using shapes::OpenForm;

template <class In>
constexpr bool (*kRules[])(In&) = {
#define TG_OP(...)
#define TG_SHAPE(shape, ...) shapes::shape<In>,
#include "lang/core/ops.def"
};

/// Returns the table's dtypes in words.
const char* accepted_dtypes(const OpInfo& op) {
  if (op.has(Trait::Floating)) return "floats";
  return op.has(Trait::Logical) ? "bool" : "numbers";
}

/// Checks arity, absent operands, and one dtype that the operator accepts.
/// Shape rules with a condition or with indices check dtypes themselves.
template <class In> bool check_operands(const In& in) {
  size_t want = in.info.operand_count, got = in.operands.size();
  if (in.info.variadic() ? got == 0 : got != want)
    return in.fail("{0} takes {1} operand{2}, got {3}", in.info.name, want, want == 1 ? "" : "s",
                   got);
  ShapeRule rule = in.info.shape;
  bool mixed = rule == ShapeRule::fused_map || rule == ShapeRule::extern_op;
  for (size_t i = 0; i < in.info.operand_count; ++i) mixed |= in.info.chooses(i);
  DType dtype = DType::None;
  for (size_t i = 0; i < got; ++i) {
    const auto& type = in.type(i);
    bool optional = !in.info.variadic() && in.info.operands()[i].optional;
    if (type.is_none()) {
      if (!optional) return in.fail("operand {0} of {1} is missing", i + 1, in.info.name);
      continue;
    }
    if (llvm::is_contained(type.shape, 0))
      return in.fail("{0} requires tensors with elements, got {1}", in.info.name, type);
    if (mixed) continue;
    if (dtype == DType::None) dtype = type.dtype;
    if (type.dtype != dtype)
      return in.fail("dtypes differ: {0} and {1}", dtype_name(dtype), dtype_name(type.dtype));
    if (!dtype_fits(in.info, dtype))
      return in.fail("{0} takes {1}, got {2}", in.info.name, accepted_dtypes(in.info), type);
  }
  return true;
}

/// Requires that every dimension is positive, and that sizes do not overflow.
/// Inputs and constants may have no elements; no operator takes or returns such a tensor.
template <class In> bool check_size(const In& in) {
  bool may_be_empty = in.info.kind == OpKind::Input || in.info.kind == OpKind::Constant;
  if (in.result.rank() > kMaxRank)
    return in.fail("a rank of {0} exceeds the limit of {1}", in.result.rank(), kMaxRank);
  typename In::Int elements = 1;
  for (const auto& dim : in.result.shape) {
    if (dim < 0 || (!may_be_empty && dim == 0))
      return in.fail("{0} has a dimension that is not positive", in.result.shape);
    if (product_exceeds(elements, dim, kMaxElements))
      return in.fail("{0} has too many elements", in.result.shape);
    if (dim != 0) elements *= dim;
  }
  return true;
}

/// Everything but the interning of the result.
template <class In> bool apply_rule(In& in) {
  if (!check_operands(in)) return false;
  if (in.attrs.size() != in.info.attr_count)
    return in.fail("{0} takes {1} attributes, got {2}", in.info.name, in.info.attr_count,
                   in.attrs.size());
  for (size_t slot = 0; slot < in.attrs.size(); ++slot)
    if (!shapes::normalise_attr(in, slot)) return false;
  return kRules<In>[static_cast<size_t>(in.info.shape)](in) && check_size(in);
}

std::optional<Window> window_of(const std::optional<shapes::WindowOf<int64_t>>& w) {
  return w ? std::optional(Window{w->out, w->before, w->after}) : std::nullopt;
}

} // namespace

bool infer(Symbols& symbols, OpKind op, llvm::SmallVectorImpl<ValueId>& attrs,
           llvm::ArrayRef<TypeId> operands, TypeId& result, std::string* why) {
  Inference<ClosedForm> in({symbols, attrs, operands}, op_info(op), why);
  if (!apply_rule(in)) return false;
  result = symbols.type(in.result);
  return true;
}

bool infer_open(OpKind op, llvm::SmallVectorImpl<OpenValue>& attrs,
                llvm::ArrayRef<OpenType> operands, OpenType& result, std::string& why) {
  Inference<OpenForm> in({attrs, operands}, op_info(op), &why);
  if (!apply_rule(in)) return false;
  result = std::move(in.result);
  return true;
}

bool broadcast_shapes(llvm::ArrayRef<int64_t> a, llvm::ArrayRef<int64_t> b, Shape& out) {
  return shapes::broadcast_together(a, b, out);
}

std::optional<Window> window(int64_t size, int64_t kernel, int64_t stride, int64_t dilation,
                             const Value& pad, int axis) {
  return window_of(shapes::fit_window(size, kernel, stride, dilation, pad, axis));
}

std::optional<Window> window(int64_t size, int64_t kernel, int64_t stride, int64_t dilation,
                             int64_t before, int64_t after) {
  return window_of(shapes::fit_window(size, kernel, stride, dilation, before, after));
}

std::optional<Window> transposed_window(int64_t size, int64_t kernel, int64_t stride,
                                        int64_t dilation, const Value& pad, int64_t extra,
                                        int axis) {
  return window_of(shapes::fit_transposed(size, kernel, stride, dilation, pad, extra, axis));
}

} // namespace tg
