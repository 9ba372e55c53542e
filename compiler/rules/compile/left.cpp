#include "compiler/rules/compile/left.h"

#include "lang/check/consteval.h"
#include "lang/core/support/round_number.h"

#include <llvm/ADT/STLExtras.h>

namespace tg {

namespace {

using Kind = ValueExpr::Kind;

bool is_reduction(OpKind op) { return op_info(op).shape == ShapeRule::reduce; }

bool any_negative(const Value& v) {
  return v.is(Value::Kind::Int) ? v.number < 0
                                : llvm::any_of(v.ints, [](int64_t n) { return n < 0; });
}

} // namespace

bool RestVariables::has(OpKind op) const {
  return llvm::any_of(variables_, [&](const auto& entry) { return entry.first.first == op; });
}

std::optional<uint32_t> RestVariables::find(OpKind op, size_t place) const {
  auto known = variables_.find({op, place});
  return known == variables_.end() ? std::nullopt : std::optional(known->second);
}

// --- terms -------------------------------------------------------------------------------------

bool LeftSide::lower(ast::List<ast::ExprId> sides) {
  Terms terms;
  for (ast::ExprId side : tree_[sides])
    if (!roots(side, terms)) return false;
  draft_.rule().lhs.assign(terms.begin(), terms.end());
  for (TermId root : terms) {
    if (draft_.term(root).kind != Term::Kind::ClassVar) continue;
    errors_.fail(error(Code::rule_pattern, tree_[tree_[sides][0]].span,
                       "the matched side must be an operator, not a bare variable"));
    return false;
  }
  return true;
}

bool LeftSide::roots(ast::ExprId id, Terms& out) {
  const ast::Expr& e = tree_[id];
  if (e.kind == ast::ExprKind::Tuple) {
    for (ast::ExprId item : tree_[e.items])
      if (!roots(item, out)) return false;
    return true;
  }
  if (names_.operator_of(e) == OpKind::Split) return split(id, out);
  std::optional<TermId> term = tensor(id);
  if (term) out.push_back(*term);
  return term.has_value();
}

std::optional<TermId> LeftSide::tensor(ast::ExprId id) {
  RuleDraft::Depth depth(draft_);
  const ast::Expr& e = tree_[id];
  if (draft_.too_large(e.span)) return std::nullopt;
  if (e.kind == ast::ExprKind::Error) return errors_.give_up();
  if (e.kind == ast::ExprKind::Name) return name(id);
  if (!names_.is_tensor(id)) return number(id);
  if (names_.operator_of(e) == OpKind::Split)
    return errors_.fail(
        error(Code::rule_pattern, e.span, "a split inside a pattern has several results")
            .suggest("match its pieces with slice"));
  if (e.kind == ast::ExprKind::Call && e.callee.text == "full") return named_number(id);
  if (e.kind == ast::ExprKind::Index) return places_.index(id);
  if (e.op == ast::Op::FloorDiv) return places_.floor_division(id);
  std::optional<RuleCall> read = calls_.read(id);
  return read ? call(*read) : std::nullopt;
}

std::optional<TermId> LeftSide::number(ast::ExprId id) {
  std::optional<ExprIndex> at = values_.value(id);
  if (!at) return std::nullopt;
  std::optional<Value> number = exprs_.folded(*at);
  if (number && (number->is(Value::Kind::Int) || number->is(Value::Kind::Float)))
    return draft_.constant(TermAttr::of(
        number->is(Value::Kind::Int) ? normal_numbers(Value::of_ints(number->number), DType::None)
                                     : Value::of_floats({number->real})));
  const AttrInfo& values = op_info(OpKind::Constant).attrs()[0];
  if (!number && exprs_.has_variables(*at)) // a number that depends on sizes or attributes
    return draft_.constant(draft_.equal_to(exprs_.op(Kind::Floats, {*at}), values));
  return errors_.fail(
      error(Code::rule_pattern, tree_[id].span, "{0}",
            number ? "a pattern can contain only tensors and numbers" : "this has no value"));
}

/// `full([], eps)`: matches any constant of one number and binds `eps` to it.
std::optional<TermId> LeftSide::named_number(ast::ExprId id) {
  const ast::Expr& e = tree_[id];
  llvm::ArrayRef<ast::Arg> args = tree_[e.args];
  bool scalar = args.size() == 2 && tree_[args[0].value].kind == ast::ExprKind::List &&
                tree_[tree_[args[0].value].items].empty();
  if (!scalar)
    return errors_.fail(error(Code::rule_pattern, e.span,
                              "a pattern matches a constant of one number as `full([], name)`"));
  uint32_t values = draft_.new_value("number", AttrKind::floats);
  ExprIndex number = exprs_.op(Kind::Index, {exprs_.variable(values), exprs_.integer(0)});
  if (!names_.take(args[1].value, number)) {
    std::optional<ExprIndex> wanted = values_.value(args[1].value);
    if (!wanted) return std::nullopt;
    draft_.require(exprs_.op(Kind::Eq, {number, *wanted}));
  }
  return draft_.constant(TermAttr::of_variable(values));
}

std::optional<TermId> LeftSide::name(ast::ExprId id) {
  const ast::Expr& e = tree_[id];
  if (!names_.find(e) && e.text == "none") return draft_.none_term();
  if (RuleNames::Meaning* named = names_.let(e)) {
    named->used = e.span;
    RuleNames::LetScope guard(names_, *named);
    Terms parts;
    if (!roots(named->let, parts)) return std::nullopt;
    size_t part = named->part < 0 ? 0 : static_cast<size_t>(named->part);
    if (part < parts.size() && (named->part >= 0 || parts.size() == 1)) return parts[part];
    return errors_.fail(error(Code::rule_arity, named->declared, "`{0}` names one of {1} results",
                              e.text, parts.size()));
  }
  RuleNames::Meaning* meaning = names_.tensor(id);
  if (!meaning) return std::nullopt;
  meaning->bound = true;
  return draft_.class_term(meaning->number);
}

std::optional<TermId> LeftSide::call(const RuleCall& call) {
  const OpInfo& info = op_info(call.op);
  Term term = Term::of(call.op, {});
  for (ast::ExprId operand : call.operands) {
    std::optional<TermId> at = tensor(operand);
    if (!at) return std::nullopt;
    draft_.note_operand(call.op, term.operands.size(), *at);
    term.operands.push_back(*at);
  }
  draft_.set_number_dtypes(term);
  if (info.has(Trait::Commutes)) {
    uint32_t nth = commuting_++;
    if (nth < 32 && (swaps_ >> nth & 1) != 0) std::swap(term.operands[0], term.operands[1]);
  }
  for (size_t i = term.operands.size(); i < info.operand_count && !info.variadic(); ++i) {
    std::optional<TermId> at = optional_operand(call, i);
    if (!at) return std::nullopt;
    term.operands.push_back(*at);
  }
  for (size_t slot = 0; slot < info.attr_count; ++slot) {
    std::optional<TermAttr> made = attr(call, slot, term.operands);
    if (!made) return std::nullopt;
    term.attrs.push_back(std::move(*made));
  }
  return draft_.add(std::move(term));
}

std::optional<TermId> LeftSide::optional_operand(const RuleCall& call, size_t index) {
  if (call.optional[index].valid()) return tensor(call.optional[index]);
  if (!call.rest) return draft_.none_term();
  const OpInfo& info = op_info(call.op);
  if (!rest_.operand(call.op, index))
    rest_.bind_operand(
        call.op, index,
        draft_.new_class(llvm::formatv("{0}.{1}", info.name, info.operands()[index].name)));
  return draft_.class_term(*rest_.operand(call.op, index));
}

// --- slots -------------------------------------------------------------------------------------

std::optional<TermAttr> LeftSide::attr(const RuleCall& call, size_t slot,
                                       llvm::ArrayRef<TermId> operands) {
  const AttrInfo& info = op_info(call.op).attrs()[slot];
  ast::ExprId given = call.attrs[slot];
  if (!given.valid()) return left_out(call, slot, operands);
  const ast::Expr& e = tree_[given];
  using Is = RuleNames::Meaning::Kind;
  RuleNames::Meaning* named = e.kind == ast::ExprKind::Name ? names_.find(e) : nullptr;
  if (named && (named->kind == Is::Unknown || named->kind == Is::Value)) {
    RuleNames::Meaning* meaning = names_.attribute(given);
    meaning->bound = true;
    draft_.set_kind(meaning->number, info.kind);
    return TermAttr::of_variable(meaning->number);
  }
  if (e.kind == ast::ExprKind::List && names_unbound(given)) return list(given, info);
  std::optional<ExprIndex> at = values_.value(given, info.kind);
  if (!at) return std::nullopt;
  if (exprs_.has_variables(*at)) return draft_.equal_to(*at, info);
  std::optional<Value> v = exprs_.folded(*at);
  if (v) return literal(call, slot, *v, operands);
  return errors_.fail(error(Code::bad_attribute, e.span, "`{0}` has no value here", info.name));
}

/// Returns the attribute of a slot that the text omits.
std::optional<TermAttr> LeftSide::left_out(const RuleCall& call, size_t slot,
                                           llvm::ArrayRef<TermId> operands) {
  const AttrInfo& info = op_info(call.op).attrs()[slot];
  if (call.rest) return rest_attr(call.op, slot);
  if (call.op == OpKind::Transpose) {
    std::optional<ExprIndex> perm = draft_.last_two_swapped(operands[0], tree_[call.expr].span);
    return perm ? std::optional(draft_.equal_to(*perm, info)) : std::nullopt;
  }
  if (info.required) return calls_.lacks_attribute(call, info);
  return literal(call, slot, default_value(info), operands);
}

TermAttr LeftSide::rest_attr(OpKind op, size_t slot) {
  const AttrInfo& info = op_info(op).attrs()[slot];
  if (!rest_.slot(op, slot))
    rest_.bind_slot(
        op, slot,
        draft_.new_value(llvm::formatv("{0}.{1}", op_info(op).name, info.name), info.kind));
  return TermAttr::of_variable(*rest_.slot(op, slot));
}

/// Lowers a literal in a slot of the left side. Axes counted from the end depend on the rank.
std::optional<TermAttr> LeftSide::literal(const RuleCall& call, size_t slot, const Value& given,
                                          llvm::ArrayRef<TermId> operands) {
  const AttrInfo& info = op_info(call.op).attrs()[slot];
  Span span = tree_[call.attrs[slot].valid() ? call.attrs[slot] : call.expr].span;
  std::optional<Value> v = normal_form(info.kind, given);
  if (!v) return calls_.bad_attribute(call, info, span, given);
  bool axes = info.kind == AttrKind::axis || info.kind == AttrKind::axes;
  if (axes && is_reduction(call.op)) llvm::sort(v->ints);
  if (!any_negative(*v)) return TermAttr::of(std::move(*v));
  if (!axes) // -1 in a reshape, a slice from the end: graphs contain neither
    return errors_.fail(error(Code::bad_attribute, span,
                              "`{0}` = {1} never matches: write its actual value", info.name,
                              v->text_form()));
  std::optional<ExprIndex> rank = draft_.types().rank(operands[0]);
  if (!rank)
    return errors_.fail(
        error(Code::rule_pattern, span, "the rank is unknown here: count axes from the front"));
  auto from_front = [&](int64_t n) {
    if (n >= 0) return exprs_.literal(Value::of_int(n));
    return exprs_.op(Kind::Sub, {*rank, exprs_.literal(Value::of_int(-n))});
  };
  if (info.kind == AttrKind::axis) return draft_.equal_to(from_front(v->number), info);
  llvm::SmallVector<ExprIndex, 4> items;
  for (bool negative : {false, true}) // the normal form of reductions is ascending
    for (int64_t n : v->ints)
      if (!is_reduction(call.op) ? !negative : (n < 0) == negative) items.push_back(from_front(n));
  return draft_.equal_to(exprs_.op(Kind::List, items), info);
}

/// Returns true if the list has an unbound name as an item: then it takes a value apart.
bool LeftSide::names_unbound(ast::ExprId list) {
  return llvm::any_of(tree_[tree_[list].items],
                      [&](ast::ExprId item) { return names_.is_unbound(item); });
}

/// `stride = [a, b]`: the slot is a fresh variable; a and b are its items.
std::optional<TermAttr> LeftSide::list(ast::ExprId list, const AttrInfo& info) {
  uint32_t whole = draft_.new_value(std::string(info.name), info.kind);
  llvm::ArrayRef<ast::ExprId> items = tree_[tree_[list].items];
  for (size_t i = 0; i < items.size(); ++i) {
    ExprIndex item =
        exprs_.op(Kind::Index, {exprs_.variable(whole), exprs_.integer(static_cast<int64_t>(i))});
    if (names_.take(items[i], item)) continue;
    std::optional<ExprIndex> wanted = values_.value(items[i]);
    if (!wanted) return std::nullopt;
    draft_.require(exprs_.op(Kind::Eq, {item, *wanted}));
  }
  ExprIndex length = exprs_.op(Kind::Len, {exprs_.variable(whole)});
  draft_.require(exprs_.op(Kind::Eq, {length, exprs_.integer(static_cast<int64_t>(items.size()))}));
  return TermAttr::of_variable(whole);
}

// --- split -------------------------------------------------------------------------------------

/// `split(x, axis, sizes = [a, b])` as a whole side: its pieces, each a slice.
bool LeftSide::split(ast::ExprId id, Terms& out) {
  std::optional<RuleCall> call = calls_.read(id);
  if (!call) return false;
  ast::ExprId sizes = call->attrs[1];
  if (!sizes.valid() || tree_[sizes].kind != ast::ExprKind::List) {
    errors_.fail(
        error(Code::rule_pattern, tree_[id].span, "a matched split requires its list of sizes"));
    return false;
  }
  std::optional<TermId> whole = tensor(call->operands[0]);
  if (!whole) return false;
  RuleCall piece = *call; // the axis is in slot 0 of both
  piece.op = OpKind::Slice;
  std::optional<TermAttr> axis = attr(piece, 0, {*whole});
  if (!axis) return false;
  std::optional<uint32_t> before;
  for (ast::ExprId size : tree_[tree_[sizes].items]) {
    Term term = Term::of(OpKind::Slice, *whole);
    uint32_t stop = draft_.new_value("stop", AttrKind::integer);
    term.attrs.push_back(*axis);
    term.attrs.push_back(before ? TermAttr::of_variable(*before) : TermAttr::of(Value::of_int(0)));
    term.attrs.push_back(TermAttr::of_variable(stop));
    if (!piece_size(size, stop, before)) return false;
    out.push_back(draft_.add(std::move(term)));
    before = stop;
  }
  split_covers(*whole, *axis, *before);
  return true;
}

/// Requires that the pieces cover all of x, if that can be expressed; otherwise a part would match.
void LeftSide::split_covers(TermId whole, const TermAttr& axis, uint32_t stop) {
  const Term& term = draft_.term(whole);
  if (term.kind != Term::Kind::ClassVar) return;
  ExprIndex at = exprs_.of(axis);
  ExprIndex size = exprs_.of_class(Kind::Dim, term.variable, {at});
  draft_.require(exprs_.op(Kind::Eq, {exprs_.variable(stop), size}));
}

/// The size of a piece from `start` to `stop`: binds a new name, or adds a condition.
bool LeftSide::piece_size(ast::ExprId size, uint32_t stop, std::optional<uint32_t> start) {
  ExprIndex length = exprs_.variable(stop);
  if (start) length = exprs_.op(Kind::Sub, {length, exprs_.variable(*start)});
  if (names_.take(size, length)) return true;
  std::optional<ExprIndex> wanted = values_.value(size);
  if (!wanted) return false;
  draft_.require(exprs_.op(Kind::Eq, {length, *wanted}));
  return true;
}

} // namespace tg
