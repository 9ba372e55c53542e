// `tg repl`: lines to cells, cells to a notebook, and what they come to printed. See repl.h.
#include "compiler/driver/cli/repl.h"
#include "compiler/driver/cli/help.h"

#include "compiler/driver/cli/repl_editor.h"
#include "compiler/rules/from_ast.h"
#include "lang/check/check.h"
#include "lang/syntax/parse.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>

namespace tg::cli {

Repl::Repl(llvm::raw_ostream& out, llvm::raw_ostream& err, bool color)
    : out_(out), err_(err), color_(color) {
  apply_settings({});
}

bool Repl::step(llvm::StringRef text) {
  text = text.trim();
  Before before{text.str(), notebook_, settings_, options_, rules_off_, best_};
  if (text.startswith(":"))
    command(text.drop_front());
  else if (text == "help" && !llvm::is_contained(words(), text.str()))
    help("");
  else if (leaves(text))
    leaving_ = true;
  else
    tell(text);
  remember(std::move(before));
  out_.flush();
  err_.flush();
  return !leaving_;
}

/// `exit` and `quit`, as elsewhere, unless something has that name.
bool Repl::leaves(llvm::StringRef text) const {
  text.consume_back("()");
  return (text == "exit" || text == "quit") && !llvm::is_contained(words(), text.str());
}

/// For `:undo`, where the line changed something; `:undo` itself is taken from what is remembered.
void Repl::remember(Before before) {
  bool same = notebook_ == before.notebook && settings_ == before.settings &&
              rules_off_ == before.rules_off && best_ == before.best;
  if (same || llvm::StringRef(before.line).split(' ').first == ":undo") return;
  if (undo_.size() == kMostUndone) undo_.erase(undo_.begin());
  undo_.push_back(std::move(before));
}

void Repl::command(llvm::StringRef text) {
  auto [name, argument] = text.split(' ');
  llvm::ArrayRef<Command> all = commands();
  const auto* found = llvm::find_if(all, [&, name = name](auto& c) { return c.name == name; });
  llvm::StringRef option = argument.split("--").second.split(' ').first.split('=').first;
  if (setting(option))
    return fail(error(Code::usage, "`:{0}` takes no options", name)
                    .suggest(llvm::formatv("`:set {0}=…` holds for what follows", option)));
  if (found != all.end()) return (this->*found->run)(argument.trim());
  std::vector<llvm::StringRef> names;
  for (const Command& c : all) names.push_back(c.name);
  Diagnostic d = error(Code::usage, "there is no command `:{0}`", name);
  llvm::StringRef near = near_miss(name, names);
  d.help = near.empty() ? "`:help` lists them" : llvm::formatv("did you mean `:{0}`?", near).str();
  fail(std::move(d));
}

// --- what is told -------------------------------------------------------------------------------

void Repl::tell(llvm::StringRef text) {
  std::vector<Cell> cells = read_cells(text);
  if (cells.empty()) return;
  Notebook next = notebook_;
  if (cells.front().kind == CellKind::Input && next.hides(cells.front().name))
    return fail(error(Code::duplicate_name, "`{0}` is bound by a statement", cells.front().name)
                    .suggest("give the input a name of its own"));
  std::vector<std::pair<std::string, std::string>> renamed;
  for (Cell& cell : cells) {
    llvm::append_range(renamed, next.add(cell));
    if (cell.kind == CellKind::Statement) cell = next.last_statement();
  }
  Session session = begin();
  CellKind kind = cells.front().kind;
  bool good = kind == CellKind::Use || kind == CellKind::Declaration
                  ? declare(session, next, cells)
                  : evaluate(session, next, cells.front());
  if (!good) return fail(session);
  session.print_warnings();
  for (const auto& [from, to] : renamed)
    out_ << "# the former `" << from << "`, which other lines use, is `" << to << "` now\n";
  notebook_ = std::move(next);
}

bool Repl::declare(Session& session, const Notebook& next, llvm::ArrayRef<Cell> cells) {
  Program program = read(session, next);
  if (session.sink.failed() || !check(program, session.sink)) return false;
  declared_rules(session, program);
  if (session.sink.failed()) return false;
  const Module& main = program.modules.front();
  for (const Cell& cell : cells) {
    if (cell.kind == CellKind::Use) continue;
    for (ast::DeclId id : main.ast.decls()) {
      const ast::Decl& decl = main.ast[id];
      auto kind = llvm::StringRef(cell.result).split(' ');
      if (decl.name.text != kind.second) continue;
      std::string text = signature_text(main.ast, session.sources, decl);
      if (llvm::StringRef(text).startswith(kind.first) ||
          llvm::StringRef(text).startswith("extern"))
        out_ << text << "\n";
    }
  }
  return true;
}

bool Repl::evaluate(Session& session, const Notebook& next, const Cell& cell) {
  bool expression = cell.kind == CellKind::Expression;
  Program program = read(session, next, expression ? cell.text : "");
  if (session.sink.failed()) return false;
  ModelValue value;
  if (!instantiate(program, Notebook::kModel, {}, std::make_shared<Symbols>(), session.sink,
                   &value))
    return false;
  if (expression)
    out_ << value.text << "\n";
  else if (!cell.result.empty())
    out_ << cell.result << (value.constant ? " = " : ": ") << value.text << "\n";
  return true;
}

Session Repl::begin() const {
  Session session(options_, out_, err_);
  session.color = color_;
  return session;
}

void Repl::fail(Diagnostic d) {
  Session session = begin();
  session.sink.report(std::move(d));
  fail(session);
}

/// Places in what was typed are shown as such also where a file is loaded before it; lines count on
/// from the file's.
void Repl::fail(Session& session) {
  ++failures_;
  size_t begin = notebook_.typed_begin();
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

Program Repl::read(Session& session, const Notebook& notebook, llvm::StringRef expression) const {
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

// --- what commands work on ----------------------------------------------------------------------

std::vector<Rule> Repl::declared_rules(Session& session, const Program& program) const {
  std::vector<Rule> rules =
      rules_from_ast(program.modules.front().ast, session.sources, session.sink);
  llvm::erase_if(rules, [&](const Rule& rule) {
    return llvm::is_contained(rules_off_, rule.declared) ||
           llvm::is_contained(rules_off_, rule.name);
  });
  return rules;
}

std::optional<std::string> Repl::pick_model(Session& session, const Program& program,
                                            llvm::StringRef argument) const {
  std::vector<llvm::StringRef> names;
  for (FnRef fn : program.models()) names.push_back(program.decl(fn).name.text);
  if (!argument.empty())
    return llvm::is_contained(names, argument) ? argument.str() : std::string();
  if (notebook_.has_statements()) return Notebook::kModel.str();
  if (names.size() == 1) return names.front().str();
  Diagnostic d = names.empty() ? error(Code::no_model, "there is no model in this session")
                               : error(Code::no_model, "there are several models: {0}",
                                       llvm::join(names, ", "));
  d.help = names.empty() ? "`:load FILE`, define one, or name an expression" : "name one of them";
  session.sink.report(std::move(d));
  return std::nullopt;
}

/// Of the parameters that were set, those that a model has: the others are for other models.
ModelSettings Repl::settings_of(const Program& program, llvm::StringRef model) const {
  Result<ModelSettings> all = read_settings({"", options_.set});
  ModelSettings own;
  if (!all) return own;
  for (const auto& [name, value] : *all)
    if (is_parameter(program, model, name)) own[name] = value;
  return own;
}

std::optional<Repl::Target> Repl::target(Session& session, llvm::StringRef argument) {
  Program program = read(session, notebook_);
  if (argument == "best") {
    if (best_) return Target{best_->found.graph, declared_rules(session, program), {}};
    fail(error(Code::usage, "nothing has been optimised yet").suggest("`:opt` does"));
    return std::nullopt;
  }
  std::optional<std::string> model = pick_model(session, program, argument);
  if (!model) return fail(session), std::nullopt;
  bool expression = model->empty();
  if (expression) {
    session.sources = {};
    program = read(session, notebook_, argument);
  }
  bool own = expression || *model == Notebook::kModel;
  ModelValue value;
  std::optional<Graph> graph;
  if (!session.sink.failed())
    graph = instantiate(program, own ? Notebook::kModel.str() : *model,
                        own ? ModelSettings() : settings_of(program, *model),
                        std::make_shared<Symbols>(), session.sink, &value);
  if (!graph) return fail(session), std::nullopt;
  return Target{std::move(*graph), declared_rules(session, program), std::move(value)};
}

// --- the loop -----------------------------------------------------------------------------------

namespace {

/// Rows up to a finished line; an empty row ends what cannot be finished. False at the end.
bool read_line(LineSource& source, std::string& text) {
  text.clear();
  std::string row;
  while (true) {
    switch (source.read(text.empty() ? "tg> " : "... ", row)) {
    case LineSource::Got::End: return !text.empty();
    case LineSource::Got::Interrupt: text.clear(); continue;
    case LineSource::Got::Line: break;
    }
    bool blank = llvm::StringRef(row).trim().empty();
    if (blank && text.empty()) continue;
    if (!blank) source.remember(row);
    text += row + "\n";
    if (blank || is_complete(text)) return true;
  }
}

} // namespace

int run_repl(Session& session) {
  const Options& o = session.options;
  Repl repl(session.out, session.err, session.color);
  std::string text; // the rows of a line that is not finished yet
  std::unique_ptr<LineSource> source =
      make_terminal_source(default_history_path(),
                           [&](llvm::StringRef line) { return repl.complete(text + line.str()); });
  bool terminal = source != nullptr;
  if (terminal) {
    session.out << "tg " TG_VERSION "; `:help` lists the commands, `exit` leaves\n";
  } else {
    source = make_plain_source();
  }
  if (!o.files.empty()) repl.load(o.files.front());
  session.out.flush();
  while (read_line(*source, text)) {
    // Who types at it has a session to lose, whatever runs.
    std::optional<Interruptible> line;
    if (terminal) line.emplace(Interruptible::Second::Warns);
    if (!repl.step(text)) break;
    text.clear();
  }
  return terminal || repl.failures() == 0 ? 0 : 1;
}

} // namespace tg::cli
