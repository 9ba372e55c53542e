#include "compiler/rules/compile/draft.h"

#include <llvm/ADT/STLExtras.h>

namespace tg {

namespace {

using Kind = ValueExpr::Kind;

/// The operands without which there is no result.
llvm::SmallVector<TermId, 4> required_operands(const Term& term) {
  const OpInfo& info = op_info(term.op);
  llvm::SmallVector<TermId, 4> required;
  for (size_t i = 0; i < term.operands.size(); ++i)
    if (info.variadic() || !info.operands()[i].optional) required.push_back(term.operands[i]);
  return required;
}

} // namespace

bool keeps_shape(ShapeRule rule) { return shape_info(rule).result == ResultShape::as_x; }

std::optional<ExprIndex> TermTypes::highest_rank(llvm::ArrayRef<TermId> operands) {
  llvm::SmallVector<TermId, 4> copy(operands.begin(), operands.end());
  std::optional<ExprIndex> most;
  for (TermId operand : copy) {
    std::optional<ExprIndex> rank = this->rank(operand);
    if (!rank) return std::nullopt;
    most = most ? exprs_.op(Kind::Max, {*most, *rank}) : *rank;
  }
  return most;
}

std::optional<ExprIndex> TermTypes::rank(TermId id) {
  const Term& term = rule_.terms[id];
  if (term.kind == Term::Kind::ClassVar) return exprs_.of_class(Kind::Rank, term.variable);
  if (term.kind != Term::Kind::Op) return std::nullopt;
  switch (op_info(term.op).shape_row().result) {
  case ResultShape::as_x:
  case ResultShape::rank_of_x: return rank(term.operands[0]);
  case ResultShape::widest: return highest_rank(required_operands(term));
  case ResultShape::reduced: { // with keepdims; without, it depends on how many axes go
    const TermAttr& keep = term.attrs[1];
    bool kept = keep.kind == TermAttr::Kind::Literal && keep.literal.number != 0;
    return kept ? rank(term.operands[0]) : std::nullopt;
  }
  case ResultShape::listed: return exprs_.op(Kind::Len, {exprs_.of(term.attrs[0])});
  case ResultShape::rank2: return exprs_.integer(2);
  case ResultShape::rank3: return exprs_.integer(3);
  case ResultShape::rank4: return exprs_.integer(4);
  case ResultShape::rank5: return exprs_.integer(5);
  case ResultShape::unknown: break;
  }
  return term.op == OpKind::Constant ? constant_rank(term) : std::nullopt;
}

std::optional<ExprIndex> TermTypes::constant_rank(const Term& constant) {
  const TermAttr& type = constant.attrs[1];
  if (type.kind == TermAttr::Kind::Literal) return exprs_.integer(type.literal.as_type().rank());
  if (type.kind == TermAttr::Kind::Variable) return exprs_.integer(0); // of a pattern
  return exprs_.op(Kind::Len, {rule_.exprs[type.expr].operands[0]});
}

std::optional<ExprIndex> TermTypes::shape(TermId id) {
  const Term& term = rule_.terms[id];
  if (term.kind == Term::Kind::ClassVar) return exprs_.of_class(Kind::ShapeOf, term.variable);
  if (term.kind != Term::Kind::Op) return std::nullopt;
  ShapeRule rule = op_info(term.op).shape;
  if (keeps_shape(rule)) return shape(term.operands[0]);
  switch (rule) {
  case ShapeRule::broadcast:
  case ShapeRule::compare: // next to a number, the other operand decides
    if (is_number(term.operands[0])) return shape(term.operands[1]);
    if (is_number(term.operands[1])) return shape(term.operands[0]);
    return std::nullopt;
  case ShapeRule::slice: return slice_shape(term);
  case ShapeRule::reshape: {
    ExprIndex to = exprs_.of(term.attrs[0]);
    return is_open(to) ? std::nullopt : std::optional(to);
  }
  case ShapeRule::broadcast_to: return exprs_.of(term.attrs[0]);
  default: return std::nullopt;
  }
}

/// Returns true for a constant of rank 0; on the left its type is a variable
/// (RuleDraft::set_number_dtypes).
bool TermTypes::is_number(TermId id) const {
  const Term& term = rule_.terms[id];
  if (term.kind != Term::Kind::Op || term.op != OpKind::Constant) return false;
  const TermAttr& type = term.attrs[1];
  if (type.kind == TermAttr::Kind::Literal) return type.literal.as_type().rank() == 0;
  if (type.kind == TermAttr::Kind::Variable) return true;
  const ValueExpr& shape = rule_.exprs[rule_.exprs[type.expr].operands[0]];
  return shape.kind == Kind::List && shape.operands.empty();
}

/// Returns true if the list of a reshape may have a -1, which stands for the remaining elements.
bool TermTypes::is_open(ExprIndex list) const {
  const ValueExpr& e = rule_.exprs[list];
  auto negative = [](int64_t n) { return n < 0; };
  if (e.kind == Kind::Literal) return llvm::any_of(e.literal.ints, negative);
  if (e.kind == Kind::Add)
    return llvm::any_of(e.operands, [&](ExprIndex part) { return is_open(part); });
  return e.kind == Kind::List && llvm::any_of(e.operands, [&](ExprIndex item) {
           return negative(exprs_.folded_int(item).value_or(0));
         });
}

std::optional<ExprIndex> TermTypes::slice_shape(const Term& slice) {
  TermAttr places[] = {slice.attrs[0], slice.attrs[1], slice.attrs[2]}; // the terms may move
  std::optional<ExprIndex> whole = shape(slice.operands[0]);
  if (!whole) return std::nullopt;
  ExprIndex axis = exprs_.of(places[0]), start = exprs_.of(places[1]), stop = exprs_.of(places[2]);
  ExprIndex size = exprs_.op(Kind::Len, {*whole});
  if (exprs_.folded_int(axis).value_or(0) < 0) axis = exprs_.plus(size, axis);
  for (ExprIndex bound : {start, stop})
    if (exprs_.folded_int(bound).value_or(0) < 0) return std::nullopt;
  ExprIndex piece = exprs_.op(Kind::List, {exprs_.minus(stop, start)});
  ExprIndex behind = exprs_.part(*whole, exprs_.plus(axis, exprs_.integer(1)), size);
  ExprIndex rest = exprs_.op(Kind::Add, {piece, behind});
  if (exprs_.folded_int(axis) == 0) return rest;
  return exprs_.op(Kind::Add, {exprs_.part(*whole, exprs_.integer(0), axis), rest});
}

std::optional<uint32_t> TermTypes::dtype_like(TermId id) const {
  const Term& term = rule_.terms[id];
  if (term.kind == Term::Kind::ClassVar) return term.variable;
  if (term.kind != Term::Kind::Op) return std::nullopt;
  if (term.op == OpKind::Constant) {
    bool like = term.attrs[1].kind == TermAttr::Kind::Computed &&
                rule_.exprs[term.attrs[1].expr].kind == Kind::TypeLike;
    return like ? std::optional(rule_.exprs[term.attrs[1].expr].variable) : std::nullopt;
  }
  const OpInfo& info = op_info(term.op);
  if (info.shape_row().dtype != ResultDType::alike) return std::nullopt;
  bool first_alone = false; // beside an operand that chooses
  for (size_t i = 0; i < info.operand_count; ++i) first_alone |= info.chooses(i);
  for (size_t i = 0; i < term.operands.size(); ++i) {
    if (info.chooses(i)) continue;
    std::optional<uint32_t> like = dtype_like(term.operands[i]);
    if (like || first_alone) return like;
  }
  return std::nullopt;
}

} // namespace tg
