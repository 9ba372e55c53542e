// `tg repl`: turns lines into cells, adds them to a notebook, and prints their values. See repl.h.
#include "compiler/cli/prompt/repl.h"
#include "compiler/cli/commands/help.h"

#include "compiler/cli/prompt/editor.h"
#include "compiler/rules/from_ast.h"
#include "lang/check/check.h"
#include "lang/core/version.h"
#include "lang/syntax/parse.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>

namespace tg::cli {

bool Repl::step(llvm::StringRef text) {
  text = text.trim();
  ReplState before = session_.state();
  bool leave = leaves(text);
  if (text.startswith(":"))
    commands_.run_line(text.drop_front());
  else if (text == "help" && !llvm::is_contained(session_.words(), text.str()))
    help_on(session_, "");
  else if (!leave)
    print_message(text);
  session_.remember(text.str(), std::move(before));
  session_.flush();
  return !leave && !commands_.leaving();
}

/// Recognises `exit` and `quit`, as in other programs, unless something has that name.
bool Repl::leaves(llvm::StringRef text) const {
  text.consume_back("()");
  return (text == "exit" || text == "quit") && !llvm::is_contained(session_.words(), text.str());
}

// --- entries ------------------------------------------------------------------------------------

void Repl::print_message(llvm::StringRef text) {
  std::vector<Cell> cells = read_cells(text);
  if (cells.empty()) return;
  Notebook next = session_.state().notebook;
  if (cells.front().kind == CellKind::Input && next.hides(cells.front().name))
    return session_.fail(
        error(Code::duplicate_name, "`{0}` is already defined by a statement", cells.front().name)
            .suggest("choose another name for the input"));
  std::vector<std::pair<std::string, std::string>> renamed;
  for (Cell& cell : cells) {
    llvm::append_range(renamed, next.add(cell));
    if (cell.kind == CellKind::Statement) cell = next.last_statement();
  }
  Session session = session_.begin();
  CellKind kind = cells.front().kind;
  bool good = kind == CellKind::Use || kind == CellKind::Declaration
                  ? declare(session, next, cells)
                  : evaluate(session, next, cells.front());
  if (!good) return session_.fail(session);
  session.print_warnings();
  for (const auto& [from, to] : renamed)
    session_.out() << "# the previous `" << from << "`, which other lines use, is now `" << to
                   << "`\n";
  session_.state().notebook = std::move(next);
}

bool Repl::declare(Session& session, const Notebook& next, llvm::ArrayRef<Cell> cells) {
  Program program = session_.read(session, next);
  if (session.sink.failed() || !check(program, session.sink)) return false;
  session_.declared_rules(session, program);
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
        session_.out() << text << "\n";
    }
  }
  return true;
}

bool Repl::evaluate(Session& session, const Notebook& next, const Cell& cell) {
  bool expression = cell.kind == CellKind::Expression;
  Program program = session_.read(session, next, expression ? cell.text : "");
  if (session.sink.failed()) return false;
  ModelValue value;
  if (!instantiate(program, Notebook::kModel, {}, std::make_shared<Symbols>(), session.sink,
                   &value))
    return false;
  if (expression)
    session_.out() << value.text << "\n";
  else if (!cell.result.empty())
    session_.out() << cell.result << (value.constant ? " = " : ": ") << value.text << "\n";
  return true;
}

// --- the loop -----------------------------------------------------------------------------------

namespace {

/// Reads rows up to a complete line. An empty row ends a line that cannot be completed. Returns
/// false at the end.
bool read_line(LineSource& source, std::string& text) {
  text.clear();
  std::string row;
  while (true) {
    switch (source.read(text.empty() ? "tg> " : "... ", row)) {
    case LineSource::EditorEvent::End: return !text.empty();
    case LineSource::EditorEvent::Interrupt: text.clear(); continue;
    case LineSource::EditorEvent::Line: break;
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
  std::string text; // the rows of an incomplete line
  std::unique_ptr<LineSource> source =
      make_terminal_source(default_history_path(),
                           [&](llvm::StringRef line) { return repl.complete(text + line.str()); });
  bool terminal = source != nullptr;
  if (terminal) {
    session.out << "tg " << kProgramVersion << "; `:help` lists the commands, `exit` leaves\n";
  } else {
    source = make_plain_source();
  }
  if (!o.files.empty()) repl.load(o.files.front());
  session.out.flush();
  while (read_line(*source, text)) {
    // An interactive session must not be lost, whatever runs.
    std::optional<Interruptible> line;
    if (terminal) line.emplace(Interruptible::Second::Warns);
    if (!repl.step(text)) break;
    text.clear();
  }
  return terminal || repl.failures() == 0 ? 0 : 1;
}

} // namespace tg::cli
