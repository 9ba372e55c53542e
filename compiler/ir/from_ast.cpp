// See from_ast.h. The evaluator itself is in eval.h and eval_*.cpp.
#include "compiler/ir/from_ast.h"

#include "compiler/ir/eval.h"
#include "lang/check.h"

namespace tg {

namespace {

/// Whether a model can be built from its defaults alone.
bool closed(const Program& program, FnRef fn) {
  const Ast& ast = program.module(fn).ast;
  const ast::Decl& model = program.decl(fn);
  llvm::StringMap<bool> given;
  for (const ast::Param& param : ast[model.params]) {
    bool tensor = param.type && param_kind(ast, ast[param.type]).run_time();
    if (!tensor && !param.default_value) return false;
    given[param.name.text] = !tensor;
  }
  return llvm::all_of(bound_names(ast, model),
                      [&](const BoundName& bound) { return given.lookup(bound.name.text); });
}

std::optional<Graph> build(const Program& program, FnRef fn, const ModelSettings& settings,
                           std::shared_ptr<Symbols> symbols, DiagnosticSink& sink,
                           ModelValue* value = nullptr) {
  Graph graph(std::move(symbols), program.decl(fn).name.text.str());
  size_t before = sink.errors();
  bool good = eval::Evaluator(program, graph, sink).model(fn, settings, value);
  if (good) {
    assert(verify(graph).empty() && "instantiation builds well-formed graphs");
    return graph;
  }
  if (sink.errors() == before)
    sink.report(error(Code::internal, "instantiation of `{0}` failed without saying why",
                      program.decl(fn).name.text));
  return std::nullopt;
}

} // namespace

bool check(const Program& program, DiagnosticSink& sink) {
  size_t before = sink.errors();
  if (!check_names(program, sink)) return false;
  for (FnRef fn : program.models())
    if (closed(program, fn)) (void)build(program, fn, {}, std::make_shared<Symbols>(), sink);
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
