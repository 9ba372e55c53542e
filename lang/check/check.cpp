// See check.h. One walk over each function with a stack of scopes.
// The recursion follows the syntax tree, whose depth the parser limits (ast.h).
// An unknown name is reported at its place, once per function, because the same mistake repeats.
#include "lang/check/check.h"

#include "lang/check/composite.h"
#include "lang/check/consteval.h"
#include "lang/check/resolve.h"
#include "lang/check/size_range.h"
#include "lang/syntax/idioms.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/ADT/StringMap.h>
#include <llvm/ADT/StringSet.h>
#include <llvm/ADT/StringSwitch.h>

#include <utility>

namespace tg {

namespace {

using ast::DeclKind;
using ast::ExprKind;
using ast::StmtKind;

struct Local {
  Span span;
  bool assignable = false;
  bool twice = false; // a second definition was reported; a third is the same mistake
};

class Checker {
public:
  /// `incomplete`: some declarations of the module could not be read and may define missing names.
  Checker(const Program& program, const Module& module, DiagnosticSink& sink, bool incomplete)
      : program_(program), module_(module), ast_(module.ast), sink_(sink), incomplete_(incomplete) {
  }

  void check(const ast::Decl& fn) {
    known_unknown_.clear();
    size_t errors = sink_.errors();
    header(fn);
    if (fn.external && sink_.errors() == errors)
      if (Result<std::string> type = extern_signature(ast_, fn); !type)
        sink_.report(std::move(type.error()));
    scopes_.emplace_back(); // the body may shadow parameters
    if (fn.value) expression(fn.value);
    block(fn.body);
    scopes_.clear();
  }

private:
  // --- names ---------------------------------------------------------------------------------

  const Local* find(llvm::StringRef name) const {
    for (size_t i = scopes_.size(); i-- > 0;)
      if (auto it = scopes_[i].find(name); it != scopes_[i].end()) return &it->second;
    return nullptr;
  }

  void declare(const ast::Name& name, bool assignable = false) {
    if (!name.present() || name.text == "_") return;
    auto [it, fresh] = scopes_.back().try_emplace(name.text, Local{name.span, assignable});
    if (fresh || std::exchange(it->second.twice, true)) return;
    Diagnostic d = error(Code::duplicate_name, name.span, "`{0}` is defined twice", name.text)
                       .at(it->second.span, "first here");
    if (it->second.assignable)
      d.help = llvm::formatv("to assign a new value, omit the keyword: {0} = …", name.text);
    else
      d.help = llvm::formatv("declare a name that changes with `var {0} = …`", name.text);
    sink_.report(std::move(d));
  }

  std::vector<llvm::StringRef> visible_names() const {
    std::vector<llvm::StringRef> names;
    for (const auto& scope : scopes_)
      for (const auto& entry : scope) names.push_back(entry.getKey());
    llvm::sort(names);
    return names;
  }

  void unknown_name(llvm::StringRef name, Span span, bool assigned = false) {
    if (!known_unknown_.insert(name).second) return;
    Diagnostic d = error(Code::unknown_name, span, "unknown name `{0}`", name);
    std::vector<llvm::StringRef> names = visible_names();
    for (AttrKind kind : {AttrKind::act, AttrKind::pad})
      llvm::append_range(names, enum_members(kind));
    llvm::StringRef near = near_miss(name, names);
    if (llvm::StringRef idiom = idiom_of_name(name); !idiom.empty())
      d.help = idiom.str();
    else if (llvm::StringRef dtype = idiom_of_dtype(name); !dtype.empty())
      d.help = ("write `" + dtype + "`").str();
    else if (!near.empty())
      d.help = llvm::formatv("did you mean `{0}`?", near);
    else if (assigned)
      d.help =
          llvm::formatv("declare a new name with `let {0} = …`, or with `var` if it changes", name);
    else if (name == "x" || name == "input")
      d.help = "inputs are parameters: fn f(x: f32[N, C]) { … }";
    sink_.report(std::move(d));
  }

