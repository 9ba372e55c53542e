// Maps each operator to its shape rule, and makes the checks common to all.
// The rules are in shapes/.
#include "lang/core/shape_rules.h"

#include "lang/core/shapes/inference.h"

#include <algorithm>

namespace tg {

namespace {

using shapes::Inference;

constexpr bool (*kRules[])(Inference&) = {
#define TG_OP(...)
#define TG_SHAPE(shape, ...) shapes::shape,
#include "lang/core/ops.def"
};

/// Returns the table's dtypes in words.
const char* accepted_dtypes(const OpInfo& op) {
  if (op.has(Trait::Floating)) return "floats";
  return op.has(Trait::Logical) ? "bool" : "numbers";
}

/// Checks arity, absent operands, and one dtype that the operator accepts.
/// Shape rules with a condition or with indices check dtypes themselves.
bool check_operands(const Inference& in) {
  size_t want = in.info.operand_count, got = in.operands.size();
  if (in.info.variadic() ? got == 0 : got != want)
    return in.fail("{0} takes {1} operand{2}, got {3}", in.info.name, want, want == 1 ? "" : "s",
                   got);
  ShapeRule rule = in.info.shape;
  bool mixed = rule == ShapeRule::fused_map || rule == ShapeRule::extern_op;
  for (size_t i = 0; i < in.info.operand_count; ++i) mixed |= in.info.chooses(i);
  DType dtype = DType::None;
  for (size_t i = 0; i < got; ++i) {
    const TensorType& type = in.type(i);
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
bool check_size(const Inference& in) {
  bool may_be_empty = in.info.kind == OpKind::Input || in.info.kind == OpKind::Constant;
  if (in.result.rank() > kMaxRank)
    return in.fail("a rank of {0} exceeds the limit of {1}", in.result.rank(), kMaxRank);
  int64_t elements = 1;
  for (int64_t dim : in.result.shape) {
    if (dim < 0 || (dim == 0 && !may_be_empty))
      return in.fail("{0} has a dimension that is not positive", in.result.shape);
    if (dim > kMaxElements / elements) return in.fail("{0} has too many elements", in.result.shape);
    elements *= std::max<int64_t>(dim, 1);
  }
  return true;
}

} // namespace

bool infer(Symbols& symbols, OpKind op, llvm::SmallVectorImpl<ValueId>& attrs,
           llvm::ArrayRef<TypeId> operands, TypeId& result, std::string* why) {
  Inference in{symbols, op_info(op), attrs, operands, why, {}};
  if (!check_operands(in)) return false;
  if (attrs.size() != in.info.attr_count)
    return in.fail("{0} takes {1} attributes, got {2}", in.info.name, in.info.attr_count,
                   attrs.size());
  for (size_t slot = 0; slot < attrs.size(); ++slot)
    if (!shapes::normalise_attr(in, slot)) return false;
  if (!kRules[static_cast<size_t>(in.info.shape)](in) || !check_size(in)) return false;
  result = symbols.type(in.result);
  return true;
}

} // namespace tg
