#include "compiler/rules/compile/right.h"

#include <llvm/ADT/STLExtras.h>

namespace tg {

namespace {

using Kind = ValueExpr::Kind;

constexpr uint32_t kMaxParts = 64; // of a split

bool is_fill(llvm::StringRef name) { return name == "zeros" || name == "ones" || name == "full"; }

} // namespace

bool RightSide::lower(ast::List<ast::ExprId> sides) {
  Terms results;
  for (ast::ExprId side : tree_[sides])
    if (!tensors(side, results)) return false;
  draft_.rule().rhs.assign(results.begin(), results.end());
  return true;
}

bool RightSide::tensors(ast::ExprId id, Terms& out) {
  RuleDraft::Depth depth(draft_);
  const ast::Expr& e = tree_[id];
  if (draft_.too_large(e.span)) return false;
  if (e.kind == ast::ExprKind::Error) return errors_.give_up(), false;
  if (e.kind == ast::ExprKind::Tuple) {
    for (ast::ExprId item : tree_[e.items])
      if (!tensors(item, out)) return false;
    return true;
  }
  if (e.kind == ast::ExprKind::Name && names_.is_tensor(id)) return name(id, out);
  std::optional<TermId> term;
  if (!names_.is_tensor(id)) {
    term = number(id);
  } else if (e.kind == ast::ExprKind::Call && is_fill(e.callee.text)) {
    term = filled(id);
  } else if (e.kind == ast::ExprKind::Index) {
    term = places_.index(id);
  } else if (e.op == ast::Op::FloorDiv) {
    term = places_.floor_division(id);
  } else {
    std::optional<RuleCall> read = calls_.read(id);
    if (!read) return false;
    if (read->op == OpKind::Split) return split(*read, out);
    term = call(*read);
  }
  if (term) out.push_back(*term);
  return term.has_value();
}

std::optional<TermId> RightSide::tensor(ast::ExprId id) {
  Terms terms;
  if (!tensors(id, terms)) return std::nullopt;
  if (terms.size() == 1) return terms[0];
  return errors_.fail(
      error(Code::rule_arity, tree_[id].span, "expected one tensor, got {0}", terms.size()));
}

bool RightSide::name(ast::ExprId id, Terms& out) {
  const ast::Expr& e = tree_[id];
  RuleNames::Meaning* named = names_.find(e);
  if (!named && e.text == "none") {
    out.push_back(draft_.none_term());
    return true;
  }
  if (!named || named->kind != RuleNames::Meaning::Kind::Let) {
    RuleNames::Meaning* meaning = names_.tensor(id);
    if (!meaning) return false;
    out.push_back(draft_.class_term(meaning->number));
    return true;
  }
  named->used = e.span;
  auto cached = lets_.find(named->let.index);
  Terms terms;
  if (cached != lets_.end()) {
    terms = cached->second;
  } else {
    RuleNames::LetScope guard(names_, *named);
    if (!tensors(named->let, terms)) return false;
    lets_[named->let.index] = terms;
  }
  if (named->part < 0) {
    out.append(terms);
    return true;
  }
  if (static_cast<size_t>(named->part) >= terms.size()) {
    errors_.fail(error(Code::rule_arity, named->declared, "there is no result for `{0}`, only {1}",
                       e.text, terms.size()));
    return false;
  }
  out.push_back(terms[static_cast<size_t>(named->part)]);
  return true;
}

/// Lowers a number as a tensor: a scalar with the dtype of the rule's tensors.
std::optional<TermId> RightSide::number(ast::ExprId id) {
  std::optional<ExprIndex> number = values_.value(id);
  if (!number) return std::nullopt;
  return draft_.constant(draft_.floats(*number));
}

/// Lowers `zeros([2, n])`, `ones(shape)` and `full(shape, value)` on the right side.
std::optional<TermId> RightSide::filled(ast::ExprId id) {
  const ast::Expr& e = tree_[id];
  llvm::ArrayRef<ast::Arg> args = tree_[e.args];
  size_t wanted = e.callee.text == "full" ? 2 : 1;
  if (args.size() != wanted || !draft_.can_fill())
    return errors_.fail(
        error(args.size() > wanted ? Code::too_many_arguments : Code::missing_argument, e.span,
              "`{0}` takes {1}", e.callee.text, wanted == 1 ? "a shape" : "a shape and a number"));
  std::optional<ExprIndex> shape = values_.value(args[0].value);
  if (!shape) return std::nullopt;
  std::optional<ExprIndex> number;
  if (wanted == 2)
    number = values_.value(args[1].value);
  else
    number = exprs_.literal(Value::of_int(e.callee.text == "ones"));
  if (!number) return std::nullopt;
  return draft_.filled(*number, *shape);
}

std::optional<TermId> RightSide::call(const RuleCall& call) {
  const OpInfo& info = op_info(call.op);
  Term term = Term::of(call.op, {});
  for (ast::ExprId operand : call.operands) {
    std::optional<TermId> at = tensor(operand);
    if (!at) return std::nullopt;
    term.operands.push_back(*at);
  }
  if (call.rest && !rest_.has(call.op))
    return errors_.fail(error(
        Code::rule_pattern, tree_[call.expr].span,
        "`..` has no attributes to carry over: the other side has no `{0}(.., ..)`", info.name));
  for (size_t i = term.operands.size(); i < info.operand_count && !info.variadic(); ++i) {
    std::optional<TermId> at = optional_operand(call, i);
    if (!at) return std::nullopt;
    term.operands.push_back(*at);
  }
  draft_.set_number_dtypes(term);
  for (size_t slot = 0; slot < info.attr_count; ++slot) {
    std::optional<TermAttr> made = attr(call, slot, term.operands);
    if (!made) return std::nullopt;
    term.attrs.push_back(std::move(*made));
  }
  return draft_.add(std::move(term));
}

std::optional<TermId> RightSide::optional_operand(const RuleCall& call, size_t index) {
  if (call.optional[index].valid()) return tensor(call.optional[index]);
  std::optional<uint32_t> carried = call.rest ? rest_.operand(call.op, index) : std::nullopt;
  return carried ? draft_.class_term(*carried) : draft_.none_term();
}

std::optional<TermAttr> RightSide::attr(const RuleCall& call, size_t slot,
                                        llvm::ArrayRef<TermId> operands) {
  const AttrInfo& info = op_info(call.op).attrs()[slot];
  ast::ExprId given = call.attrs[slot];
  if (!given.valid()) {
    std::optional<uint32_t> carried = call.rest ? rest_.slot(call.op, slot) : std::nullopt;
    if (carried) return TermAttr::of_variable(*carried);
    if (call.op == OpKind::Transpose) {
      std::optional<ExprIndex> perm = draft_.last_two_swapped(operands[0], tree_[call.expr].span);
      return perm ? std::optional(draft_.folded(*perm)) : std::nullopt;
    }
    if (!info.required) return TermAttr::of(default_value(info));
    return calls_.lacks_attribute(call, info);
  }
  std::optional<ExprIndex> at = values_.value(given, info.kind);
  if (!at) return std::nullopt;
  if (std::optional<Value> v = exprs_.folded(*at)) {
    if (std::optional<Value> normal = normal_form(info.kind, *v)) return TermAttr::of(*normal);
    return calls_.bad_attribute(call, info, tree_[given].span, *v);
  }
  return draft_.computed(*at);
}

// --- split -------------------------------------------------------------------------------------

/// Lowers `split(x, axis, sizes = [a, b])` to slices from 0 to a and from a to a + b. `parts = n`
/// requires x to be a parameter, whose size is known.
bool RightSide::split(const RuleCall& call, Terms& out) {
  std::optional<TermId> whole = tensor(call.operands[0]);
  if (!whole) return false;
  RuleCall piece = call; // the axis is in slot 0 of both
  piece.op = OpKind::Slice;
  std::optional<TermAttr> axis = attr(piece, 0, {*whole});
  if (!axis) return false;
  llvm::SmallVector<ExprIndex, 4> sizes;
  if (!split_sizes(call, *whole, *axis, sizes)) return false;
  ExprIndex start = exprs_.literal(Value::of_int(0));
  for (size_t i = 0; i < sizes.size(); ++i) {
    ExprIndex stop = i == 0 ? sizes[i] : exprs_.op(Kind::Add, {start, sizes[i]});
    Term term = Term::of(OpKind::Slice, *whole);
    term.attrs.push_back(*axis);
    for (ExprIndex bound : {start, stop}) term.attrs.push_back(draft_.folded(bound));
    out.push_back(draft_.add(std::move(term)));
    start = stop;
  }
  return true;
}

bool RightSide::split_sizes(const RuleCall& call, TermId whole, const TermAttr& axis,
                            llvm::SmallVectorImpl<ExprIndex>& sizes) {
  if (ast::ExprId given = call.attrs[1];
      given.valid() && tree_[given].kind == ast::ExprKind::List) {
    if (tree_[given].items.size() > kMaxParts) {
      errors_.fail(error(Code::rule_pattern, tree_[given].span,
                         "a split in a rule can have at most {0} parts", kMaxParts));
      return false;
    }
    for (ast::ExprId item : tree_[tree_[given].items]) {
      std::optional<ExprIndex> size = values_.value(item);
      if (!size) return false;
      sizes.push_back(*size);
    }
    return true;
  }
  bool counted = call.parts.valid() && tree_[call.parts].kind == ast::ExprKind::Int &&
                 tree_[call.parts].int_value >= 1 && tree_[call.parts].int_value <= kMaxParts;
  if (!counted || draft_.term(whole).kind != Term::Kind::ClassVar) {
    errors_.fail(error(Code::rule_pattern, tree_[call.expr].span,
                       "a split in a rule requires `sizes` as a list, or `parts` as a "
                       "number and a parameter to "
                       "split"));
    return false;
  }
  int64_t parts = tree_[call.parts].int_value;
  ExprIndex at = exprs_.of(axis);
  ExprIndex size =
      exprs_.op(Kind::Div, {exprs_.of_class(Kind::Dim, draft_.term(whole).variable, {at}),
                            exprs_.literal(Value::of_int(parts))});
  sizes.assign(static_cast<size_t>(parts), size);
  return true;
}

} // namespace tg