  void name(const ast::Expr& e) {
    if (find(e.text) || is_constant_name(e.text)) return;
    if (resolve_callee(module_, e.text).kind == Callee::Kind::Unknown)
      return unknown_name(e.text, e.span);
    sink_.report(error(Code::wrong_kind, e.span, "`{0}` is a function, not a value", e.text)
                     .suggest(llvm::formatv("call it: {0}(…)", e.text)));
  }

  // --- head of a function -----------------------------------------------------------------------

  void header(const ast::Decl& fn) {
    std::optional<OpKind> op = find_op(fn.name.text);
    if ((op && !op_info(*op).has(Trait::Yields)) || takes_builtin(fn.name.text))
      sink_.report(error(Code::duplicate_name, fn.name.span,
                         "`{0}` is an operator of the language and cannot be redefined",
                         fn.name.text));
    scopes_.emplace_back();
    for (const ast::Param& param : ast_[fn.params]) {
      declare(param.name);
      if (param.variadic)
        sink_.report(error(Code::wrong_kind, param.span, "`{0}...` is only allowed in rules",
                           param.name.text));
    }
    for (const BoundName& bound : bound_names(ast_, fn))
      scopes_.back().try_emplace(bound.name.text, Local{bound.name.span, false});
    for (const ast::Param& param : ast_[fn.params]) {
      if (param.type) parameter_type(param);
      if (param.default_value) expression(param.default_value);
      if (param.range) size_range(fn, param);
    }
    for (ast::ExprId condition : ast_[fn.where]) expression(condition);
    llvm::StringMap<Span> results;
    for (const ast::ResultType& result : ast_[fn.results]) {
      tensor_type(result.type);
      if (!result.name.present()) continue;
      auto [it, fresh] = results.try_emplace(result.name.text, result.name.span);
      if (!fresh)
        sink_.report(error(Code::duplicate_name, result.name.span,
                           "two results have the name `{0}`", result.name.text)
                         .at(it->second, "first here"));
    }
  }

  /// A mistake in the expressions of the range or the default is reported alone.
  void size_range(const ast::Decl& fn, const ast::Param& param) {
    size_t errors = sink_.errors();
    for_each_child(ast_, param.range, [this](ast::ExprId end) { expression(end); });
    bool readable = !param.type || ast_[param.type].kind != ast::TypeKind::Error;
    if (readable && sink_.errors() == errors) check_size_range(ast_, fn, param, sink_);
  }

  static bool takes_builtin(llvm::StringRef name) {
    return llvm::any_of(all_builtins(),
                        [&](const BuiltinInfo& b) { return b.name == name && !b.yields; });
  }

  void parameter_type(const ast::Param& param) {
    const ast::Type& type = ast_[param.type];
    if (type.kind == ast::TypeKind::Error) return;
    ParamKind kind = param_kind(ast_, type);
    if (kind.run_time()) return tensor_type(param.type);
    if (kind.base == ParamKind::Base::Unknown) unknown_type(type);
  }

  void unknown_type(const ast::Type& type) {
    llvm::StringRef word = type.name.text;
    Diagnostic d = error(Code::unknown_name, type.name.span, "unknown type `{0}`", word);
    std::string idiom = idiom_of_type(word);
    llvm::StringRef near =
        near_miss(word, {"int", "float", "bool", "Pad", "Act", "Pair", "DType", "list", "f32",
                         "f64", "f16", "bf16", "i32", "i64", "ints"});
    if (!idiom.empty())
      d.help = idiom;
    else if (!near.empty())
      d.help = llvm::formatv("did you mean `{0}`?", near);
    else
      d.help = "types are tensors (f32[N, C]), tuples, int, float, bool, Pad, Act, Pair, DType and "
               "list[…] of these";
    sink_.report(std::move(d));
  }

