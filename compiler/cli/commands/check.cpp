// `tg check`: reports all errors that files have without running them. Each file is checked
// by itself; with --model or --set, that model is also instantiated. --verbose prints the
// size of the models.
#include "compiler/api/files/generic_model.h"
#include "compiler/cli/pipeline.h"
#include "compiler/cli/terminal/table.h"
#include "compiler/rules/from_ast.h"
#include "compiler/rules/numerics/derived_class.h"
#include "lang/check/size_range.h"
#include "lang/core/diagnostics/escape.h"

#include <llvm/ADT/StringExtras.h>

#include <set>
#include <tuple>

namespace tg::cli {
namespace {

/// Returns "resnet50: 176 operators, 267 weights of 25,610,152 parameters" and the types of inputs
/// and outputs.
std::string description(const Graph& graph) {
  uint64_t weights = 0, parameters = 0;
  std::vector<bool> needed = graph.reachable();
  for (uint32_t i = 0; i < graph.size(); ++i) {
    if (!needed[i] || graph.node({i}).op != OpKind::Weight) continue;
    ++weights;
    parameters += static_cast<uint64_t>(graph.type({i}).elements());
  }
  std::string text =
      llvm::formatv("  {0}: {1}, {2} of {3}\n", graph.name(), counted(graph.op_count(), "operator"),
                    counted(weights, "weight"), counted(parameters, "parameter"));
  for (NodeId id : graph.inputs())
    text += llvm::formatv("    {0}: {1}\n", graph.attr(id, 0).text, graph.type(id).text());
  for (const GraphOutput& output : graph.outputs())
    text += llvm::formatv("    -> {0}: {1}\n", output.name, graph.type(output.node).text());
  return text;
}

bool has_rules(const Program& program) {
  if (program.modules.empty()) return false;
  const Ast& tree = program.modules.front().ast;
  return llvm::any_of(tree.decls(),
                      [&](ast::DeclId id) { return tree[id].kind == ast::DeclKind::Rule; });
}

/// Reports the errors that `tg rules verify` finds before it draws numbers: types on sample shapes,
/// attributes, and the class of numerics.
void check_rules(Session& session, const std::string& path) {
  std::optional<std::vector<Rule>> rules =
      load_rules(session.sources, library(), {path}, session.sink);
  if (!rules) return;
  std::string refused;
  for (const Rule& rule : *rules) {
    if (rule.file != path || rule.native != Native::No || rule.declared == refused) continue;
    std::string fault = class_fault(rule, derive_class(rule));
    if (fault.empty()) continue;
    Diagnostic d = error(Code::rule_refuted, rule.at,
                         "rule `{0}` states a stronger class than it satisfies", rule.name);
    d.notes.push_back(std::move(fault));
    d.help = "state the weaker class, or omit it: the class is then derived";
    session.sink.report(std::move(d));
    refused = rule.declared;
  }
}

/// Names the models whose shapes depend on missing parameters: only their names are checked.
std::string unchecked_shapes(const Program& program) {
  std::string text;
  for (FnRef fn : program.models()) {
    std::vector<std::string> open = open_names(program, fn);
    if (!open.empty())
      text += llvm::formatv("  {0}: shapes are not checked until {1} {2} given (--set {3}=…)\n",
                            program.decl(fn).name.text, llvm::join(open, ", "),
                            open.size() == 1 ? "is" : "are", open.front());
  }
  return text;
}

/// Names the models with ranges, whose shapes are proved for all sizes in them.
std::string proved_shapes(const Program& program) {
  std::string text;
  for (FnRef fn : program.models()) {
    std::string ranges = ranges_text(program.module(fn).ast, program.decl(fn));
    if (!ranges.empty() && open_names(program, fn).empty())
      text += llvm::formatv("  {0}: shapes hold for {1}\n", program.decl(fn).name.text, ranges);
  }
  return text;
}

/// Checks an ONNX file; one with open sizes for all of them.
std::string check_onnx(Session& session, const std::string& path) {
  const Options& o = session.options;
  Result<ModelRequest> request = model_request(o);
  if (!request) return session.sink.report(std::move(request.error())), "";
  request->shared = o.files.size() > 1;
  std::optional<OpenModel> file = OpenModel::open(session.sources, path, *request, session.sink);
  if (!file) return "";
  if (!file->is_open()) {
    std::optional<LoadedModel> model = load(session, path, request->shared);
    return model && o.verbose ? description(model->graph) : "";
  }
  std::optional<GenericModel> model = fit_model(*file, session.sink);
  if (!model) return "";
  Result<std::string> text = model->text();
  if (!text) return session.sink.report(std::move(text.error())), "";
  if (!check_generic_text(session.sources, path + ".tg", *text, session.sink)) return "";
  std::string shapes = llvm::formatv("  {0}: shapes hold for {1}\n", model->sample.graph.name(),
                                     text_of(file->sizes()));
  return shapes + (o.verbose ? description(model->sample.graph) : "");
}

/// Returns remarks on the file's models besides errors: those that could not be built, and with
/// --verbose the size of the selected model, or of all.
std::string check_file(Session& session, const std::string& path) {
  const Options& o = session.options;
  if (is_onnx_path(path)) return check_onnx(session, path);
  Program program = load_program(session.sources, library(), path, session.sink);
  if (!session.sink.failed() && has_rules(program)) check_rules(session, path);
  bool chosen = !o.model.empty() || !o.set.empty();
  if (chosen && session.sink.failed()) return "";
  std::vector<std::string> models;
  if (chosen) {
    models = {o.model};
  } else {
    check(program, session.sink); // as far as it was read, even after an error
    if (!o.verbose || session.sink.failed())
      return unchecked_shapes(program) + proved_shapes(program);
    for (FnRef fn : program.models()) models.push_back(program.decl(fn).name.text.str());
  }
  std::string text;
  for (const std::string& model : models)
    if (std::optional<Graph> graph = build_graph(program, {model, o.set}, session.sink))
      text += o.verbose ? description(*graph) : "";
  return text;
}

/// Reports each error once: rules and models may find the same error in one declaration, each in
/// its own copy of the text.
void report_once(const SourceManager& sources, const DiagnosticSink& found, DiagnosticSink& into) {
  std::set<std::tuple<std::string, uint32_t, std::string>> seen;
  for (const Diagnostic& d : found.all()) {
    if (!d.span.valid() ||
        seen.emplace(sources.file(d.span.file).name(), d.span.begin, d.message).second)
      into.report(d);
  }
}

} // namespace

int run_check(Session& session) {
  const Options& o = session.options;
  if ((!o.shapes.empty() || !o.dims.empty()) && llvm::none_of(o.files, is_onnx_path))
    return session.fail(error(Code::usage, "`--shape` and `--dim` require an .onnx file"));
  for (const std::string& path : o.files) {
    DiagnosticSink all = std::move(session.sink);
    session.sink = {};
    std::string models = check_file(session, path);
    report_once(session.sources, session.sink, all);
    if (!o.quiet && !o.json && !session.sink.failed()) {
      session.out << printable(path) << ": ok\n" << models;
    }
    session.sink = std::move(all);
  }
  if (session.sink.failed()) return session.fail();
  session.print_warnings();
  if (o.json) {
    llvm::json::OStream json(session.out, 2);
    json.object([&] {
      json.attribute("ok", true);
      write_errors(json, session.sink, session.sources);
    });
    session.out << "\n";
  }
  return 0;
}

} // namespace tg::cli
