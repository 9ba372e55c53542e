// The two sides of a rule: patterns from the left one, what is built from the right one.
#include "compiler/rules/compiler.h"
#include "lang/check/consteval.h"
#include "lang/check/resolve.h"

#include <llvm/ADT/STLExtras.h>

namespace tg {

namespace {

using Kind = ValueExpr::Kind;

TermAttr literal_attr(Value value) {
  TermAttr attr;
  attr.kind = TermAttr::Kind::Literal;
  attr.literal = std::move(value);
  return attr;
}

TermAttr variable_attr(uint32_t number) {
  TermAttr attr;
  attr.kind = TermAttr::Kind::Variable;
  attr.variable = number;
  return attr;
}

constexpr uint32_t kMaxParts = 64; // of a split

bool is_reduction(OpKind op) { return op_info(op).shape == ShapeRule::reduce; }

/// Whether the operand chooses (a condition, indices) and has another dtype than what is chosen.
bool is_choice(OpKind op, size_t operand) {
  return (op == OpKind::Select && operand == 0) || (op == OpKind::Gather && operand == 1) ||
         op == OpKind::Extern;
}

bool is_fill(llvm::StringRef name) { return name == "zeros" || name == "ones" || name == "full"; }

bool any_negative(const Value& v) {
  return v.is(Value::Kind::Int) ? v.number < 0
                                : llvm::any_of(v.ints, [](int64_t n) { return n < 0; });
}

} // namespace

bool RuleCompiler::lower_left_sides() {
  Terms roots;
  for (ast::ExprId side : tree_[reversed_ ? decl_.rhs : decl_.lhs])
    if (!left_roots(side, roots)) return false;
  rule_.lhs.assign(roots.begin(), roots.end());
  for (TermId root : roots) {
    if (rule_.terms[root].kind != Term::Kind::ClassVar) continue;
    fail(error(Code::rule_pattern, tree_[tree_[reversed_ ? decl_.rhs : decl_.lhs][0]].span,
               "a side that is matched must be an operator, not a bare variable"));
    return false;
  }
  return true;
}

bool RuleCompiler::lower_right_sides() {
  Terms results;
  for (ast::ExprId side : tree_[reversed_ ? decl_.lhs : decl_.rhs])
    if (!right(side, results)) return false;
  rule_.rhs.assign(results.begin(), results.end());
  if (results.size() == rule_.lhs.size()) return true;
  fail(error(Code::rule_arity, decl_.arrow_span,
             "the left side has {0} result{1}, the right side {2}",
             reversed_ ? results.size() : rule_.lhs.size(),
             (reversed_ ? results.size() : rule_.lhs.size()) == 1 ? "" : "s",
             reversed_ ? rule_.lhs.size() : results.size()));
  return false;
}

// --- left ---------------------------------------------------------------------------------------

bool RuleCompiler::left_roots(ast::ExprId id, Terms& out) {
  const ast::Expr& e = tree_[id];
  if (e.kind == ast::ExprKind::Tuple) {
    for (ast::ExprId item : tree_[e.items])
      if (!left_roots(item, out)) return false;
    return true;
  }
  if (operator_of(e) == OpKind::Split) return left_split(id, out);
  std::optional<TermId> term = left(id);
  if (term) out.push_back(*term);
  return term.has_value();
}

std::optional<TermId> RuleCompiler::left(ast::ExprId id) {
  DepthGuard depth(*this);
  if (too_large(id)) return std::nullopt;
  const ast::Expr& e = tree_[id];
  if (e.kind == ast::ExprKind::Error) return failed_ = true, std::nullopt;
  if (e.kind == ast::ExprKind::Name) return left_name(id);
  if (!is_tensor(id)) {
    std::optional<ExprIndex> at = value(id);
    if (!at) return std::nullopt;
    std::optional<Value> number = exprs_.folded(*at);
    if (number && (number->is(Value::Kind::Int) || number->is(Value::Kind::Float)))
      return constant_term(literal_attr(Value::of_floats({as_real(*number)})), true);
    const AttrInfo& values = op_info(OpKind::Constant).attrs()[0];
    if (!number && exprs_.has_variables(*at)) // a number that follows from sizes or attributes
      return constant_term(equal_to(exprs_.op(Kind::Floats, {*at}), values), true);
    if (!number) return fail(error(Code::rule_pattern, e.span, "this has no value"));
    return fail(error(Code::rule_pattern, e.span, "a pattern can hold tensors and numbers only"));
  }
  if (operator_of(e) == OpKind::Split)
    return fail(error(Code::rule_pattern, e.span, "a split within a pattern has several results")
                    .suggest("match its pieces with slice"));
  if (e.kind == ast::ExprKind::Index) return places(id);
  if (e.op == ast::Op::FloorDiv) return floor_division(id);
  std::optional<Call> call = read_call(id);
  if (!call) return std::nullopt;
  return left_call(*call);
}

std::optional<TermId> RuleCompiler::left_name(ast::ExprId id) {
  const ast::Expr& e = tree_[id];
  Meaning* named = find(e.text);
  if (!named && e.text == "none") return none_term();
  if (named && named->kind == Meaning::Kind::Let) {
    named->used = e.span;
    LetGuard guard(*this, named->order);
    Terms parts;
    if (!left_roots(named->let, parts)) return std::nullopt;
    size_t part = named->part < 0 ? 0 : static_cast<size_t>(named->part);
    if (part < parts.size() && (named->part >= 0 || parts.size() == 1)) return parts[part];
    return fail(error(Code::rule_arity, named->declared, "`{0}` names one of {1} results", e.text,
                      parts.size()));
  }
  Meaning* meaning = tensor(id);
  if (!meaning) return std::nullopt;
  meaning->bound = true;
  return class_term(meaning->number);
}

std::optional<TermId> RuleCompiler::left_call(const Call& call) {
  const OpInfo& info = op_info(call.op);
  Term term;
  term.kind = Term::Kind::Op;
  term.op = call.op;
  for (ast::ExprId operand : call.operands) {
    std::optional<TermId> at = left(operand);
    if (!at) return std::nullopt;
    const Term& made = rule_.terms[*at];
    bool number = !is_choice(call.op, term.operands.size());
    if (!dtype_var_ && number && made.kind == Term::Kind::ClassVar) dtype_var_ = made.variable;
    term.operands.push_back(*at);
  }
  give_dtypes(term);
  if (info.has(Trait::Commutes)) {
    uint32_t nth = commuting_++;
    if (nth < 32 && (swaps_ >> nth & 1) != 0) std::swap(term.operands[0], term.operands[1]);
  }
  if (!info.variadic())
    for (size_t i = term.operands.size(); i < info.operand_count; ++i) {
      std::optional<TermId> at;
      if (call.optional[i].valid())
        at = left(call.optional[i]);
      else if (call.rest)
        at = rest_operand(call.op, i);
      else
        at = none_term();
      if (!at) return std::nullopt;
      term.operands.push_back(*at);
    }
  for (size_t slot = 0; slot < info.attr_count; ++slot) {
    std::optional<TermAttr> attr = left_attr(call, slot, term.operands);
    if (!attr) return std::nullopt;
    term.attrs.push_back(std::move(*attr));
  }
  return add(std::move(term));
}

/// The variable that `..` binds for an optional operand.
TermId RuleCompiler::rest_operand(OpKind op, size_t index) {
  auto key = std::make_pair(static_cast<uint32_t>(op), static_cast<uint32_t>(kMaxAttrs + index));
  auto [at, fresh] = rest_.try_emplace(key, 0);
  if (fresh)
    at->second =
        new_class(llvm::formatv("{0}.{1}", op_info(op).name, op_info(op).operands()[index].name));
  return class_term(at->second);
}

std::optional<TermAttr> RuleCompiler::left_attr(const Call& call, size_t slot,
                                                llvm::ArrayRef<TermId> operands) {
  const AttrInfo& info = op_info(call.op).attrs()[slot];
  ast::ExprId given = call.attrs[slot];
  if (!given.valid() && call.rest) {
    auto key = std::make_pair(static_cast<uint32_t>(call.op), static_cast<uint32_t>(slot));
    auto [at, fresh] = rest_.try_emplace(key, 0);
    if (fresh)
      at->second = new_value(llvm::formatv("{0}.{1}", op_info(call.op).name, info.name), info.kind);
    return variable_attr(at->second);
  }
  if (!given.valid() && call.op == OpKind::Transpose) {
    std::optional<ExprIndex> perm = last_two_swapped(call, operands[0]);
    return perm ? std::optional(equal_to(*perm, info)) : std::nullopt;
  }
  if (!given.valid()) {
    if (info.required) return lacks_attribute(call, info);
    return left_literal(call, slot, default_value(info), operands);
  }
  const ast::Expr& e = tree_[given];
  Meaning* named = e.kind == ast::ExprKind::Name ? find(e.text) : nullptr;
  if (named && (named->kind == Meaning::Kind::Unknown || named->kind == Meaning::Kind::Value)) {
    Meaning* meaning = attribute(given);
    meaning->bound = true;
    value_kinds_[meaning->number] = info.kind;
    return variable_attr(meaning->number);
  }
  if (e.kind == ast::ExprKind::List && names_unbound(given)) return left_list(given, info);
  std::optional<ExprIndex> at = value(given, info.kind);
  if (!at) return std::nullopt;
  if (!exprs_.has_variables(*at)) {
    std::optional<Value> v = exprs_.folded(*at);
    if (v) return left_literal(call, slot, *v, operands);
    return fail(error(Code::bad_attribute, e.span, "`{0}` has no value here", info.name));
  }
  return equal_to(*at, info);
}

/// What `transpose(x)` without `perm` does, as in models: the last two axes change places.
std::optional<ExprIndex> RuleCompiler::last_two_swapped(const Call& call, TermId operand) {
  std::optional<ExprIndex> rank = types_.rank(operand);
  if (!rank)
    return fail(error(Code::rule_pattern, tree_[call.expr].span,
                      "the rank here is not known: `transpose` needs its attribute `perm`"));
  ExprIndex last = exprs_.op(Kind::Sub, {*rank, exprs_.integer(1)});
  ExprIndex before = exprs_.op(Kind::Sub, {*rank, exprs_.integer(2)});
  ExprIndex stay = exprs_.op(Kind::Range, {exprs_.integer(0), before});
  return exprs_.op(Kind::Add, {stay, exprs_.op(Kind::List, {last, before})});
}

/// Whether the list has a name as an item that nothing has bound yet: then it takes a value apart.
bool RuleCompiler::names_unbound(ast::ExprId list) {
  return llvm::any_of(tree_[tree_[list].items], [&](ast::ExprId item) {
    const ast::Expr& e = tree_[item];
    if (e.kind != ast::ExprKind::Name) return false;
    Meaning* meaning = find(e.text);
    return meaning && meaning->kind == Meaning::Kind::Unknown;
  });
}

/// `stride = [a, b]`: the slot is a fresh variable, a and b its items.
std::optional<TermAttr> RuleCompiler::left_list(ast::ExprId list, const AttrInfo& info) {
  uint32_t whole = new_value(std::string(info.name), info.kind);
  llvm::ArrayRef<ast::ExprId> items = tree_[tree_[list].items];
  for (size_t i = 0; i < items.size(); ++i) {
    ExprIndex item =
        exprs_.op(Kind::Index, {exprs_.variable(whole), exprs_.integer(static_cast<int64_t>(i))});
    const ast::Expr& e = tree_[items[i]];
    Meaning* meaning = e.kind == ast::ExprKind::Name ? find(e.text) : nullptr;
    if (meaning && meaning->kind == Meaning::Kind::Unknown) {
      meaning->kind = Meaning::Kind::Alias;
      meaning->expr = item;
      meaning->used = e.span;
      meaning->bound = true;
      continue;
    }
    std::optional<ExprIndex> wanted = value(items[i]);
    if (!wanted) return std::nullopt;
    rule_.conditions.push_back(exprs_.op(Kind::Eq, {item, *wanted}));
  }
  ExprIndex length = exprs_.op(Kind::Len, {exprs_.variable(whole)});
  rule_.conditions.push_back(
      exprs_.op(Kind::Eq, {length, exprs_.integer(static_cast<int64_t>(items.size()))}));
  return variable_attr(whole);
}

/// A slot that must equal something computed: a fresh variable and a condition.
TermAttr RuleCompiler::equal_to(ExprIndex expr, const AttrInfo& info) {
  uint32_t variable = new_value(std::string(info.name), info.kind);
  rule_.conditions.push_back(exprs_.op(Kind::Eq, {exprs_.variable(variable), expr}));
  return variable_attr(variable);
}

/// A literal in a slot of the left side. Axes counted from the end depend on the rank.
std::optional<TermAttr> RuleCompiler::left_literal(const Call& call, size_t slot,
                                                   const Value& given,
                                                   llvm::ArrayRef<TermId> operands) {
  const AttrInfo& info = op_info(call.op).attrs()[slot];
  Span span = tree_[call.attrs[slot].valid() ? call.attrs[slot] : call.expr].span;
  std::optional<Value> v = normal_form(info.kind, given);
  if (!v) return bad_attribute(call, info, span, given);
  bool axes = info.kind == AttrKind::axis || info.kind == AttrKind::axes;
  if (axes && is_reduction(call.op)) llvm::sort(v->ints);
  if (!any_negative(*v)) return literal_attr(std::move(*v));
  if (!axes) // -1 of a reshape, a slice from the end: graphs hold neither
    return fail(error(Code::bad_attribute, span,
                      "`{0}` = {1} matches nothing: write what it comes to", info.name,
                      v->text_form()));
  std::optional<ExprIndex> rank = types_.rank(operands[0]);
  if (!rank)
    return fail(
        error(Code::rule_pattern, span, "the rank here is not known: count from the front"));
  auto from_front = [&](int64_t n) {
    if (n >= 0) return exprs_.literal(Value::of_int(n));
    return exprs_.op(Kind::Sub, {*rank, exprs_.literal(Value::of_int(-n))});
  };
  if (info.kind == AttrKind::axis) return equal_to(from_front(v->number), info);
  llvm::SmallVector<ExprIndex, 4> items;
  for (bool negative : {false, true}) // normal form is ascending for reductions
    for (int64_t n : v->ints)
      if (!is_reduction(call.op) ? !negative : (n < 0) == negative) items.push_back(from_front(n));
  return equal_to(exprs_.op(Kind::List, items), info);
}

/// `split(x, axis, sizes = [a, b])` as a whole side: its pieces, each a slice.
bool RuleCompiler::left_split(ast::ExprId id, Terms& out) {
  std::optional<Call> call = read_call(id);
  if (!call) return false;
  ast::ExprId sizes = call->attrs[1];
  if (!sizes.valid() || tree_[sizes].kind != ast::ExprKind::List) {
    fail(error(Code::rule_pattern, tree_[id].span,
               "a split that is matched needs its list of sizes"));
    return false;
  }
  std::optional<TermId> whole = left(call->operands[0]);
  if (!whole) return false;
  Call piece = *call; // the axis stands in slot 0 of both
  piece.op = OpKind::Slice;
  std::optional<TermAttr> axis = left_attr(piece, 0, {*whole});
  if (!axis) return false;
  std::optional<uint32_t> before;
  for (ast::ExprId size : tree_[tree_[sizes].items]) {
    Term term;
    term.kind = Term::Kind::Op;
    term.op = OpKind::Slice;
    term.operands.push_back(*whole);
    uint32_t stop = new_value("stop", AttrKind::integer);
    term.attrs.push_back(*axis);
    term.attrs.push_back(before ? variable_attr(*before) : literal_attr(Value::of_int(0)));
    term.attrs.push_back(variable_attr(stop));
    if (!left_piece_size(size, stop, before)) return false;
    out.push_back(add(std::move(term)));
    before = stop;
  }
  return left_split_covers(*whole, *axis, *before);
}

/// The pieces are all of x where that can be said: else only a part would be matched.
bool RuleCompiler::left_split_covers(TermId whole, const TermAttr& axis, uint32_t stop) {
  const Term& term = rule_.terms[whole];
  if (term.kind != Term::Kind::ClassVar) return true;
  ExprIndex at = exprs_.of(axis);
  ExprIndex size = exprs_.of_class(Kind::Dim, term.variable, {at});
  rule_.conditions.push_back(exprs_.op(Kind::Eq, {exprs_.variable(stop), size}));
  return true;
}

/// The size of a piece from `start` to `stop`: a new name for it, or a condition.
bool RuleCompiler::left_piece_size(ast::ExprId size, uint32_t stop, std::optional<uint32_t> start) {
  ExprIndex length = exprs_.variable(stop);
  if (start) length = exprs_.op(Kind::Sub, {length, exprs_.variable(*start)});
  const ast::Expr& e = tree_[size];
  Meaning* meaning = e.kind == ast::ExprKind::Name ? find(e.text) : nullptr;
  if (meaning && meaning->kind == Meaning::Kind::Unknown) {
    meaning->kind = Meaning::Kind::Alias;
    meaning->expr = length;
    meaning->used = e.span;
    return meaning->bound = true;
  }
  std::optional<ExprIndex> wanted = value(size);
  if (!wanted) return false;
  rule_.conditions.push_back(exprs_.op(Kind::Eq, {length, *wanted}));
  return true;
}

// --- right --------------------------------------------------------------------------------------

/// Whether an expression stands for a tensor, as opposed to a compile-time value.
bool RuleCompiler::is_tensor(ast::ExprId id) {
  const ast::Expr& e = tree_[id];
  switch (e.kind) {
  case ast::ExprKind::Name: {
    Meaning* meaning = find(e.text);
    if (!meaning) { // whoever lowers it as a tensor will complain
      std::optional<Value> word = constant_of_name(e.text);
      return !word || !is_number(*word); // inf, nan
    }
    if (meaning->kind != Meaning::Kind::Let)
      return meaning->kind == Meaning::Kind::Class ||
             (meaning->kind == Meaning::Kind::Unknown && !meaning->value_only);
    auto known = let_is_tensor_.find(meaning->let.index);
    if (known != let_is_tensor_.end()) return known->second;
    LetGuard guard(*this, meaning->order);
    bool tensor = is_tensor(meaning->let);
    let_is_tensor_[meaning->let.index] = tensor;
    return tensor;
  }
  case ast::ExprKind::Unary: return is_tensor(e.a);
  case ast::ExprKind::Binary: return is_tensor(e.a) || is_tensor(e.b);
  case ast::ExprKind::Call:
    if (!is_rule_function(e.callee.text)) return true;
    return find_op(e.callee.text) && llvm::any_of(tree_[e.args], [&](const ast::Arg& arg) {
             return arg.value && is_tensor(arg.value); // of numbers it is a number
           });
  case ast::ExprKind::Tuple: return true;
  case ast::ExprKind::Index: return is_tensor(e.a);
  default: return false;
  }
}

bool RuleCompiler::right(ast::ExprId id, Terms& out) {
  DepthGuard depth(*this);
  if (too_large(id)) return false;
  const ast::Expr& e = tree_[id];
  if (e.kind == ast::ExprKind::Error) {
    failed_ = true;
    return false;
  }
  if (e.kind == ast::ExprKind::Tuple) {
    for (ast::ExprId item : tree_[e.items])
      if (!right(item, out)) return false;
    return true;
  }
  if (e.kind == ast::ExprKind::Name && is_tensor(id)) return right_name(id, out);
  std::optional<TermId> term;
  if (!is_tensor(id)) {
    term = right_constant(id);
  } else if (e.kind == ast::ExprKind::Call && is_fill(e.callee.text)) {
    term = filled(id);
  } else if (e.kind == ast::ExprKind::Index) {
    term = places(id);
  } else if (e.op == ast::Op::FloorDiv) {
    term = floor_division(id);
  } else {
    std::optional<Call> call = read_call(id);
    if (!call) return false;
    if (call->op == OpKind::Split) return right_split(*call, out);
    term = right_call(*call);
  }
  if (term) out.push_back(*term);
  return term.has_value();
}

std::optional<TermId> RuleCompiler::right_one(ast::ExprId id) {
  Terms terms;
  if (!right(id, terms)) return std::nullopt;
  if (terms.size() == 1) return terms[0];
  return fail(
      error(Code::rule_arity, tree_[id].span, "one tensor is needed here, got {0}", terms.size()));
}

bool RuleCompiler::right_name(ast::ExprId id, Terms& out) {
  const ast::Expr& e = tree_[id];
  Meaning* named = find(e.text);
  if (!named && e.text == "none") {
    out.push_back(none_term());
    return true;
  }
  if (!named || named->kind != Meaning::Kind::Let) {
    Meaning* meaning = tensor(id);
    if (!meaning) return false;
    out.push_back(class_term(meaning->number));
    return true;
  }
  named->used = e.span;
  auto cached = lowered_lets_.find(named->let.index);
  Terms terms;
  if (cached != lowered_lets_.end()) {
    terms = cached->second;
  } else {
    LetGuard guard(*this, named->order);
    if (!right(named->let, terms)) return false;
    lowered_lets_[named->let.index] = terms;
  }
  if (named->part < 0) {
    out.append(terms);
    return true;
  }
  if (static_cast<size_t>(named->part) >= terms.size()) {
    fail(error(Code::rule_arity, named->declared, "there is no result for `{0}`: only {1}", e.text,
               terms.size()));
    return false;
  }
  out.push_back(terms[static_cast<size_t>(named->part)]);
  return true;
}

std::optional<TermId> RuleCompiler::right_call(const Call& call) {
  const OpInfo& info = op_info(call.op);
  Term term;
  term.kind = Term::Kind::Op;
  term.op = call.op;
  for (ast::ExprId operand : call.operands) {
    std::optional<TermId> at = right_one(operand);
    if (!at) return std::nullopt;
    term.operands.push_back(*at);
  }
  if (call.rest && !has_rest(call.op))
    return fail(error(Code::rule_pattern, tree_[call.expr].span,
                      "`..` has nothing to carry over: the other side has no `{0}(.., ..)`",
                      info.name));
  if (!info.variadic())
    for (size_t i = term.operands.size(); i < info.operand_count; ++i) {
      auto key =
          std::make_pair(static_cast<uint32_t>(call.op), static_cast<uint32_t>(kMaxAttrs + i));
      auto carried = call.rest ? rest_.find(key) : rest_.end();
      std::optional<TermId> at;
      if (call.optional[i].valid())
        at = right_one(call.optional[i]);
      else
        at = carried != rest_.end() ? class_term(carried->second) : none_term();
      if (!at) return std::nullopt;
      term.operands.push_back(*at);
    }
  give_dtypes(term);
  for (size_t slot = 0; slot < info.attr_count; ++slot) {
    std::optional<TermAttr> attr = right_attr(call, slot, term.operands);
    if (!attr) return std::nullopt;
    term.attrs.push_back(std::move(*attr));
  }
  return add(std::move(term));
}

bool RuleCompiler::has_rest(OpKind op) const {
  return llvm::any_of(rest_,
                      [&](auto& entry) { return entry.first.first == static_cast<uint32_t>(op); });
}

std::optional<TermAttr> RuleCompiler::right_attr(const Call& call, size_t slot,
                                                 llvm::ArrayRef<TermId> operands) {
  const AttrInfo& info = op_info(call.op).attrs()[slot];
  ast::ExprId given = call.attrs[slot];
  if (!given.valid()) {
    auto key = std::make_pair(static_cast<uint32_t>(call.op), static_cast<uint32_t>(slot));
    auto carried = call.rest ? rest_.find(key) : rest_.end();
    if (carried != rest_.end()) return variable_attr(carried->second);
    if (call.op == OpKind::Transpose) {
      std::optional<ExprIndex> perm = last_two_swapped(call, operands[0]);
      return perm ? std::optional(right_slot(*perm)) : std::nullopt;
    }
    if (!info.required) return literal_attr(default_value(info));
    return lacks_attribute(call, info);
  }
  std::optional<ExprIndex> at = value(given, info.kind);
  if (!at) return std::nullopt;
  if (std::optional<Value> v = exprs_.folded(*at)) {
    if (std::optional<Value> normal = normal_form(info.kind, *v)) return literal_attr(*normal);
    return bad_attribute(call, info, tree_[given].span, *v);
  }
  return computed(*at);
}

TermAttr RuleCompiler::right_slot(ExprIndex expr) {
  std::optional<Value> v = exprs_.folded(expr);
  return v ? literal_attr(*v) : computed(expr);
}

TermAttr RuleCompiler::computed(ExprIndex expr) {
  const ValueExpr& e = rule_.exprs[expr];
  if (e.kind == Kind::Variable) return variable_attr(e.variable);
  TermAttr attr;
  attr.kind = TermAttr::Kind::Computed;
  attr.expr = expr;
  return attr;
}

/// `split(x, axis, sizes = [a, b])` is slices from 0 to a and from a to a + b; `parts = n` needs a
/// parameter as x, whose size is known.
bool RuleCompiler::right_split(const Call& call, Terms& out) {
  std::optional<TermId> whole = right_one(call.operands[0]);
  if (!whole) return false;
  Call piece = call; // the axis stands in slot 0 of both
  piece.op = OpKind::Slice;
  std::optional<TermAttr> axis = right_attr(piece, 0, {*whole});
  if (!axis) return false;
  llvm::SmallVector<ExprIndex, 4> sizes;
  if (!split_sizes(call, *whole, *axis, sizes)) return false;
  ExprIndex start = exprs_.literal(Value::of_int(0));
  for (size_t i = 0; i < sizes.size(); ++i) {
    ExprIndex stop = i == 0 ? sizes[i] : exprs_.op(Kind::Add, {start, sizes[i]});
    Term term;
    term.kind = Term::Kind::Op;
    term.op = OpKind::Slice;
    term.operands.push_back(*whole);
    term.attrs.push_back(*axis);
    for (ExprIndex bound : {start, stop}) term.attrs.push_back(right_slot(bound));
    out.push_back(add(std::move(term)));
    start = stop;
  }
  return true;
}

bool RuleCompiler::split_sizes(const Call& call, TermId whole, const TermAttr& axis,
                               llvm::SmallVectorImpl<ExprIndex>& sizes) {
  if (ast::ExprId given = call.attrs[1];
      given.valid() && tree_[given].kind == ast::ExprKind::List) {
    if (tree_[given].items.size() > kMaxParts) {
      fail(error(Code::rule_pattern, tree_[given].span, "a split in a rule has at most {0} parts",
                 kMaxParts));
      return false;
    }
    for (ast::ExprId item : tree_[tree_[given].items]) {
      std::optional<ExprIndex> size = value(item);
      if (!size) return false;
      sizes.push_back(*size);
    }
    return true;
  }
  bool counted = call.parts.valid() && tree_[call.parts].kind == ast::ExprKind::Int &&
                 tree_[call.parts].int_value >= 1 && tree_[call.parts].int_value <= kMaxParts;
  if (!counted || rule_.terms[whole].kind != Term::Kind::ClassVar) {
    fail(error(Code::rule_pattern, tree_[call.expr].span,
               "a split in a rule needs `sizes` as a list, or `parts` as a "
               "number and a parameter to "
               "split"));
    return false;
  }
  int64_t parts = tree_[call.parts].int_value;
  ExprIndex at = exprs_.of(axis);
  ExprIndex size =
      exprs_.op(Kind::Div, {exprs_.of_class(Kind::Dim, rule_.terms[whole].variable, {at}),
                            exprs_.literal(Value::of_int(parts))});
  sizes.assign(static_cast<size_t>(parts), size);
  return true;
}

/// A number as a tensor: a scalar of the dtype of the rule's tensors.
std::optional<TermId> RuleCompiler::right_constant(ast::ExprId id) {
  std::optional<ExprIndex> number = value(id);
  if (!number) return std::nullopt;
  return constant_term(floats_attr(*number), false);
}

TermAttr RuleCompiler::floats_attr(ExprIndex number) {
  ExprIndex list = exprs_.op(Kind::Floats, {number});
  if (std::optional<Value> v = exprs_.folded(list)) return literal_attr(*v);
  return computed(list);
}

TermId RuleCompiler::constant_term(TermAttr values, bool left) {
  Term term;
  term.kind = Term::Kind::Op;
  term.op = OpKind::Constant;
  term.attrs.push_back(std::move(values));
  if (left || !dtype_var_) // until it meets something that has a dtype
    term.attrs.push_back(literal_attr(Value::of_type(f32({}))));
  else
    term.attrs.push_back(
        computed(exprs_.of_class(Kind::TypeLike, *dtype_var_, {exprs_.op(Kind::List, {})})));
  TermId id = add(std::move(term));
  numbers_.insert(id);
  return id;
}

/// Numbers among the operands take the dtype of what they meet, as in models.
void RuleCompiler::give_dtypes(const Term& user) {
  auto is_number = [&](TermId id) { return numbers_.count(id) != 0; };
  std::optional<uint32_t> like;
  for (size_t i = 0; i < user.operands.size() && !like; ++i)
    if (!is_number(user.operands[i]) && !is_choice(user.op, i))
      like = types_.dtype_like(user.operands[i]);
  for (size_t i = 0; i < user.operands.size() && like; ++i) {
    TermId number = user.operands[i];
    if (!is_number(number) || is_choice(user.op, i)) continue;
    numbers_.erase(number);
    ExprIndex type = exprs_.of_class(Kind::TypeLike, *like, {exprs_.op(Kind::List, {})});
    const AttrInfo& slot = op_info(OpKind::Constant).attrs()[1];
    rule_.terms[number].attrs[1] = on_left_ ? equal_to(type, slot) : computed(type);
  }
}

/// `zeros([2, n])`, `ones(shape)`, `full(shape, value)` on the right.
std::optional<TermId> RuleCompiler::filled(ast::ExprId id) {
  const ast::Expr& e = tree_[id];
  llvm::ArrayRef<ast::Arg> args = tree_[e.args];
  size_t wanted = e.callee.text == "full" ? 2 : 1;
  if (args.size() != wanted || !dtype_var_)
    return fail(error(args.size() > wanted ? Code::too_many_arguments : Code::missing_argument,
                      e.span, "`{0}` takes {1}", e.callee.text,
                      wanted == 1 ? "a shape" : "a shape and a number"));
  std::optional<ExprIndex> shape = value(args[0].value);
  if (!shape) return std::nullopt;
  std::optional<ExprIndex> number;
  if (wanted == 2)
    number = value(args[1].value);
  else
    number = exprs_.literal(Value::of_int(e.callee.text == "ones"));
  if (!number) return std::nullopt;
  Term term;
  term.kind = Term::Kind::Op;
  term.op = OpKind::Constant;
  term.attrs.push_back(floats_attr(*number));
  term.attrs.push_back(computed(exprs_.of_class(Kind::TypeLike, *dtype_var_, {*shape})));
  return add(std::move(term));
}

} // namespace tg
