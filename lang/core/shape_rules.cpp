// Which shape rule an operator has, and what is checked of all of them. The rules are in shapes/.
#include "lang/core/shape_rules.h"

#include "lang/core/shapes/inference.h"

#include <algorithm>

namespace tg {

namespace {

using shapes::Inference;

bool apply_rule(Inference& in) {
  using namespace shapes;
  switch (in.info.shape) {
  case ShapeRule::none: return true;
  case ShapeRule::leaf: return leaf(in);
  case ShapeRule::same:
  case ShapeRule::softmax: in.result = in.type(0); return true;
  case ShapeRule::broadcast: return broadcast(in);
  case ShapeRule::compare: return compare(in);
  case ShapeRule::select: return select(in);
  case ShapeRule::clip: return clip(in);
  case ShapeRule::cast: return cast(in);
  case ShapeRule::matmul: return matmul(in);
  case ShapeRule::attention: return attention(in);
  case ShapeRule::conv2d: return conv2d(in);
  case ShapeRule::winograd_weight: return winograd_weight(in);
  case ShapeRule::winograd_conv2d: return winograd_conv2d(in);
  case ShapeRule::conv_transpose2d: return conv_transpose2d(in);
  case ShapeRule::conv3d: return conv3d(in);
  case ShapeRule::pool2d: return pool2d(in);
  case ShapeRule::resize: return resize(in);
  case ShapeRule::batch_norm: return batch_norm(in);
  case ShapeRule::layer_norm: return layer_norm(in);
  case ShapeRule::reduce: return reduce(in);
  case ShapeRule::argmax: return argmax(in);
  case ShapeRule::top_k: return top_k(in);
  case ShapeRule::concat: return concat(in);
  case ShapeRule::split: return in.fail("split has no single result");
  case ShapeRule::slice: return slice(in);
  case ShapeRule::reshape: return reshape(in);
  case ShapeRule::transpose: return transpose(in);
  case ShapeRule::pad: return pad(in);
  case ShapeRule::enlarge: return enlarge(in);
  case ShapeRule::merge_gconv: return merge_gconv(in);
  case ShapeRule::gather: return gather(in);
  case ShapeRule::iota: return iota(in);
  case ShapeRule::broadcast_to: return broadcast_to(in);
  case ShapeRule::scatter: return scatter(in);
  case ShapeRule::non_max_suppression: return non_max_suppression(in);
  case ShapeRule::fused_map: return fused_map(in);
  case ShapeRule::extern_op: return extern_op(in);
  }
  return false;
}

/// What the table says of dtypes, in words.
const char* dtypes_taken(const OpInfo& op) {
  if (op.has(Trait::Floating)) return "floats";
  return op.has(Trait::Logical) ? "bool" : "numbers";
}

/// Arity, absent operands, one dtype that the operator takes. Shape rules with a condition or with
/// indices look at dtypes themselves.
bool check_operands(const Inference& in) {
  size_t want = in.info.operand_count, got = in.operands.size();
  if (in.info.variadic() ? got == 0 : got != want)
    return in.fail("{0} takes {1} operands, got {2}", in.info.name, want, got);
  ShapeRule rule = in.info.shape;
  bool mixed = rule == ShapeRule::select || rule == ShapeRule::gather ||
               rule == ShapeRule::scatter || rule == ShapeRule::fused_map ||
               rule == ShapeRule::extern_op || rule == ShapeRule::attention;
  DType dtype = DType::None;
  for (size_t i = 0; i < got; ++i) {
    const TensorType& type = in.type(i);
    bool optional = !in.info.variadic() && in.info.operands()[i].optional;
    if (type.is_none()) {
      if (!optional) return in.fail("operand {0} of {1} is missing", i + 1, in.info.name);
      continue;
    }
    if (llvm::is_contained(type.shape, 0))
      return in.fail("{0} takes no tensor without elements, got {1}", in.info.name, type);
    if (mixed) continue;
    if (dtype == DType::None) dtype = type.dtype;
    if (type.dtype != dtype)
      return in.fail("dtypes differ: {0} and {1}", dtype_name(dtype), dtype_name(type.dtype));
    if (!dtype_fits(in.info, dtype))
      return in.fail("{0} takes {1}, got {2}", in.info.name, dtypes_taken(in.info), type);
  }
  return true;
}

/// Every dimension positive, and no more elements than any size computation can hold. What only
/// goes in or out may have no elements; no operator takes or gives that.
bool check_size(const Inference& in) {
  bool may_be_empty = in.info.kind == OpKind::Input || in.info.kind == OpKind::Constant;
  if (in.result.rank() > kMaxRank)
    return in.fail("a rank of {0} is over the limit of {1}", in.result.rank(), kMaxRank);
  int64_t elements = 1;
  for (int64_t dim : in.result.shape) {
    if (dim < 0 || (dim == 0 && !may_be_empty))
      return in.fail("a dimension of {0} is not positive", in.result.shape);
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
    return in.fail("{0} has {1} attributes, got {2}", in.info.name, in.info.attr_count,
                   attrs.size());
  for (size_t slot = 0; slot < attrs.size(); ++slot)
    if (!shapes::normalise_attr(in, slot)) return false;
  if (!apply_rule(in) || !check_size(in)) return false;
  result = symbols.type(in.result);
  return true;
}

} // namespace tg