  /// Checks a type of run-time values: of a parameter, a result or a weight.
  void tensor_type(ast::TypeRef id) {
    if (!id) return;
    const ast::Type& type = ast_[id];
    if (type.kind == ast::TypeKind::Error) return;
    for (ast::TypeRef part : ast_[type.parts]) tensor_type(part); // as deep as brackets nest
    if (type.kind == ast::TypeKind::Tuple) return;
    bool known = parse_dtype(type.name.text) || find(type.name.text);
    if (!known) {
      llvm::StringRef near =
          near_miss(type.name.text, {"f32", "f64", "f16", "bf16", "i32", "i64", "bool"});
      Diagnostic d =
          error(Code::unknown_name, type.name.span, "unknown dtype `{0}`", type.name.text);
      d.help = idiom_of_type(type.name.text);
      if (d.help.empty())
        d.help = near.empty() ? "dtypes are f32, f64, f16, bf16, i32, i64 and bool"
                              : llvm::formatv("did you mean `{0}`?", near).str();
      sink_.report(std::move(d));
    }
    bool spread = false;
    for (ast::ExprId dim : ast_[type.dims]) {
      const ast::Expr& e = ast_[dim];
      if (e.kind == ExprKind::Spread && std::exchange(spread, true))
        sink_.report(error(Code::wrong_kind, e.span, "a type can have at most one shape variable"));
      if (e.kind != ExprKind::Name || e.text != "_") expression(dim);
    }
  }

  // --- statements -------------------------------------------------------------------------------

  void block(ast::BlockId id) {
    if (!id) return;
    for (ast::StmtId stmt : ast_[ast_[id].stmts]) statement(ast_[stmt]);
  }

  void scoped_block(ast::BlockId id) {
    scopes_.emplace_back();
    block(id);
    scopes_.pop_back();
  }

  void statement(const ast::Stmt& s) {
    switch (s.kind) {
    case StmtKind::Error: break;
    case StmtKind::Expr: expression(s.value); break;
    case StmtKind::Let:
    case StmtKind::Var:
      expression(s.value);
      for (const ast::Name& target : ast_[s.targets]) declare(target, s.kind == StmtKind::Var);
      break;
    case StmtKind::Assign:
      expression(s.value);
      for (const ast::Name& target : ast_[s.targets]) assignment(target);
      break;
    case StmtKind::Param: parameter(s); break;
    case StmtKind::For:
      expression(s.value);
      scopes_.emplace_back();
      for (const ast::Name& target : ast_[s.targets]) declare(target);
      scoped_block(s.body);
      scopes_.pop_back();
      break;
    }
  }

  void assignment(const ast::Name& target) {
    if (target.text == "_") return;
    const Local* local = find(target.text);
    if (!local) return unknown_name(target.text, target.span, /*assigned=*/true);
    if (local->assignable) return;
    sink_.report(error(Code::not_assignable, target.span, "`{0}` cannot be assigned", target.text)
                     .at(local->span, "declared here, not as a `var`")
                     .suggest(llvm::formatv(scopes_.front().count(target.text)
                                                ? "a parameter keeps its value: `var {0} = {0}` "
                                                  "makes a name that changes"
                                                : "declare it with `var {0} = …`",
                                            target.text)));
  }

  void parameter(const ast::Stmt& s) {
    tensor_type(s.type);
    weight_options(s.args);
    if (s.value && ast_[s.value].kind != ExprKind::Error) {
      const ast::Expr& value = ast_[s.value];
      llvm::ArrayRef<ast::Arg> args = ast_[value.args];
      bool fits = value.kind == ExprKind::Call && value.callee.text == "weight" && !args.empty() &&
                  args[0].kind == ast::ArgKind::Positional && may_be_text(args[0].value);
      if (fits) expression(args[0].value);
      if (!fits)
        sink_.report(
            error(Code::wrong_kind, value.span, "the value of a param must be `weight(\"path\")`")
                .suggest("declare a computed value with `let`"));
      else
        weight_options(value.args, 1);
    }
    for (const ast::Name& target : ast_[s.targets]) declare(target);
  }

  /// Returns true for `"w"`, `"layers." + i + ".w"`, or a name.
  bool may_be_text(ast::ExprId id) const {
    const ast::Expr& e = ast_[id];
    return e.kind == ExprKind::String || e.kind == ExprKind::Name || e.kind == ExprKind::Index ||
           (e.kind == ExprKind::Binary && e.op == ast::Op::Add);
  }

