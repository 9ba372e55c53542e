// Implements from_ast.h. The evaluation of bodies is in eval/.
#include "compiler/ir/from_ast.h"

#include "compiler/ir/eval/instantiation.h"
#include "compiler/ir/open_check.h"
#include "lang/check/check.h"

namespace tg {

namespace {

std::optional<Graph> build(const Program& program, FnRef fn, const ModelSettings& settings,
                           std::shared_ptr<Symbols> symbols, DiagnosticSink& sink,
                           ModelValue* value = nullptr) {
  Graph graph(std::move(symbols), program.decl(fn).name.text.str());
  size_t before = sink.errors();
  bool good = eval::Instantiation(program, graph, sink).model(fn, settings, value);
  if (good) {
    assert(verify(graph).empty() && "instantiation builds well-formed graphs");
    return graph;
  }
  if (sink.errors() == before)
    sink.report(error(Code::internal, "instantiation of `{0}` failed without saying why",
                      program.decl(fn).name.text));
  return std::nullopt;
}

/// Returns true if an error was found within the declaration.
bool has_errors(const Program& program, FnRef fn, const DiagnosticSink& sink) {
  Span whole = program.decl(fn).span;
  return llvm::any_of(sink.all(), [&](const Diagnostic& d) {
    return d.severity == Severity::Error && d.span.valid() && d.span.file == whole.file &&
           whole.begin <= d.span.begin && d.span.begin < whole.end;
  });
}

} // namespace

std::vector<std::string> open_names(const Program& program, FnRef fn) {
  const Ast& ast = program.module(fn).ast;
  const ast::Decl& model = program.decl(fn);
  llvm::StringMap<bool> given;
  std::vector<std::string> open;
  for (const ast::Param& param : ast[model.params]) {
    bool tensor = param.type && param_kind(ast, ast[param.type]).run_time();
    if (!tensor && !param.default_value) open.push_back(param.name.text.str());
    given[param.name.text] = !tensor;
  }
  for (const BoundName& bound : bound_names(ast, model))
    if (!given.lookup(bound.name.text)) open.push_back(bound.name.text.str());
  return open;
}

std::vector<std::string> setting_names(const Program& program, FnRef fn) {
  const Ast& ast = program.module(fn).ast;
  const ast::Decl& model = program.decl(fn);
  std::vector<std::string> names;
  for (const ast::Param& param : ast[model.params])
    if (!(param.type && param_kind(ast, ast[param.type]).run_time()))
      names.push_back(param.name.text.str());
  for (const BoundName& bound : bound_names(ast, model)) names.push_back(bound.name.text.str());
  return names;
}

bool check(const Program& program, DiagnosticSink& sink) {
  size_t before = sink.errors();
  check_names(program, sink);
  // Declarations with errors are not checked again, and models that call them continue without
  // them.
  bool damaged = sink.failed();
  for (FnRef fn : program.models()) {
    if (!open_names(program, fn).empty() || (damaged && has_errors(program, fn, sink))) continue;
    if (!damaged) {
      if (has_ranges(program, fn))
        check_open(program, fn, sink);
      else
        (void)build(program, fn, {}, std::make_shared<Symbols>(), sink);
      continue;
    }
    Graph graph(std::make_shared<Symbols>(), "");
    eval::Instantiation instance(program, graph, sink);
    instance.pass_over([&](FnRef callee) { return has_errors(program, callee, sink); });
    (void)instance.model(fn, {});
  }
  return sink.errors() == before;
}

std::optional<Graph> instantiate(const Program& program, llvm::StringRef model,
                                 const ModelSettings& settings, std::shared_ptr<Symbols> symbols,
                                 DiagnosticSink& sink, ModelValue* value) {
  if (!check_names(program, sink)) return std::nullopt;
  Result<FnRef> fn = program.find_model(model);
  if (fn) return build(program, *fn, settings, std::move(symbols), sink, value);
  sink.report(fn.error());
  return std::nullopt;
}

std::optional<Value> parse_setting(llvm::StringRef text) {
  text = text.trim();
  int64_t number = 0;
  double real = 0;
  if (!text.getAsInteger(10, number)) return Value::of_int(number);
  if (text == "true" || text == "false") return Value::of_bool(text == "true");
  if (auto constant = constant_of_name(text)) return constant;
  if (!text.empty() && !text.getAsDouble(real)) return Value::of_float(real);
  if (!text.consume_front("[") || !text.consume_back("]")) return std::nullopt;
  llvm::SmallVector<int64_t, 8> ints;
  std::vector<double> reals;
  bool integers = true;
  llvm::SmallVector<llvm::StringRef, 8> parts;
  text.split(parts, ',', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef part : parts) {
    part = part.trim();
    if (part.getAsDouble(real)) return std::nullopt;
    integers &= !part.getAsInteger(10, number);
    ints.push_back(number);
    reals.push_back(real);
  }
  return integers ? Value::of_ints(ints) : Value::of_floats(std::move(reals));
}

} // namespace tg
