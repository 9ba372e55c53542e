// Calls of functions, and models. Binding goes in the order that language.md gives: arguments,
// then the dimension names that the arguments' shapes bind, then defaults, then what is only
// checked (computed dimensions, where clauses), then the body, then the result.
#include "compiler/ir/eval.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>

#include <algorithm>

namespace tg::eval {

using ast::ExprKind;
using Base = ParamKind::Base;

namespace {

bool is_tensor(const Ast& ast, const ast::Param& param) {
  return param.type && param_kind(ast, ast[param.type]).base == Base::Tensor;
}

/// The calls of a body in textual order, those inside of `if` and `for` included.
class CallFinder {
public:
  explicit CallFinder(const Ast& ast) : ast_(ast) {}

  void block(ast::BlockId id) {
    if (!id) return;
    for (ast::StmtId stmt : ast_[ast_[id].stmts]) {
      expression(ast_[stmt].value);
      block(ast_[stmt].body);
    }
  }

  std::vector<ast::ExprId> in_order() {
    llvm::sort(calls, [&](ast::ExprId a, ast::ExprId b) {
      return ast_[a].callee.span.begin < ast_[b].callee.span.begin;
    });
    return std::move(calls);
  }

private:
  void expression(ast::ExprId id) { // as deep as the tree, which the parser bounds
    if (!id) return;
    const ast::Expr& e = ast_[id];
    if (e.kind == ExprKind::Call) calls.push_back(id);
    for_each_child(ast_, id, [this](ast::ExprId child) { expression(child); });
    block(e.then_block);
    block(e.else_block);
  }