  /// Checks `init = normal(0.02)`, `uniform(a, b)`, `orthogonal(gain)`, `zeros` or `ones`;
  /// `trained = false`.
  void weight_options(ast::List<ast::Arg> list, size_t skip = 0) {
    for (const ast::Arg& arg : ast_[list].drop_front(skip)) {
      if (arg.kind == ast::ArgKind::Named && arg.name.text == "trained") {
        expression(arg.value);
        continue;
      }
      if (arg.kind != ast::ArgKind::Named || arg.name.text != "init") {
        Span span = arg.kind == ast::ArgKind::Named ? arg.name.span : arg.span;
        sink_.report(error(Code::unknown_argument, span, "unknown option `{0}` of a weight",
                           program_.sources->text(span))
                         .suggest("the options are `init = normal(0.02)` and `trained = false`"));
        continue;
      }
      const ast::Expr& init = ast_[arg.value];
      bool plain = init.kind == ExprKind::Name && (init.text == "zeros" || init.text == "ones");
      size_t wanted = llvm::StringSwitch<size_t>(init.callee.text)
                          .Cases("normal", "orthogonal", 1)
                          .Case("uniform", 2)
                          .Default(0);
      bool drawn = init.kind == ExprKind::Call && wanted == ast_[init.args].size() && wanted;
      if (init.kind != ExprKind::Error && !plain && !drawn)
        sink_.report(
            error(Code::wrong_kind, init.span, "unknown initialiser of a weight")
                .suggest(
                    "use `normal(s)`, `uniform(a, b)`, `orthogonal(gain)`, `zeros` or `ones`"));
      for (const ast::Arg& inner : ast_[init.args])
        if (inner.value) expression(inner.value);
    }
  }

  // --- expressions ------------------------------------------------------------------------------

  void expression(ast::ExprId id) {
    if (!id) return;
    const ast::Expr& e = ast_[id];
    if (e.kind == ExprKind::Name || e.kind == ExprKind::Spread) return name(e);
    if (e.kind == ExprKind::Call) call(e);
    for_each_child(ast_, id, [this](ast::ExprId child) { expression(child); });
    if (e.kind != ExprKind::If) return;
    scoped_block(e.then_block);
    if (e.else_block) scoped_block(e.else_block);
  }

  void call(const ast::Expr& e) {
    Callee callee = resolve_callee(module_, e.callee.text);
    if (callee.kind == Callee::Kind::Unknown) return unknown_callee(e);
    if (callee.kind == Callee::Kind::Fn && program_.decl(callee.fn).kind == DeclKind::Model)
      sink_.report(error(Code::wrong_kind, e.callee.span,
                         "`{0}` is a model, and models cannot be called", e.callee.text)
                       .suggest("move the shared part into a `fn`"));
    bool op = callee.kind == Callee::Kind::Fn && program_.decl(callee.fn).kind == DeclKind::Op;
    if (e.alias.present() && (op || callee.kind != Callee::Kind::Fn))
      sink_.report(error(Code::wrong_kind, e.alias.span,
                         "`{0}` has no weights, so the call cannot have a name", e.callee.text));
    arguments(e, callee);
  }

  void unknown_callee(const ast::Expr& e) {
    llvm::StringRef name = e.callee.text;
    if (find(name)) {
      sink_.report(
          error(Code::wrong_kind, e.callee.span, "`{0}` is a value and cannot be called", name));
      return;
    }
    if (incomplete_ || !known_unknown_.insert(name).second) return;
    Diagnostic d = error(Code::unknown_name, e.callee.span, "unknown function `{0}`", name);
    std::string library = library_module_of(*program_.loader, name);
    std::string idiom = idiom_of_function(name);
    if (name == "weight")
      d.help = "declare the weight: param w: f32[…] = weight(\"path\")";
    else if (!library.empty())
      d.help = llvm::formatv("it is in the library: use {0}: {1}", library, name);
    else if (!idiom.empty())
      d.help = idiom;
    else
      d.help = near_callee(name);
    sink_.report(std::move(d));
  }

  /// Returns a suggestion for a callee with a similar spelling, callable here or in the library.
  std::string near_callee(llvm::StringRef name) const {
    std::vector<llvm::StringRef> names = callable_names(module_);
    std::vector<LibraryFunction> library = library_functions(*program_.loader);
    size_t here = names.size();
    for (const LibraryFunction& function : library) names.push_back(function.name);
    llvm::StringRef near = near_miss(name, names);
    if (near.empty()) return "";
    if (llvm::is_contained(llvm::makeArrayRef(names).take_front(here), near))
      return llvm::formatv("did you mean `{0}`?", near);
    for (const LibraryFunction& function : library)
      if (function.name == near)
        return llvm::formatv("`{0}` is in {1}: `use {1}: {0}`", near, function.module);
    return "";
  }

