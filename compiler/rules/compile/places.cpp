#include "compiler/rules/compile/places.h"

#include "lang/core/support/round_number.h"

#include <llvm/ADT/STLExtras.h>

namespace tg {

namespace {

using Kind = ValueExpr::Kind;

} // namespace

std::optional<TermId> RulePlaces::index(ast::ExprId id) {
  const ast::Expr& e = tree_[id];
  std::optional<TermId> x = side_.tensor(e.a), whole = x;
  if (!x) return std::nullopt;
  bool ranges = false;
  llvm::ArrayRef<ast::Slice> slices = tree_[e.slices];
  int64_t count = static_cast<int64_t>(slices.size()), ellipses = 0;
  llvm::SmallVector<int64_t, 4> dropped; // axes; negative ones count from the end
  for (int64_t i = 0; i < count; ++i) {
    const ast::Slice place = slices[static_cast<size_t>(i)];
    if (place.ellipsis && ++ellipses > 1)
      return errors_.fail(error(Code::wrong_kind, e.span, "`...` can occur only once in an index"));
    if (place.ellipsis) continue;
    int64_t axis = ellipses ? i - count : i;
    bool indices = !place.range && (names_.is_tensor(place.begin) ||
                                    tree_[place.begin].kind == ast::ExprKind::List);
    if (indices && (!dropped.empty() || count != 1 + ellipses))
      return errors_.fail(error(Code::rule_pattern, place.span,
                                "in a rule, a tensor must be the only index: x[ids]"));
    if (indices) return gathered(id, *x, axis);
    if (place.range && !place.begin && !place.end && !place.step) continue;
    ranges |= place.range;
    x = piece(id, *x, axis, place);
    if (!x) return std::nullopt;
    if (!place.range) dropped.push_back(axis);
  }
  // Single indices leave axes of size 1. Without ranges, the other axes are those of the whole.
  return dropped.empty() ? x : without_axes(id, *x, ranges ? *x : *whole, dropped);
}

std::optional<ExprIndex> RulePlaces::axis_of(ast::ExprId id, TermId x, int64_t axis) {
  if (axis >= 0 || !draft_.on_left()) return exprs_.integer(axis);
  std::optional<ExprIndex> rank = draft_.types().rank(x);
  if (rank) return exprs_.op(Kind::Sub, {*rank, exprs_.integer(-axis)});
  return errors_.fail(error(Code::rule_pattern, tree_[id].span,
                            "the rank is unknown here: count axes from the front"));
}

/// Lowers a slice: a range, or the position of a single index.
std::optional<TermId> RulePlaces::piece(ast::ExprId id, TermId x, int64_t axis,
                                        const ast::Slice& place) {
  if (place.step) {
    std::optional<ExprIndex> step = values_.value(place.step);
    if (!step) return std::nullopt;
    if (exprs_.folded_int(*step) != 1)
      return errors_.fail(error(Code::rule_pattern, place.span,
                                "a slice in a rule cannot have a step, since its size "
                                "depends on the size of the axis")
                              .suggest("write it with reshape and slice"));
  }
  std::optional<ExprIndex> at = axis_of(id, x, axis);
  if (!at) return std::nullopt;
  std::optional<ExprIndex> start = exprs_.integer(0), stop;
  if (place.begin) start = bound(id, x, axis, place.begin);
  if (start && place.range) stop = bound(id, x, axis, place.end);
  if (start && !place.range) stop = exprs_.plus(*start, exprs_.integer(1));
  if (!start || !stop) return std::nullopt;
  Term term = Term::of(OpKind::Slice, x);
  llvm::ArrayRef<AttrInfo> slots = op_info(OpKind::Slice).attrs();
  const ExprIndex attrs[] = {*at, *start, *stop};
  for (size_t i = 0; i < std::size(attrs); ++i)
    term.attrs.push_back(draft_.slot(attrs[i], slots[i]));
  return draft_.add(std::move(term));
}

/// Returns a bound counted from the front; the size of the axis if it is omitted.
std::optional<ExprIndex> RulePlaces::bound(ast::ExprId id, TermId x, int64_t axis,
                                           ast::ExprId written) {
  std::optional<ExprIndex> number;
  if (written) {
    number = values_.value(written);
    if (!number) return std::nullopt;
    if (exprs_.folded_int(*number).value_or(0) >= 0) return number;
  }
  std::optional<ExprIndex> shape = draft_.types().shape(x);
  if (!shape)
    return errors_.fail(error(Code::rule_pattern, tree_[id].span,
                              "the size is unknown here: write both bounds, counted "
                              "from the front"));
  ExprIndex size = exprs_.op(Kind::Index, {*shape, exprs_.integer(axis)});
  return number ? exprs_.op(Kind::Add, {size, *number}) : size;
}

/// Removes the axes of size 1 that single indices leave, by one reshape. `shaped` has the shape
/// except for these axes.
std::optional<TermId> RulePlaces::without_axes(ast::ExprId id, TermId x, TermId shaped,
                                               llvm::ArrayRef<int64_t> axes) {
  std::optional<ExprIndex> shape = draft_.types().shape(shaped);
  if (!shape)
    return errors_.fail(
        error(Code::rule_pattern, tree_[id].span,
              "the shape is unknown here: make the indexed tensor a parameter of the rule"));
  int64_t gone = 0; // from the end
  for (int64_t axis : llvm::reverse(axes)) {
    ExprIndex size = exprs_.op(Kind::Len, {*shape}), place = exprs_.integer(axis);
    if (axis < 0) place = exprs_.minus(size, exprs_.integer(-axis - gone++));
    ExprIndex behind = exprs_.part(*shape, exprs_.plus(place, exprs_.integer(1)), size);
    bool first = exprs_.folded_int(place) == 0;
    shape = first ? behind
                  : exprs_.op(Kind::Add, {exprs_.part(*shape, exprs_.integer(0), place), behind});
  }
  Term term = Term::of(OpKind::Reshape, x);
  term.attrs.push_back(draft_.slot(*shape, op_info(OpKind::Reshape).attrs()[0]));
  return draft_.add(std::move(term));
}

/// Lowers `x[ids]` and `x[..., ids]`, along one axis.
std::optional<TermId> RulePlaces::gathered(ast::ExprId id, TermId x, int64_t axis) {
  ast::ExprId written;
  for (const ast::Slice& place : tree_[tree_[id].slices])
    if (!place.ellipsis) written = place.begin;
  std::optional<ExprIndex> at = axis_of(id, x, axis);
  std::optional<TermId> ids = at ? index_operand(written) : std::nullopt;
  if (!ids) return std::nullopt;
  Term term = Term::of(OpKind::Gather, {x, *ids});
  term.attrs.push_back(draft_.slot(*at, op_info(OpKind::Gather).attrs()[0]));
  return draft_.add(std::move(term));
}

/// Lowers a tensor, or a list of numbers to an i64 literal.
std::optional<TermId> RulePlaces::index_operand(ast::ExprId id) {
  if (names_.is_tensor(id)) return side_.tensor(id);
  std::optional<ExprIndex> list = values_.value(id);
  if (!list) return std::nullopt;
  std::optional<Value> ints = exprs_.folded(*list);
  if (!ints || !ints->is(Value::Kind::Ints) || ints->ints.empty())
    return errors_.fail(error(Code::rule_pattern, tree_[id].span,
                              "an index in a rule must be a tensor or a list of numbers"));
  Term term = Term::of(OpKind::Constant, {});
  TensorType type{DType::I64, {static_cast<int64_t>(ints->ints.size())}};
  for (Value value : {normal_numbers(*ints, DType::I64), Value::of_type(type)})
    term.attrs.push_back(TermAttr::of(std::move(value)));
  return draft_.add(std::move(term));
}

/// Lowers `x // y`: for floats floor(x / y), for integers (x - x % y) / y. The rule's variant
/// decides, with a condition on the dtype.
std::optional<TermId> RulePlaces::floor_division(ast::ExprId id) {
  const ast::Expr& e = tree_[id];
  std::optional<TermId> x = side_.tensor(e.a);
  std::optional<TermId> y = x ? side_.tensor(e.b) : std::nullopt;
  if (!y) return std::nullopt;
  divides_ = true;
  Term first = Term::of(integers_ ? OpKind::Mod : OpKind::Div, {*x, *y});
  draft_.set_number_dtypes(first);
  std::optional<uint32_t> like = draft_.types().dtype_like(*x);
  if (!like) like = draft_.types().dtype_like(*y);
  if (!like)
    return errors_.fail(error(Code::rule_pattern, e.span,
                              "the dtype is unknown here, and `//` has one meaning "
                              "for floats and another "
                              "for integers"));
  ExprIndex floats = exprs_.of_class(Kind::IsFloat, *like);
  draft_.require(integers_ ? exprs_.op(Kind::Not, {floats}) : floats);
  TermId made = draft_.add(std::move(first));
  if (!integers_) return draft_.add(Term::of(OpKind::Floor, made));
  TermId whole = draft_.add(Term::of(OpKind::Sub, {*x, made}));
  return draft_.add(Term::of(OpKind::Div, {whole, *y}));
}

} // namespace tg
