// Calls of functions, and models: the path of the call, its arguments (eval_bind.cpp), the body,
// and the result, which must be of the declared type.
#include "compiler/ir/eval.h"
#include "lang/check/composite.h"
#include "lang/check/external.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>

#include <algorithm>

namespace tg::eval {

using ast::ExprKind;
using Base = ParamKind::Base;

namespace {

/// Whether its values are tensors, known at run time only.
bool is_tensor(const Ast& ast, const ast::Param& param) {
  return param.type && param_kind(ast, ast[param.type]).run_time();
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
    llvm::sort(calls_, [&](ast::ExprId a, ast::ExprId b) {
      return ast_[a].callee.span.begin < ast_[b].callee.span.begin;
    });
    return std::move(calls_);
  }

private:
  void expression(ast::ExprId id) { // as deep as the tree, which the parser bounds
    if (!id) return;
    const ast::Expr& e = ast_[id];
    if (e.kind == ExprKind::Call) calls_.push_back(id);
    for_each_child(ast_, id, [this](ast::ExprId child) { expression(child); });
    block(e.then_block);
    block(e.else_block);
  }

  const Ast& ast_;
  std::vector<ast::ExprId> calls_;
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
  if (passes_over(fn)) return {};
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
  bool composite_op = frame->decl.kind == ast::DeclKind::Op;
  Val val = result(*frame, composite_op ? composite(caller, *frame, id)
                                        : scoped_block(*frame, frame->decl.body));
  --call_depth_;
  return val;
}

bool Evaluator::passes_over(FnRef fn) {
  if (!damaged_) return false;
  auto [at, fresh] = passed_over_.try_emplace({fn.module, fn.decl.index}, false);
  if (fresh) at->second = damaged_(fn);
  return at->second;
}

/// The value of an `op`: where its definition is element by element, one node that holds all of it,
/// so that it stays whole until a rule unfolds it; else what the definition comes to.
Val Evaluator::composite(Frame& caller, Frame& frame, ast::ExprId call) {
  if (frame.decl.external) return external(caller, frame, call);
  std::optional<Composite> body = pointwise_composite(frame.ast, frame.decl);
  if (!body) return expression(frame, frame.decl.value);
  llvm::SmallVector<Operand, 6> operands;
  DType dtype = DType::None;
  for (const Composite::Operand& operand : body->operands) {
    const Binding* bound = operand.param.empty() ? nullptr : frame.find(operand.param);
    if (!operand.param.empty() && (!bound || !bound->val.is(Val::Kind::Tensor)))
      return expression(frame, frame.decl.value); // left out, or no tensor
    operands.push_back({bound ? bound->val.node : NodeId{}, {}});
    if (bound && dtype == DType::None) dtype = type(bound->val.node).dtype;
  }
  Span span = frame.ast[frame.decl.value].span;
  for (size_t i = 0; i < operands.size(); ++i)
    if (!operands[i].node.valid() &&
        !tensor(frame, Val::of(Value::of_float(body->operands[i].number)), span, operands[i].node,
                dtype))
      return {};
  return apply(frame, frame.decl.value, OpKind::FusedMap, Value::of_string(body->body.text()),
               operands);
}

/// A call of an `extern op` is a node that carries name and declared type. Two types of one name
/// would be one operator with two meanings.
Val Evaluator::external(Frame& caller, Frame& frame, ast::ExprId call) {
  Result<std::string> signature = extern_signature(frame.ast, frame.decl);
  if (!signature) return {}; // check_names has reported it
  llvm::StringRef name = frame.decl.name.text;
  auto [known, fresh] = externs_.try_emplace(name, Extern{*signature, frame.decl.name.span});
  if (!fresh && known->second.signature != *signature)
    return report(frame, error(Code::duplicate_name, frame.decl.name.span,
                               "two `extern op`s of different types are named `{0}`", name)
                             .at(known->second.span, "the other one"));
  llvm::SmallVector<Operand, 6> operands;
  for (const ast::Param& param : frame.ast[frame.decl.params])
    operands.push_back({frame.find(param.name.text)->val.node, {}});
  return apply(caller, call, OpKind::Extern, {Value::of_string(name), Value::of_string(*signature)},
               operands);
}

// --- results
// ------------------------------------------------------------------------------------------

/// Where the value of the body stands: its last expression.
Span Evaluator::value_span(const Frame& frame) const {
  if (frame.decl.value) return frame.ast[frame.decl.value].span;
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
  if (wanted.size() == 1)
    return result_matches(frame, wanted[0], wanted[0].type, val, at) ? std::move(val) : Val{};
  bool fits = val.is(Val::Kind::Tuple) && val.items.size() == wanted.size();
  if (!fits)
    return report(frame, error(Code::result_mismatch, at, "`{0}` declares {1} results, got {2}",
                               frame.decl.name.text, wanted.size(), describe(val))
                             .at(frame.decl.results_span, "declared here"));
  bool good = true;
  for (size_t i = 0; i < wanted.size(); ++i)
    good &= result_matches(frame, wanted[i], wanted[i].type, val.items[i], at);
  return good ? std::move(val) : Val{};
}

bool Evaluator::result_matches(Frame& frame, const ast::ResultType& want, ast::TypeRef part,
                               Val& val, Span at) {
  const ast::Type& written = frame.ast[part];
  std::string which = want.name.present() ? llvm::formatv("`{0}` ", want.name.text).str() : "";
  if (written.kind == ast::TypeKind::Tuple) {
    llvm::ArrayRef<ast::TypeRef> parts = frame.ast[written.parts];
    bool fits = val.is(Val::Kind::Tuple) && val.items.size() == parts.size();
    if (!fits)
      report(frame,
             error(Code::result_mismatch, at, "the result {0}of `{1}` is {2}, declared as {3}",
                   which, frame.decl.name.text, describe(val), program_.sources->text(written.span))
                 .at(written.span, "declared here"));
    for (size_t i = 0; fits && i < parts.size(); ++i) // as deep as brackets nest
      fits = result_matches(frame, want, parts[i], val.items[i], at);
    return fits;
  }
  NodeId node;
  std::optional<DType> dtype = dtype_of(frame, written);
  if (!tensor(frame, val, at, node, dtype.value_or(DType::None))) return false;
  val = Val::of(node);
  const TensorType got = type(node);
  TensorType declared{dtype.value_or(got.dtype), {}};
  if (!declared_shape(frame, written, got, declared.shape)) return false;
  if (declared == got) return true;
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
  llvm::StringMap<BoundName::Kind> free;
  for (const BoundName& bound : bound_names(frame.ast, frame.decl)) {
    names.push_back(bound.name.text);
    free[bound.name.text] = bound.kind;
  }
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
    kind.base = free.lookup(name) == BoundName::Kind::DType ? Base::DType : Base::Int;
    kind.lists = free.lookup(name) == BoundName::Kind::Shape;
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

bool Evaluator::input_names_bound(Frame& frame) {
  for (const BoundName& bound : bound_names(frame.ast, frame.decl)) {
    llvm::StringRef name = bound.name.text;
    if (frame.find(name)) continue;
    bool dtype = bound.kind == BoundName::Kind::DType;
    bool shape = bound.kind == BoundName::Kind::Shape;
    Diagnostic d = error(Code::missing_argument, bound.name.span, "the {0} `{1}` has no value",
                         dtype   ? "dtype"
                         : shape ? "shape"
                                 : "dimension",
                         name);
    d.help = llvm::formatv("give it one: --set {0}={1}, or a default: {0}: {2}", name,
                           dtype   ? "f32"
                           : shape ? "[1]"
                                   : "1",
                           dtype   ? "DType = f32"
                           : shape ? "list[int] = [1]"
                                   : "int = 1");
    report(frame, std::move(d));
    return false;
  }
  return true;
}

/// The inputs that a parameter stands for: a tuple is one for each part, numbered.
Val Evaluator::model_input(Frame& frame, ast::TypeRef ref, const std::string& name) {
  const ast::Type& written = frame.ast[ref];
  if (written.kind == ast::TypeKind::Tuple) {
    std::vector<Val> items;
    for (ast::TypeRef part : frame.ast[written.parts]) { // as deep as brackets nest
      items.push_back(model_input(frame, part, name + "_" + std::to_string(items.size())));
      if (items.back().poison()) return {};
    }
    return Val::list(std::move(items), Val::Kind::Tuple);
  }
  TensorType type;
  return tensor_type(frame, ref, type) ? Val::of(graph_.input(name, type)) : Val{};
}

/// Inputs: every dimension must have a value by now, unless all that has it is left out.
bool Evaluator::model_inputs(Frame& frame) {
  auto left_out = [&](const ast::Param& param) {
    const Binding* bound = frame.find(param.name.text);
    return bound && bound->val.absent();
  };
  llvm::ArrayRef<ast::Param> params = frame.ast[frame.decl.params];
  if (llvm::none_of(params, left_out) && !input_names_bound(frame)) return false;
  for (const ast::Param& param : params) {
    if (!is_tensor(frame.ast, param) || left_out(param)) continue;
    Val input = model_input(frame, param.type, param.name.text.str());
    if (input.poison()) return false;
    frame.bind(param.name.text, std::move(input), Bound::Parameter, param.name.span);
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
    std::string name = several ? "output" + std::to_string(i) : "output";
    if (i < results.size() && results[i].name.present()) name = results[i].name.text.str();
    if (!model_output(frame, all[i], name)) return;
  }
}

/// The outputs that a value stands for: as with inputs, a tuple is one for each part, numbered.
bool Evaluator::model_output(Frame& frame, const Val& val, const std::string& name) {
  if (!val.is(Val::Kind::Tuple)) {
    NodeId node;
    if (!tensor(frame, val, value_span(frame), node)) return false;
    graph_.add_output(name, node);
    return true;
  }
  for (size_t i = 0; i < val.items.size(); ++i) // no deeper than kMaxListDepth
    if (!model_output(frame, val.items[i], name + "_" + std::to_string(i))) return false;
  return true;
}

bool Evaluator::model(FnRef fn, const ModelSettings& settings, ModelValue* value) {
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
  if (good) {
    Val val = result(frame, scoped_block(frame, frame.decl.body));
    if (value) *value = {describe(val), val.is(Val::Kind::Const)};
    model_outputs(frame, val);
  }
  return good && sink_.errors() == errors && !graph_.outputs().empty();
}

} // namespace tg::eval