  void arguments(const ast::Expr& e, const Callee& callee) {
    Signature want = signature(program_, callee);
    llvm::SmallVector<bool, 8> given(want.slots.size(), false);
    size_t position = 0;
    bool by_kind = callee.kind == Callee::Kind::Op;
    for (const ast::Arg& arg : ast_[e.args]) {
      if (arg.kind == ast::ArgKind::Rest || arg.kind == ast::ArgKind::Spread) {
        sink_.report(error(Code::wrong_kind, arg.span, "`{0}` is only allowed in rules",
                           program_.sources->text(arg.span)));
        return;
      }
      if (arg.kind == ast::ArgKind::Named) {
        named_argument(e, want, arg, given);
        continue;
      }
      size_t slot = want.variadic ? 0 : position;
      // After the required operands, a position does not determine the slot of an operator.
      bool known = slot < given.size() &&
                   (!by_kind || (want.slots[slot].operand && want.slots[slot].required));
      if (known) given[slot] = true;
      if (++position > given.size() && !want.variadic) return too_many(e, want, callee, arg);
    }
    // A missing argument may have been given under a wrong name.
    for (const ast::Arg& arg : ast_[e.args])
      if (arg.kind == ast::ArgKind::Named && want.find(arg.name.text) < 0) return;
    llvm::SmallVector<llvm::StringRef, 4> lacking;
    for (size_t i = 0; i < given.size(); ++i) {
      bool by_position = by_kind && !want.slots[i].operand && position > i;
      if (want.slots[i].required && !given[i] && !by_position)
        lacking.push_back(want.slots[i].name);
    }
    if (!lacking.empty()) missing(e, lacking, callee);
  }

  void named_argument(const ast::Expr& e, const Signature& want, const ast::Arg& arg,
                      llvm::SmallVectorImpl<bool>& given) {
    int slot = want.find(arg.name.text);
    if (slot >= 0 && given[slot]) {
      llvm::SmallVector<llvm::StringRef, 8> names;
      for (const Signature::Slot& s : want.slots) names.push_back(s.name);
      sink_.report(error(Code::duplicate_name, arg.name.span, "`{0}` is given twice", arg.name.text)
                       .suggest("it takes " + llvm::join(names, ", ")));
      return;
    }
    if (slot >= 0) {
      given[slot] = true;
      return;
    }
    Diagnostic d = error(Code::unknown_argument, arg.name.span, "`{0}` has no argument `{1}`",
                         e.callee.text, arg.name.text);
    std::vector<llvm::StringRef> names;
    for (const Signature::Slot& s : want.slots) names.push_back(s.name);
    llvm::StringRef near = near_miss(arg.name.text, names);
    llvm::SmallVector<llvm::StringRef, 2> meant;
    idiom_of_argument(arg.name.text).split(meant, ' ', -1, /*KeepEmpty=*/false);
    const auto* idiom = llvm::find_if(meant, [&](llvm::StringRef m) { return want.find(m) >= 0; });
    if (idiom != meant.end())
      d.help = llvm::formatv("Tangram calls it `{0}`", *idiom);
    else if (arg.name.text == "in_channels" || arg.name.text == "in_features")
      d.help = "omit it: it follows from the shape of the input";
    else if (arg.name.text == "inplace")
      d.help = "omit it: values do not change in place";
    else if (!near.empty())
      d.help = llvm::formatv("did you mean `{0}`?", near);
    else if (!names.empty())
      d.help = "its arguments are: " + llvm::join(names, ", ");
    else // `max(x, axis = 1)`
      d.help = idiom_of_function(e.callee.text);
    sink_.report(std::move(d));
  }

  void too_many(const ast::Expr& e, const Signature& want, const Callee& callee,
                const ast::Arg& arg) {
    Diagnostic d =
        error(Code::too_many_arguments, arg.span, "`{0}` takes {1} argument{2}, not {3}",
              e.callee.text, want.slots.size(), want.slots.size() == 1 ? "" : "s", e.args.size());
    if (callee.kind == Callee::Kind::Op) d.help = as_list(e, op_info(callee.op));
    sink_.report(std::move(d));
  }