  const Ast& ast_;
  std::vector<ast::ExprId> calls;
};

} // namespace

// --- weight paths
// -----------------------------------------------------------------------------------

/// The callee's name, numbered from 1 in textual order where the function has several unnamed calls
/// of it; or the name that `as` gives.
const std::string& Evaluator::call_segment(const Frame& frame, ast::ExprId call) {
  auto key = [&](ast::ExprId id) { return std::make_pair(frame.fn.module, id.index); };
  if (segmented_.insert({frame.fn.module, frame.fn.decl.index}).second) {
    CallFinder finder(frame.ast);
    finder.block(frame.decl.body);
    llvm::StringMap<std::vector<ast::ExprId>> by_callee;
    for (ast::ExprId id : finder.in_order()) {
      const ast::Expr& e = frame.ast[id];
      segments_[key(id)] = e.alias.present() ? e.alias.text.str() : e.callee.text.str();
      if (!e.alias.present()) by_callee[e.callee.text].push_back(id);
    }
    for (const auto& entry : by_callee) { // any order: each writes its own entries
      const std::vector<ast::ExprId>& calls = entry.second;
      for (size_t i = 0; i < calls.size() && calls.size() > 1; ++i)
        segments_[key(calls[i])] += std::to_string(i + 1);
    }
  }
  return segments_[key(call)];
}

// --- calls
// ------------------------------------------------------------------------------------------

Val Evaluator::call(Frame& frame, ast::ExprId id, const ast::Expr& e) {
  Callee callee = resolve_callee(frame.module, e.callee.text);
  switch (callee.kind) {
  case Callee::Kind::Unknown: return {}; // check_names has reported it
  case Callee::Kind::Fn: return call_function(frame, id, e, callee.fn);
  case Callee::Kind::Builtin: return call_builtin(frame, id, e, *callee.builtin);
  case Callee::Kind::Op: return call_op(frame, id, e, callee.op);
  }
  return {};
}

Val Evaluator::call_function(Frame& caller, ast::ExprId id, const ast::Expr& e, FnRef fn) {
  if (call_depth_ == kMaxCallDepth)
    return limit(caller, e.span, llvm::formatv("calls nest deeper than {0}", kMaxCallDepth));
  auto frame = std::make_unique<Frame>(program_, fn); // large: not on the stack
  Callee callee{Callee::Kind::Fn, fn, nullptr, {}};
  auto args = match_arguments(signature(program_, callee), caller.ast, e.args);
  std::vector<std::pair<const ast::Arg*, Val>> given(args.size());
  bool poison = false;
  for (size_t i = 0; i < args.size(); ++i) {
    if (!args[i]) continue;
    given[i] = {args[i], expression(caller, args[i]->value)};
    poison |= given[i].second.poison();
  }
  if (poison) return {};
  frame->caller = &caller;
  frame->call_site = e.span;
  frame->prefix = caller.prefix + call_segment(caller, id) + round_suffix(caller) + ".";
  if (!bind_arguments(caller, *frame, e, given)) return {};
  ++call_depth_;
  Val val = result(*frame, scoped_block(*frame, frame->decl.body));
  --call_depth_;
  return val;
}

bool Evaluator::bind_arguments(Frame& caller, Frame& frame, const ast::Expr& e,
                               std::vector<std::pair<const ast::Arg*, Val>>& given) {
  llvm::ArrayRef<ast::Param> params = frame.ast[frame.decl.params];
  bool good = true;
  for (size_t i = 0; i < params.size(); ++i)
    if (given[i].first && !is_tensor(frame.ast, params[i]))
      good &= bind_constant(caller, frame, params[i], *given[i].first, given[i].second);
  if (!good) return false;
  for (size_t i = 0; i < params.size(); ++i)
    if (given[i].first && is_tensor(frame.ast, params[i]))
      good &= bind_tensor(caller, frame, params[i], *given[i].first, given[i].second);
  if (!good || !bind_defaults(frame)) return false;
  for (size_t i = 0; i < params.size(); ++i) {
    const Binding* binding = frame.find(params[i].name.text);
    if (given[i].first && binding && binding->val.is(Val::Kind::Tensor))
      good &= check_dimensions(caller, frame, params[i], *given[i].first, type(binding->val.node));
  }
  return good && check_where(frame, e.span);
}

bool Evaluator::bind_constant(Frame& caller, Frame& frame, const ast::Param& param,
                              const ast::Arg& arg, Val val) {
  ParamKind kind = param.type ? param_kind(frame.ast, frame.ast[param.type]) : ParamKind{};
  if (!convert(val, kind)) {
    Code code = val.is(Val::Kind::Tensor) ? Code::not_constant : Code::wrong_kind;
    report(caller, error(code, arg.span, "`{0}` of `{1}` is of kind {2}, got {3}", param.name.text,
                         frame.decl.name.text, kind_name(kind), describe(val))
                       .at(param.span, "declared here"));
    return false;
  }
  frame.arguments +=
      (frame.arguments.empty() ? "" : ", ") + param.name.text.str() + " = " + describe(val);
  frame.bind(param.name.text, std::move(val), Bound::Parameter, param.name.span);
  return true;
}

bool Evaluator::bind_tensor(Frame& caller, Frame& frame, const ast::Param& param,
                            const ast::Arg& arg, const Val& val) {
  if (val.absent() && param.default_value) { // an optional tensor, left out by name
    frame.bind(param.name.text, val, Bound::Parameter, param.name.span);
    return true;
  }
  NodeId node;
  if (!tensor(caller, val, arg.span, node)) return false;
  const ast::Type& want = frame.ast[param.type];
  if (want.dims.size() != static_cast<size_t>(type(node).rank())) {
    Diagnostic d =
        error(Code::shape_mismatch, arg.span, "`{0}` of `{1}` needs {2}, got {3}", param.name.text,
              frame.decl.name.text, program_.sources->text(want.span), type(node).text());
    d.label = llvm::formatv("{0} dimension{1} where {2} are needed", type(node).rank(),
                            type(node).rank() == 1 ? "" : "s", want.dims.size());
    d.labels.push_back({param.span, "declared here"});
    note_operands(caller, Operand{node, arg.value}, d);
    report(caller, std::move(d));
    return false;
  }
  if (!bind_dimensions(caller, frame, param, arg, type(node))) return false;
  frame.bind(param.name.text, Val::of(node), Bound::Parameter, param.name.span);
  return true;
}

/// Binds the names that stand alone in the parameter's type. A name that is bound already, by an
/// argument given or by an earlier tensor, must agree.
bool Evaluator::bind_dimensions(Frame& caller, Frame& frame, const ast::Param& param,
                                const ast::Arg& arg, const TensorType& type) {
  llvm::ArrayRef<ast::ExprId> dims = frame.ast[frame.ast[param.type].dims];
  for (size_t i = 0; i < dims.size(); ++i) {
    const ast::Expr& dim = frame.ast[dims[i]];
    if (dim.kind != ExprKind::Name || dim.text == "_") continue;
    const Binding* bound = frame.find(dim.text);
    if (!bound) {
      frame.bind(dim.text, Val::of(Value::of_int(type[i])), Bound::Dimension, dim.span);
      continue;
    }
    const Val& val = bound->val;
    if (val.is(Val::Kind::Const) && val.value.is(Value::Kind::Int) && val.value.number == type[i])
      continue;
    report(caller,
           error(Code::dimension_mismatch, arg.span, "`{0}` of `{1}` is {2} here but {3} in {4}",
                 dim.text, frame.decl.name.text, describe(val), type[i], type.text())
               .mark(llvm::formatv("dimension {0} of {1} is {2}", i, type.text(), type[i]).str())
               .at(bound->span,
                   llvm::formatv("`{0}` was bound to {1} here", dim.text, describe(val)).str()));
    return false;
  }
  return true;
}

bool Evaluator::bind_defaults(Frame& frame) {
  for (const ast::Param& param : frame.ast[frame.decl.params]) {
    if (frame.find(param.name.text)) continue;
    bool input = is_tensor(frame.ast, param);
    if (!param.default_value && input) continue; // of a model: model_inputs makes it
    if (!param.default_value) return false;      // check_names has reported it
    Val val = expression(frame, param.default_value);
    if (val.poison()) return false;
    ParamKind kind = param_kind(frame.ast, frame.ast[param.type]);
    bool good = input ? val.absent() : convert(val, kind);
    if (!good) {
      Span span = frame.ast[param.default_value].span;
      if (input)
        report(frame, error(Code::wrong_kind, span, "the default of a tensor can only be `none`"));
      else
        report(frame, error(Code::wrong_kind, span, "`{0}` is of kind {1}, its default is {2}",
                            param.name.text, kind_name(kind), describe(val)));
      return false;
    }
    frame.bind(param.name.text, std::move(val), Bound::Parameter, param.name.span);
  }
  return true;
}

bool Evaluator::check_dimensions(Frame& caller, Frame& frame, const ast::Param& param,
                                 const ast::Arg& arg, const TensorType& type) {
  llvm::ArrayRef<ast::ExprId> dims = frame.ast[frame.ast[param.type].dims];
  for (size_t i = 0; i < dims.size(); ++i) {
    if (frame.ast[dims[i]].kind == ExprKind::Name) continue;
    int64_t want = 0;
    if (!dimension(frame, dims[i], want)) return false;
    if (want == type[i]) continue;
    llvm::StringRef text = program_.sources->text(frame.ast[dims[i]].span);
    Diagnostic d = error(Code::dimension_mismatch, arg.span, "`{0}` of `{1}` needs {2}, got {3}",
                         param.name.text, frame.decl.name.text,
                         program_.sources->text(frame.ast[param.type].span), type.text());
    std::string value = text == std::to_string(want) ? "" : llvm::formatv(" = {0}", want).str();
    d.label = llvm::formatv("dimension {0} is {1}, not {2}{3}", i, type[i], text, value);
    d.labels.push_back({frame.ast[param.type].span, "declared here"});
    note_operands(caller, Operand{frame.find(param.name.text)->val.node, arg.value}, d);
    report(caller, std::move(d));
    return false;
  }
  return true;
}

bool Evaluator::check_where(Frame& frame, Span call_site) {
  for (ast::ExprId condition : frame.ast[frame.decl.where]) {
    Val v = expression(frame, condition);
    if (v.poison()) return false;
    if (!v.is(Val::Kind::Const) || !v.value.is(Value::Kind::Bool)) {
      report(frame, error(Code::wrong_kind, frame.ast[condition].span,
                          "a where clause is a compile-time bool, got {0}", describe(v)));
      return false;
    }
    if (v.value.number) continue;
    Diagnostic d = error(Code::where_violated, call_site, "`{0}` asks for {1}",
                         frame.decl.name.text, program_.sources->text(frame.ast[condition].span));
    d.labels.push_back({frame.ast[condition].span, "which does not hold"});
    note_values(frame, condition, d);
    report(frame.caller ? *frame.caller : frame, std::move(d));
    return false;
  }
  return true;
}

/// Brings a value into the form that the kind has: an int becomes a float, one number a pair.
bool Evaluator::convert(Val& val, const ParamKind& kind) const {
  using Kind = Value::Kind;
  bool is_list = val.is(Val::Kind::List);
  if (kind.list) {
    ParamKind item = kind;
    item.list = false;
    return is_list && llvm::all_of(val.items, [&](Val& v) { return convert(v, item); });
  }
  bool is_const = val.is(Val::Kind::Const);
  bool is_int = is_const && val.value.is(Kind::Int);
  auto ints = [&] {
    return is_list && llvm::all_of(val.items, [](const Val& v) {
             return v.is(Val::Kind::Const) && v.value.is(Kind::Int);
           });
  };
  switch (kind.base) {
  case Base::Int: return is_int;
  case Base::Bool: return is_const && val.value.is(Kind::Bool);
  case Base::Float:
    if (is_int) val.value = Value::of_float(as_real(val.value));
    return is_const && val.value.is(Kind::Float);
  case Base::Act: return is_const && val.value.is(Kind::Enum) && parse_act(val.value.text);
  case Base::Pad:
    if (is_const && val.value.is(Kind::Enum))
      return llvm::is_contained(enum_members(AttrKind::pad), val.value.text);
    return is_int || (ints() && (val.items.size() == 2 || val.items.size() == 4));
  case Base::Pair:
    if (is_int) val = Val::list({val, val});
    return is_int || (ints() && val.items.size() == 2);
  case Base::Tensor:
  case Base::Unknown: break;
  }
  return false;
}

// --- types and results
// ------------------------------------------------------------------------------

bool Evaluator::dimension(Frame& frame, ast::ExprId id, int64_t& out) {
  if (!integer(frame, id, "a dimension", out)) return false;
  if (out >= 1) return true;
  report(frame, error(Code::dimension_mismatch, frame.ast[id].span,
                      "a dimension must be at least 1, got {0}", out));
  return false;
}

bool Evaluator::tensor_type(Frame& frame, ast::TypeRef ref, TensorType& out) {
  if (!ref) return false;
  const ast::Type& written = frame.ast[ref];
  if (written.kind != ast::TypeKind::Named) return false;
  std::optional<DType> dtype = parse_dtype(written.name.text);
  if (!dtype) return false;
  out = {*dtype, {}};
  int64_t left = kMaxElements;
  for (ast::ExprId dim : frame.ast[written.dims]) {
    int64_t size = 0;
    if (!dimension(frame, dim, size)) return false;
    left /= size;
    out.shape.push_back(size);
  }
  if (left >= 1 && out.rank() <= kMaxRank) return true;
  if (left < 1)
    report(frame, error(Code::overflow, written.span, "{0} has too many elements", out.text()));
  else
    report(frame, error(Code::shape_mismatch, written.span,
                        "a rank of {0} is over the limit of {1}", out.rank(), kMaxRank));
  return false;
}

/// Where the value of the body stands: its last expression.
Span Evaluator::value_span(const Frame& frame) const {
  if (!frame.decl.body) return frame.decl.span;
  llvm::ArrayRef<ast::StmtId> stmts = frame.ast[frame.ast[frame.decl.body].stmts];
  return stmts.empty() ? frame.decl.name.span : frame.ast[stmts.back()].span;
}

Val Evaluator::result(Frame& frame, Val val) {
  llvm::ArrayRef<ast::ResultType> wanted = frame.ast[frame.decl.results];
  if (val.poison()) return {};
  Span at = value_span(frame);
  if (val.is(Val::Kind::Unit))
    return report(frame,
                  error(Code::result_mismatch, at, "`{0}` has no value", frame.decl.name.text)
                      .suggest("its last line must be the expression that it gives"));
  if (wanted.empty()) return val;
  if (wanted.size() == 1) return result_matches(frame, wanted[0], val, at) ? std::move(val) : Val{};
  bool fits = val.is(Val::Kind::Tuple) && val.items.size() == wanted.size();
  if (!fits)
    return report(frame, error(Code::result_mismatch, at, "`{0}` declares {1} results, got {2}",
                               frame.decl.name.text, wanted.size(), describe(val))
                             .at(frame.decl.results_span, "declared here"));
  bool good = true;
  for (size_t i = 0; i < wanted.size(); ++i)
    good &= result_matches(frame, wanted[i], val.items[i], at);
  return good ? std::move(val) : Val{};
}

bool Evaluator::result_matches(Frame& frame, const ast::ResultType& want, Val& val, Span at) {
  NodeId node;
  if (!tensor(frame, val, at, node)) return false;
  val = Val::of(node);
  const ast::Type& written = frame.ast[want.type];
  const TensorType& got = type(node);
  llvm::ArrayRef<ast::ExprId> dims = frame.ast[written.dims];
  bool same = dims.size() == static_cast<size_t>(got.rank());
  TensorType declared{got.dtype, {}};
  for (size_t i = 0; i < dims.size(); ++i) {
    int64_t size = same ? got[i] : 1;
    bool any = frame.ast[dims[i]].kind == ExprKind::Name && frame.ast[dims[i]].text == "_";
    if (!any && !dimension(frame, dims[i], size)) return false;
    declared.shape.push_back(size);
  }
  if (declared == got) return true;
  std::string which = want.name.present() ? llvm::formatv("`{0}` ", want.name.text).str() : "";
  llvm::StringRef text = program_.sources->text(written.span);
  std::string also =
      declared.text() == text ? "" : llvm::formatv(", as {0}", declared.text()).str();
  report(frame, error(Code::result_mismatch, at, "the result {0}of `{1}` is {2}, declared as {3}",
                      which, frame.decl.name.text, got.text(), declared.text())
                    .mark("this is " + got.text())
                    .at(written.span, "declared here" + also));
  return false;
}

// --- models
// -------------------------------------------------------------------------------------------

bool Evaluator::apply_settings(Frame& frame, const ModelSettings& settings) {
  std::vector<llvm::StringRef> names;
  llvm::StringMap<const ast::Param*> params;
  for (const ast::Param& param : frame.ast[frame.decl.params])
    if (!is_tensor(frame.ast, param)) {
      names.push_back(param.name.text);
      params[param.name.text] = &param;
    }
  for (const ast::Name& dim : bound_dimensions(frame.ast, frame.decl)) names.push_back(dim.text);
  for (const auto& [name, value] : settings) {
    auto known = llvm::find(names, llvm::StringRef(name));
    if (known == names.end()) {
      llvm::StringRef near = near_miss(name, names);
      Diagnostic d = error(Code::unknown_argument, "the model `{0}` has no parameter `{1}`",
                           frame.decl.name.text, name);
      d.help = !near.empty()   ? llvm::formatv("did you mean `{0}`?", near).str()
               : names.empty() ? "it has none"
                               : "it has: " + llvm::join(names, ", ");
      return report(frame, std::move(d)), false;
    }
    Val val = Val::of(value);
    auto param = params.find(name);
    ParamKind kind;
    kind.base = Base::Int; // a dimension
    if (param != params.end()) kind = param_kind(frame.ast, frame.ast[param->second->type]);
    if (!convert(val, kind)) {
      report(frame, error(Code::wrong_kind, "the parameter `{0}` is of kind {1}, got {2}", name,
                          kind_name(kind), describe(val)));
      return false;
    }
    frame.bind(*known, std::move(val), Bound::Parameter, frame.decl.name.span);
  }
  return true;
}

/// Inputs: every dimension must have a value by now.
bool Evaluator::model_inputs(Frame& frame) {
  for (const ast::Param& param : frame.ast[frame.decl.params]) {
    if (!is_tensor(frame.ast, param)) continue;
    if (const Binding* optional = frame.find(param.name.text); optional && optional->val.absent())
      continue;
    for (ast::ExprId dim : frame.ast[frame.ast[param.type].dims]) {
      const ast::Expr& e = frame.ast[dim];
      if (e.kind != ExprKind::Name || frame.find(e.text)) continue;
      report(frame,
             error(Code::missing_argument, e.span, "the dimension `{0}` has no value", e.text)
                 .suggest(llvm::formatv("give it one: --set {0}=1, or a default: {0}: int "
                                        "= 1",
                                        e.text)));
      return false;
    }
    TensorType type;
    if (!tensor_type(frame, param.type, type)) return false;
    frame.bind(param.name.text, Val::of(graph_.input(param.name.text, type)), Bound::Parameter,
               param.name.span);
  }
  return true;
}

void Evaluator::model_outputs(Frame& frame, const Val& val) {
  llvm::ArrayRef<ast::ResultType> results = frame.ast[frame.decl.results];
  bool several = val.is(Val::Kind::Tuple) || val.is(Val::Kind::List);
  if (several && val.items.empty()) {
    report(frame, error(Code::result_mismatch, value_span(frame), "the model `{0}` has no results",
                        frame.decl.name.text));
    return;
  }
  llvm::ArrayRef<Val> all = several ? llvm::ArrayRef<Val>(val.items) : llvm::ArrayRef<Val>(val);
  for (size_t i = 0; i < all.size(); ++i) {
    NodeId node;
    if (!tensor(frame, all[i], value_span(frame), node)) return;
    std::string name = several ? "output" + std::to_string(i) : "output";
    if (i < results.size() && results[i].name.present()) name = results[i].name.text.str();
    graph_.add_output(std::move(name), node);
  }
}

bool Evaluator::model(FnRef fn, const ModelSettings& settings) {
  size_t errors = sink_.errors();
  Frame frame(program_, fn);
  bool good = apply_settings(frame, settings);
  for (const ast::Param& param : frame.ast[frame.decl.params])
    if (good && !is_tensor(frame.ast, param) && !param.default_value &&
        !frame.find(param.name.text)) {
      report(frame, error(Code::missing_argument, param.span,
                          "the parameter `{0}` of the model has no value", param.name.text)
                        .suggest(llvm::formatv("give it one: --set {0}=…", param.name.text)));
      good = false;
    }
  good = good && bind_defaults(frame) && model_inputs(frame) &&
         check_where(frame, frame.decl.name.span);
  if (good) model_outputs(frame, result(frame, scoped_block(frame, frame.decl.body)));
  return good && sink_.errors() == errors && !graph_.outputs().empty();
}

} // namespace tg::eval
