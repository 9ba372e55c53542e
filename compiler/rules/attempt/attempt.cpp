#include "compiler/rules/attempt/attempt.h"

namespace tg {

RuleInstance& RuleAttempt::emptied(RuleInstance& instance, const Rule& rule) {
  instance.types.assign(rule.class_vars, TypeId{});
  instance.literals.resize(rule.class_vars);
  instance.values.assign(rule.value_vars, ValueId{});
  return instance;
}

RuleAttempt::RuleAttempt(Symbols& symbols, const Rule& rule, llvm::ArrayRef<DType> dtypes,
                         std::mt19937_64& rng, RuleInstance& instance, std::string& why)
    : symbols_(symbols), rule_(rule), in_(emptied(instance, rule)), draws_(rule, rng),
      hints_(symbols, rule, instance),
      terms_(symbols, rule, dtypes, hints_, draws_, *this, instance, why),
      products_(terms_, hints_, draws_), choices_(terms_, hints_, draws_),
      shapes_(terms_, hints_, draws_) {
  for (uint32_t v = 0; v < rule.class_vars; ++v) {
    bool constant = hints_.constant(v).value_or(draws_.chance(10));
    in_.constants.push_back(constant);
    in_.weights.push_back(hints_.weight(v).value_or(constant || draws_.chance(30)));
  }
}

bool RuleAttempt::run() {
  for (TermId root : rule_.lhs)
    if (!terms_.make(root, nullptr)) return false;
  for (uint32_t v = 0; v < rule_.class_vars; ++v)
    if (in_.constants[v] && in_.types[v] != TypeId{} && !symbols_.type(in_.types[v]).is_none())
      in_.literals[v] = draws_.any_literal(symbols_.type(in_.types[v]));
  return true;
}

bool RuleAttempt::make_op(TermId id, const Shape* want) {
  const Term& term = rule_.terms[id];
  switch (op_info(term.op).shape) {
  case ShapeRule::none: return terms_.make_none(id);
  case ShapeRule::leaf: return terms_.make_number(id);
  case ShapeRule::clip: return choices_.make_clip(id, want);
  case ShapeRule::cast: return choices_.make_cast(id, want);
  case ShapeRule::same:
    if (op_info(term.op).attr_count == 1)
      return shapes_.make_softmax(id, want); // along an axis, too
    return terms_.make(term.operands[0], want) && terms_.finish(id, {});
  case ShapeRule::broadcast:
  case ShapeRule::compare: return shapes_.make_broadcast(id, want);
  case ShapeRule::matmul: return products_.make_matmul(id, want);
  case ShapeRule::attention: return products_.make_attention(id, want);
  case ShapeRule::conv2d: return products_.make_conv2d(id, want);
  case ShapeRule::winograd_weight: return products_.make_winograd_weight(id, want);
  case ShapeRule::winograd_conv2d: return products_.make_winograd_conv2d(id, want);
  case ShapeRule::conv_transpose2d: return products_.make_conv_transpose2d(id, want);
  case ShapeRule::conv3d: return products_.make_conv3d(id, want);
  case ShapeRule::pool2d: return products_.make_pool(id, want);
  case ShapeRule::resize: return shapes_.make_resize(id, want);
  case ShapeRule::softmax: return shapes_.make_softmax(id, want);
  case ShapeRule::batch_norm: return shapes_.make_norm(id, want, 2);
  case ShapeRule::layer_norm: return shapes_.make_norm(id, want, 1);
  case ShapeRule::reduce: return shapes_.make_reduce(id, want);
  case ShapeRule::concat: return shapes_.make_concat(id, want);
  case ShapeRule::slice: return shapes_.make_slice(id, want);
  case ShapeRule::reshape: return shapes_.make_reshape(id, want);
  case ShapeRule::transpose: return shapes_.make_transpose(id, want);
  case ShapeRule::pad: return shapes_.make_pad(id, want);
  case ShapeRule::enlarge: return shapes_.make_enlarge(id, want);
  case ShapeRule::merge_gconv: return shapes_.make_merge(id, want);
  case ShapeRule::fused_map: return shapes_.make_fused(id, want);
  case ShapeRule::extern_op: return choices_.make_extern(id, want);
  case ShapeRule::select: return choices_.make_select(id, want);
  case ShapeRule::argmax: return choices_.make_argmax(id, want);
  case ShapeRule::gather: return choices_.make_gather(id, want);
  case ShapeRule::iota: return choices_.make_iota(id, want);
  case ShapeRule::top_k: return choices_.make_top_k(id, want);
  case ShapeRule::scatter: return choices_.make_scatter(id, want);
  case ShapeRule::non_max_suppression: return choices_.make_suppression(id, want);
  case ShapeRule::broadcast_to: return shapes_.make_broadcast_to(id, want);
  case ShapeRule::split: return false;
  }
  return false;
}

} // namespace tg
