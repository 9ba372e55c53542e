#include "compiler/ir/eval/arguments.h"

#include "lang/check/consteval.h"
#include "lang/syntax/idioms.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>

namespace tg::eval {

using ast::ExprKind;
using Base = ParamKind::Base;

namespace {

/// Returns a hint for a quoted word, as in `pad = "same"`.
std::string quoted_word_hint(llvm::StringRef name, const ParamKind& kind, const Val& val) {
  AttrKind words = kind.base == Base::Pad     ? AttrKind::pad
                   : kind.base == Base::Act   ? AttrKind::act
                   : kind.base == Base::DType ? AttrKind::dtype
                                              : AttrKind::string;
  bool text = val.is(Val::Kind::Const) && val.value.is(Value::Kind::String);
  return text && kind.lists == 0 ? idiom_of_quotes(name, words, val.value.text) : "";
}

/// Returns a hint for one argument too many, as in `linear(x, 784, 256)`, where the input size is
/// not a parameter.
std::string takes(const Frame& frame) {
  std::vector<llvm::StringRef> names;
  for (const ast::Param& param : frame.ast[frame.decl.params]) names.push_back(param.name.text);
  return llvm::formatv("`{0}` takes {1}; sizes follow from the tensors", frame.decl.name.text,
                       llvm::join(names, ", "));
}

/// Returns true if a bound value equals this list of integers.
bool is_shape(const Val& val, llvm::ArrayRef<Size> shape) {
  if (!val.is(Val::Kind::List) || val.items.size() != shape.size()) return false;
  for (size_t i = 0; i < shape.size(); ++i)
    if (!val.items[i].integer() || val.items[i].as_size() != shape[i]) return false;
  return true;
}

} // namespace

/// Converts a value to the form of the kind: an int to a float, one number to a pair.
bool convert(Val& val, const ParamKind& kind) {
  using Kind = Value::Kind;
  bool is_list = val.is(Val::Kind::List);
  if (kind.lists > 0) {
    ParamKind item = kind;
    --item.lists;
    return is_list && llvm::all_of(val.items, [&](Val& v) { return convert(v, item); });
  }
  bool is_const = val.is(Val::Kind::Const);
  bool is_int = val.integer();
  auto ints = [&] {
    return is_list && llvm::all_of(val.items, [](const Val& v) { return v.integer(); });
  };
  switch (kind.base) {
  case Base::Int: return is_int;
  case Base::Bool: return is_const && val.value.is(Kind::Bool);
  case Base::Float:
    if (is_int && val.is(Val::Kind::Open))
      val = Val::open_float(as_real(val.value), val.run, val.size);
    else if (is_int)
      val.value = Value::of_float(as_real(val.value));
    return (is_const || val.is(Val::Kind::Open)) && val.value.is(Kind::Float);
  case Base::Act: return is_const && val.value.is(Kind::Enum) && parse_act(val.value.text);
  case Base::Pad:
    if (is_const && val.value.is(Kind::Enum))
      return llvm::is_contained(enum_members(AttrKind::pad), val.value.text);
    return is_int || (ints() && (val.items.size() == 2 || val.items.size() == 4));
  case Base::Pair:
    if (is_int) val = Val::list({val, val});
    return is_int || (ints() && val.items.size() == 2);
  case Base::DType:
    return is_const && val.value.is(Kind::Enum) && parse_dtype(val.value.text).has_value();
  case Base::Tensor:
  case Base::Tuple:
  case Base::Unknown: break;
  }
  return false;
}

bool Arguments::bind(Frame& caller, Frame& frame, Span call, const GivenArguments& given) {
  llvm::ArrayRef<ast::Param> params = frame.ast[frame.decl.params];
  bool good = true;
  for (size_t i = 0; i < params.size(); ++i)
    if (given[i].first && !is_tensor(frame.ast, params[i]))
      good &= bind_constant(frame, {caller, params[i], *given[i].first}, given[i].second);
  if (!good) return false;
  // Literals last: they take the dtype that the other arguments bind.
  for (bool literals : {false, true})
    for (size_t i = 0; i < params.size(); ++i)
      if (given[i].first && is_tensor(frame.ast, params[i]) &&
          given[i].second.literal() == literals)
        good &= bind_tensor(frame, {caller, params[i], *given[i].first}, given[i].second);
  if (!good || !defaults(frame)) return false;
  for (size_t i = 0; i < params.size(); ++i) {
    if (!given[i].first || !is_tensor(frame.ast, params[i])) continue;
    const Binding* binding = frame.find(params[i].name.text);
    if (binding && !binding->val.absent())
      good &= check_type(frame, {caller, params[i], *given[i].first}, params[i].type,
                         Val(binding->val));
  }
  return good && check_where(frame, call);
}

bool Arguments::bind_constant(Frame& frame, const Site& site, Val val) {
  const ast::Param& param = site.param;
  ParamKind kind = param.type ? param_kind(frame.ast, frame.ast[param.type]) : ParamKind{};
  if (!convert(val, kind)) {
    Code code = val.is(Val::Kind::Tensor) ? Code::not_constant : Code::wrong_kind;
    Diagnostic d =
        error(code, site.arg.span, "`{0}` of `{1}` must be of kind {2}, got {3}", param.name.text,
              frame.decl.name.text, kind_name(kind), report_.describe(val))
            .at(param.span, "declared here");
    d.help = quoted_word_hint(param.name.text, kind, val);
    bool size = val.integer();
    if (size && site.arg.kind == ast::ArgKind::Positional && kind.base == Base::Bool)
      d.help = takes(frame);
    report_.fail(site.caller, std::move(d));
    return false;
  }
  frame.arguments +=
      (frame.arguments.empty() ? "" : ", ") + param.name.text.str() + " = " + report_.describe(val);
  frame.bind(param.name.text, std::move(val), Bound::Parameter, param.name.span);
  return true;
}

bool Arguments::bind_tensor(Frame& frame, const Site& site, Val val) {
  bool left_out = val.absent() && site.param.default_value; // an optional tensor
  if (!left_out && !bind_type(frame, site, site.param.type, val)) return false;
  frame.bind(site.param.name.text, std::move(val), Bound::Parameter, site.param.name.span);
  return true;
}

/// Reports that an argument does not have its parameter's type. Always returns false.
bool Arguments::needs(Frame& frame, const Site& site, ast::TypeRef want, Code code,
                      std::string label, const Val& got) {
  Diagnostic d =
      error(code, site.arg.span, "`{0}` of `{1}` must be {2}, got {3}", site.param.name.text,
            frame.decl.name.text, report_.text(frame.ast[want].span), report_.describe(got));
  d.label = std::move(label);
  d.labels.push_back(
      {code == Code::dimension_mismatch ? frame.ast[want].span : site.param.span, "declared here"});
  if (got.is(Val::Kind::Tensor))
    report_.note_operands(site.caller, Operand{got.node, site.arg.value}, d);
  if (code == Code::dtype_mismatch)
    d.help =
        llvm::formatv("convert it: cast({0}, {1})", report_.written(site.caller, site.arg.value),
                      dtype_name(*dtype_of(frame, frame.ast[want])));
  report_.fail(site.caller, std::move(d));
  return false;
}

/// Converts a value to the written type, as far as that is known before all names are bound, and
/// binds the dimensions that are single names.
bool Arguments::bind_type(Frame& frame, const Site& site, ast::TypeRef ref, Val& val) {
  const ast::Type& want = frame.ast[ref];
  if (want.kind == ast::TypeKind::Tuple) {
    llvm::ArrayRef<ast::TypeRef> parts = frame.ast[want.parts];
    bool fits = val.is(Val::Kind::Tuple) && val.items.size() == parts.size();
    if (!fits) return needs(frame, site, ref, Code::wrong_kind, "", val);
    for (size_t i = 0; i < parts.size(); ++i) // as deep as brackets nest
      if (!bind_type(frame, site, parts[i], val.items[i])) return false;
    return true;
  }
  std::optional<DType> dtype = dtype_of(frame, want);
  NodeId node;
  if (!nodes_.tensor(site.caller, val, site.arg.span, node, dtype.value_or(DType::None)))
    return false;
  val = Val::of(node);
  if (!dtype)
    frame.bind(want.name.text, Val::of(Value::of_enum(dtype_name(nodes_.dtype(node)))),
               Bound::Dimension, want.name.span);
  else if (*dtype != nodes_.dtype(node))
    return needs(
        frame, site, ref, Code::dtype_mismatch,
        llvm::formatv("this is {0}, not {1}", dtype_name(nodes_.dtype(node)), dtype_name(*dtype)),
        val);
  return bind_rank(frame, site, want, node) &&
         bind_dimensions(frame, site, want, nodes_.type(node));
}

bool Arguments::bind_rank(Frame& frame, const Site& site, const ast::Type& want, NodeId node) {
  llvm::ArrayRef<ast::ExprId> dims = frame.ast[want.dims];
  auto rank = static_cast<size_t>(nodes_.rank(node));
  bool spread =
      llvm::any_of(dims, [&](ast::ExprId dim) { return frame.ast[dim].kind == ExprKind::Spread; });
  if (spread ? rank + 1 >= dims.size() : rank == dims.size()) return true;
  Diagnostic d = error(Code::shape_mismatch, site.arg.span, "`{0}` of `{1}` must be {2}, got {3}",
                       site.param.name.text, frame.decl.name.text, report_.text(want.span),
                       nodes_.type(node).text());
  d.label = llvm::formatv("{0} dimension{1}, expected {2}{3}", rank, rank == 1 ? "" : "s",
                          dims.size() - spread, spread ? " or more" : "");
  d.labels.push_back({site.param.span, "declared here"});
  report_.note_operands(site.caller, Operand{node, site.arg.value}, d);
  report_.fail(site.caller, std::move(d));
  return false;
}

/// Binds the dimensions that are single names. A name bound already, by an explicit argument or an
/// earlier tensor, must agree.
bool Arguments::bind_dimensions(Frame& frame, const Site& site, const ast::Type& want,
                                const OpenType& type) {
  SizeSite place(nodes_.run(), site.arg.span);
  llvm::ArrayRef<ast::ExprId> dims = frame.ast[want.dims];
  llvm::SmallVector<int64_t, 6> axes = axes_of(frame.ast, dims, type.rank());
  for (size_t i = 0; i < dims.size(); ++i) {
    const ast::Expr& dim = frame.ast[dims[i]];
    bool spread = dim.kind == ExprKind::Spread;
    if (!spread && (dim.kind != ExprKind::Name || dim.text == "_")) continue;
    llvm::ArrayRef<Size> part(type.shape);
    part = spread ? part.slice(i, part.size() + 1 - dims.size())
                  : part.slice(static_cast<size_t>(axes[i]), 1);
    const Binding* bound = frame.find(dim.text);
    Val found = spread ? Val::of(part) : Val::of(part[0]);
    if (!bound) {
      frame.bind(dim.text, std::move(found), Bound::Dimension, dim.span);
      continue;
    }
    const Val& val = bound->val;
    bool same = spread ? is_shape(val, part) : val.integer() && val.as_size() == part[0];
    if (same) continue;
    Diagnostic d =
        error(Code::dimension_mismatch, site.arg.span, "`{0}` of `{1}` is {2} here but {3} in {4}",
              dim.text, frame.decl.name.text, report_.describe(val), report_.describe(found),
              type.text());
    if (!spread)
      d.label =
          llvm::formatv("dimension {0} of {1} is {2}", axes[i], type.text(), part[0].sample());
    d.labels.push_back({bound->span, llvm::formatv("`{0}` was bound to {1} here", dim.text,
                                                   report_.describe(val))});
    report_.fail(site.caller, std::move(d));
    return false;
  }
  return true;
}

bool Arguments::defaults(Frame& frame) {
  for (const ast::Param& param : frame.ast[frame.decl.params]) {
    if (frame.find(param.name.text)) continue;
    bool input = is_tensor(frame.ast, param);
    if (!param.default_value && input) continue; // input of a model: model_inputs makes it
    if (!param.default_value) return false;      // check_names has reported it
    Val val = expressions_.expression(frame, param.default_value);
    if (val.poison()) return false;
    ParamKind kind = param_kind(frame.ast, frame.ast[param.type]);
    bool good = input ? val.absent() : convert(val, kind);
    if (!good) {
      Span span = frame.ast[param.default_value].span;
      if (input)
        report_.fail(frame,
                     error(Code::wrong_kind, span, "the default of a tensor can only be `none`"));
      else
        report_.fail(frame,
                     error(Code::wrong_kind, span, "`{0}` is of kind {1}, but its default is {2}",
                           param.name.text, kind_name(kind), report_.describe(val))
                         .suggest(quoted_word_hint(param.name.text, kind, val)));
      return false;
    }
    frame.bind(param.name.text, std::move(val), Bound::Parameter, param.name.span);
  }
  return true;
}

/// Checks the computed dimensions, after all names are bound.
bool Arguments::check_type(Frame& frame, const Site& site, ast::TypeRef ref, const Val& val) {
  const ast::Type& want = frame.ast[ref];
  for (size_t i = 0; i < want.parts.size(); ++i) // as deep as brackets nest
    if (!check_type(frame, site, frame.ast[want.parts][i], val.items[i])) return false;
  if (!val.is(Val::Kind::Tensor)) return true;
  SizeSite place(nodes_.run(), site.arg.span);
  const OpenType type = nodes_.type(val.node);
  llvm::ArrayRef<ast::ExprId> dims = frame.ast[want.dims];
  llvm::SmallVector<int64_t, 6> axes = axes_of(frame.ast, dims, type.rank());
  for (size_t i = 0; i < dims.size(); ++i) {
    ExprKind kind = frame.ast[dims[i]].kind;
    if (kind == ExprKind::Name || kind == ExprKind::Spread) continue;
    Size size = 0, got = type[static_cast<size_t>(axes[i])];
    if (!types_.dimension(frame, dims[i], size)) return false;
    if (size == got) continue;
    llvm::StringRef text = report_.text(frame.ast[dims[i]].span);
    std::string number = std::to_string(size.sample());
    std::string value = text == number ? "" : " = " + number;
    return needs(
        frame, site, ref, Code::dimension_mismatch,
        llvm::formatv("dimension {0} is {1}, not {2}{3}", axes[i], got.sample(), text, value), val);
  }
  return true;
}

bool Arguments::check_where(Frame& frame, Span call_site) {
  for (ast::ExprId condition : frame.ast[frame.decl.where]) {
    Val v = expressions_.expression(frame, condition);
    if (v.poison()) return false;
    if (!v.is(Val::Kind::Const) || !v.value.is(Value::Kind::Bool)) {
      report_.fail(frame, error(Code::wrong_kind, frame.ast[condition].span,
                                "a where clause must be a compile-time bool, got {0}",
                                report_.describe(v)));
      return false;
    }
    if (v.value.number) continue;
    Diagnostic d = error(Code::where_violated, call_site, "`{0}` requires {1}",
                         frame.decl.name.text, report_.text(frame.ast[condition].span));
    d.labels.push_back({frame.ast[condition].span, "this condition is false"});
    report_.note_values(frame, condition, d);
    report_.fail(frame.caller ? *frame.caller : frame, std::move(d));
    return false;
  }
  return true;
}

} // namespace tg::eval