  /// For `reshape(x, 8, 8)`: returns the numbers of a list attribute as one list.
  std::string as_list(const ast::Expr& e, const OpInfo& op) const {
    if (op.attr_count != 1 || op.variadic()) return "";
    const AttrInfo& attr = op.attrs()[0];
    if (attr.kind != AttrKind::ints && attr.kind != AttrKind::axes) return "";
    std::vector<std::string> numbers;
    for (const ast::Arg& arg : ast_[e.args].drop_front(op.operand_count)) {
      if (arg.kind != ast::ArgKind::Positional) return "";
      numbers.push_back(program_.sources->text(arg.span).str());
    }
    llvm::StringRef name(attr.name.data(), attr.name.size());
    return llvm::formatv("write `{0}` as one list: `{0} = [{1}]`", name, llvm::join(numbers, ", "));
  }

  void missing(const ast::Expr& e, llvm::ArrayRef<llvm::StringRef> names, const Callee& callee) {
    Diagnostic d =
        error(Code::missing_argument, e.callee.span, "`{0}` requires the argument{1} `{2}`",
              e.callee.text, names.size() == 1 ? "" : "s", llvm::join(names, "`, `"));
    if (callee.kind == Callee::Kind::Fn)
      for (const ast::Param& p : program_.module(callee.fn).ast[program_.decl(callee.fn).params])
        if (llvm::is_contained(names, p.name.text))
          d.labels.push_back({p.span, "declared here, without a default"});
    if (callee.kind == Callee::Kind::Op)
      d.help = "it takes " + parameters_text(callee.op) + with_weights(e.callee.text);
    sink_.report(std::move(d));
  }

  /// Returns the library function with weights: `batch_norm` takes its weights as operands,
  /// the library's `batchnorm` has them.
  std::string with_weights(llvm::StringRef op) const {
    std::string name;
    llvm::copy_if(op, std::back_inserter(name), [](char c) { return c != '_'; });
    std::string module = name == op ? "" : library_module_of(*program_.loader, name);
    if (module.empty()) return "";
    return llvm::formatv("; `{1}` of {0} declares its own weights", module, name);
  }

  const Program& program_;
  const Module& module_;
  const Ast& ast_;
  DiagnosticSink& sink_;
  bool incomplete_;
  std::vector<llvm::StringMap<Local>> scopes_;
  llvm::StringSet<> known_unknown_; // reported in this function
};

} // namespace

namespace {

/// The places where reading a module found errors, so that consequences are not reported as well.
struct Damage {
  std::vector<Span> places;
  bool lost_declarations = false; // an error outside all declarations that could be read

  Damage(const Module& module, const DiagnosticSink& sink) {
    for (const Diagnostic& d : sink.all())
      if (d.span.valid() && d.span.file == module.file) places.push_back(d.span);
    lost_declarations = llvm::any_of(places, [&](Span place) {
      return llvm::none_of(module.ast.decls(), [&](ast::DeclId id) {
        const ast::Decl& decl = module.ast[id];
        return decl.kind != DeclKind::Use && within(place, decl.span);
      });
    });
  }
  static bool within(Span place, Span whole) {
    return whole.begin <= place.begin && place.begin < whole.end;
  }
  bool touches(Span whole) const {
    return llvm::any_of(places, [&](Span place) { return within(place, whole); });
  }
};

} // namespace

bool check_names(const Program& program, DiagnosticSink& sink) {
  size_t before = sink.errors();
  for (const Module& module : program.modules) {
    Damage damage(module, sink);
    for (ast::DeclId id : module.ast.decls()) {
      const ast::Decl& decl = module.ast[id];
      bool has_body =
          decl.kind == DeclKind::Fn || decl.kind == DeclKind::Model || decl.kind == DeclKind::Op;
      if (has_body && !damage.touches(decl.span))
        Checker(program, module, sink, damage.lost_declarations).check(decl);
    }
  }
  return sink.errors() == before;
}

} // namespace tg
