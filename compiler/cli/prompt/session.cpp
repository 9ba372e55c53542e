#include "compiler/cli/prompt/session.h"

#include "compiler/rules/from_ast.h"
#include "lang/check/size_range.h"
#include "lang/syntax/parse.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>

namespace tg::cli {

Session ReplSession::begin() const {
  Session session(state_.options, out_, err_);
  session.color = color_;
  return session;
}

void ReplSession::fail(Diagnostic d) {
  Session session = begin();
  session.sink.report(std::move(d));
  fail(session);
}

/// Marks places in entered text as such even after a loaded file, whose line numbers continue.
void ReplSession::fail(Session& session) {
  ++failures_;
  size_t begin = state_.notebook.typed_begin();
  if (begin == 0) {
    session.fail();
    return;
  }
  FileId main{0}, typed;
  DiagnosticSink moved;
  auto move_span = [&](Span& span) {
    if (!span.valid() || span.file != main || span.begin < begin) return;
    if (!typed.valid()) {
      llvm::StringRef text = session.sources.file(main).text();
      std::string lines(text.take_front(begin).count('\n'), '\n');
      typed = session.sources.add("<prompt>", lines + text.drop_front(begin).str());
    }
    auto lines =
        static_cast<uint32_t>(session.sources.file(main).text().take_front(begin).count('\n'));
    auto shift = static_cast<uint32_t>(begin) - lines;
    span = {typed, span.begin - shift, span.end - shift};
  };
  for (Diagnostic d : session.sink.all()) {
    move_span(d.span);
    for (Label& label : d.labels) move_span(label.span);
    moved.report(std::move(d));
  }
  session.sink = std::move(moved);
  session.fail();
}

Program ReplSession::read(Session& session, const Notebook& notebook,
                          llvm::StringRef expression) const {
  Result<FileId> file = load_text(session.sources, notebook.name(), notebook.text(expression));
  if (file) return load_program(session.sources, library(), *file, session.sink);
  Program nothing;
  nothing.sources = &session.sources;
  nothing.loader = &library();
  if (file.error().code != Code::empty_file) session.sink.report(std::move(file.error()));
  nothing.modules.emplace_back(FileId{0}, notebook.name(),
                               Ast(session.sources.add(notebook.name(), "")));
  return nothing;
}

std::vector<Rule> ReplSession::declared_rules(Session& session, const Program& program) const {
  std::vector<Rule> rules =
      rules_from_ast(program.modules.front().ast, session.sources, session.sink);
  llvm::erase_if(rules, [&](const Rule& rule) {
    return llvm::is_contained(state_.rules_off, rule.declared) ||
           llvm::is_contained(state_.rules_off, rule.name);
  });
  return rules;
}

std::optional<std::string> ReplSession::pick_model(Session& session, const Program& program,
                                                   llvm::StringRef argument) const {
  std::vector<llvm::StringRef> names;
  for (FnRef fn : program.models()) names.push_back(program.decl(fn).name.text);
  if (!argument.empty())
    return llvm::is_contained(names, argument) ? argument.str() : std::string();
  if (state_.notebook.has_statements()) return Notebook::kModel.str();
  if (names.size() == 1) return names.front().str();
  Diagnostic d = names.empty() ? error(Code::no_model, "there is no model in this session")
                               : error(Code::no_model, "there are several models: {0}",
                                       llvm::join(names, ", "));
  d.help = names.empty() ? "load one with `:load FILE`, define one, or name an expression"
                         : "name one of them";
  session.sink.report(std::move(d));
  return std::nullopt;
}

/// Returns those parameter settings that the model has; the others belong to other models.
ModelSettings ReplSession::settings_of(const Program& program, llvm::StringRef model) const {
  Result<ModelSettings> all = read_settings({"", state_.options.set});
  ModelSettings own;
  if (!all) return own;
  for (const auto& [name, value] : *all)
    if (is_parameter(program, model, name)) own[name] = value;
  return own;
}

/// Notes the sizes with ranges, for which the commands of the prompt use one value.
void ReplSession::note_ranges(const Program& program, llvm::StringRef model) const {
  Result<FnRef> fn = program.find_model(model);
  std::string ranges = fn ? ranges_text(program.module(*fn).ast, program.decl(*fn)) : "";
  if (!ranges.empty())
    err_
        << "note: the sizes " << ranges
        << " have their defaults here, or the values that `:set` gives; `tg opt` optimises for all "
           "sizes\n";
}

std::optional<ReplSession::Target> ReplSession::target(Session& session, llvm::StringRef argument) {
  Program program = read(session, state_.notebook);
  if (argument == "best") {
    if (state_.best) return Target{state_.best->found.graph, declared_rules(session, program), {}};
    fail(error(Code::usage, "no model has been optimised yet").suggest("run `:opt` first"));
    return std::nullopt;
  }
  std::optional<std::string> model = pick_model(session, program, argument);
  if (!model) return fail(session), std::nullopt;
  bool expression = model->empty();
  if (expression) {
    session.sources = {};
    program = read(session, state_.notebook, argument);
  }
  bool own = expression || *model == Notebook::kModel;
  ModelValue value;
  std::optional<Graph> graph;
  if (!session.sink.failed())
    graph = instantiate(program, own ? Notebook::kModel.str() : *model,
                        own ? ModelSettings() : settings_of(program, *model),
                        std::make_shared<Symbols>(), session.sink, &value);
  if (!graph) return fail(session), std::nullopt;
  if (!own) note_ranges(program, *model);
  return Target{std::move(*graph), declared_rules(session, program), std::move(value)};
}

const OptionRow* ReplSession::setting(llvm::StringRef name) {
  return name.empty() ? nullptr : find_row(rows_of(CommandId::Prompt), ("--" + name).str());
}

bool ReplSession::is_parameter(const Program& program, llvm::StringRef model,
                               llvm::StringRef name) {
  const Ast& tree = program.modules.front().ast;
  for (FnRef fn : program.models()) {
    const ast::Decl& decl = program.decl(fn);
    if (!model.empty() && decl.name.text != model) continue;
    for (const ast::Param& param : tree[decl.params])
      if (param.name.text == name && param.type && !param_kind(tree, tree[param.type]).run_time())
        return true;
    for (const BoundName& bound : bound_names(tree, decl))
      if (bound.name.text == name) return true;
  }
  return false;
}

bool ReplSession::is_parameter(llvm::StringRef name) const {
  Session session = begin();
  return is_parameter(read(session, state_.notebook), "", name);
}

/// Applies changes to the settings through the option parser. An empty value removes a setting.
/// Returns false, after printing the reason, if the parser rejects them.
bool ReplSession::apply_settings(std::vector<std::pair<std::string, std::string>> changes) {
  std::vector<std::pair<std::string, std::string>> next = state_.settings;
  for (auto& [name, value] : changes) {
    llvm::erase_if(next, [&, n = llvm::StringRef(name)](auto& old) { return old.first == n; });
    if (!value.empty()) next.emplace_back(name, value);
  }
  std::vector<std::string> words = {"tg", "run", "--opt"}; // includes the settings of `:opt`
  for (const auto& [name, value] : next) {
    const OptionRow* row = setting(name);
    if (!row && is_parameter(name))
      words.push_back("--set=" + name + "=" + value);
    else if (row && !row->takes_value())
      words.push_back("--" + name);
    else
      words.push_back("--" + name + "=" + value);
  }
  words.push_back("<prompt>");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  Parsed parsed = parse_command_line(static_cast<int>(argv.size()), argv.data());
  if (parsed.done) {
    ++failures_;
    err_ << parsed.err << parsed.out;
    return false;
  }
  state_.settings = std::move(next);
  state_.options = std::move(parsed.options);
  state_.options.optimize = false;
  return true;
}

/// `:undo` itself is not remembered.
void ReplSession::remember(std::string line, ReplState before) {
  bool same = state_.notebook == before.notebook && state_.settings == before.settings &&
              state_.rules_off == before.rules_off && state_.best == before.best;
  if (same || llvm::StringRef(line).split(' ').first == ":undo") return;
  if (undo_.size() == kMostUndone) undo_.erase(undo_.begin());
  undo_.emplace_back(std::move(line), std::move(before));
}

std::optional<std::string> ReplSession::undo() {
  if (undo_.empty()) return std::nullopt;
  auto [line, before] = std::move(undo_.back());
  undo_.pop_back();
  state_ = std::move(before);
  return line;
}

} // namespace tg::cli
