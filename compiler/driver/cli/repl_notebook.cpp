// See repl_notebook.h. Text is taken apart with the scanner and parser of the language, so that
// strings and comments never mislead.
#include "compiler/driver/cli/repl_notebook.h"

#include "lang/parse.h"
#include "lang/token_classes.h"
#include "lang/tokens.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>

namespace tg::cli {
namespace {

using T = Grammar::token;

std::vector<Token> tokens_of(llvm::StringRef text) {
  SyntaxErrors ignored(FileId{0});
  std::vector<Token> tokens = scan(text, ignored).tokens;
  tokens.pop_back(); // END
  return tokens;
}

bool waits_for_more(int kind) {
  switch (kind) {
  case T::COMMA:
  case T::COLON:
  case T::ASSIGN:
  case T::ARROW:
  case T::BECOMES:
  case T::EQUALS:
  case T::WHERE:
  case T::NOT:
  case T::IN:
  case T::AS:
  case T::ELSE: return true;
  default: return is_binary_operator(kind);
  }
}

/// `fn f(x: f32[N])` alone: its block is still to come.
bool lacks_body(llvm::ArrayRef<Token> tokens) {
  int first = tokens.front().kind;
  bool has_body = first == T::FN || first == T::MODEL || first == T::RULE || first == T::FOR;
  return has_body && llvm::none_of(tokens, [](const Token& t) { return t.kind == T::LBRACE; });
}

llvm::StringRef declared_as(ast::DeclKind kind) {
  switch (kind) {
  case ast::DeclKind::Use: return "use";
  case ast::DeclKind::Fn: return "fn";
  case ast::DeclKind::Model: return "model";
  case ast::DeclKind::Ruleset: return "ruleset";
  case ast::DeclKind::Rule: return "rule";
  case ast::DeclKind::Op: return "op";
  }
  return "";
}

/// Functions, models and operators share one space of names, rules have another.
std::string slot_of(const ast::Decl& decl) {
  if (decl.kind == ast::DeclKind::Ruleset) return "ruleset";
  bool rule = decl.kind == ast::DeclKind::Rule;
  return (rule ? "rule " : "fn ") + decl.name.text.str();
}

std::vector<Cell> read_declarations(llvm::StringRef text, bool is_use) {
  SourceManager sources;
  DiagnosticSink ignored;
  Ast tree = parse(sources, sources.add("<prompt>", text.str()), ignored);
  Cell whole{is_use ? CellKind::Use : CellKind::Declaration, text.trim().str(), "", ""};
  if (ignored.failed()) return {whole};
  std::vector<Cell> cells;
  size_t begin = 0;
  for (ast::DeclId id : tree.decls()) {
    const ast::Decl& decl = tree[id];
    bool use = decl.kind == ast::DeclKind::Use;
    std::string part = text.slice(begin, decl.span.end).trim().str();
    cells.push_back({use ? CellKind::Use : CellKind::Declaration, part, use ? part : slot_of(decl),
                     declared_as(decl.kind).str() + " " + decl.name.text.str()});
    begin = decl.span.end;
  }
  return cells.empty() ? std::vector<Cell>{whole} : cells;
}

/// The names that a statement binds, as an expression.
std::string targets_of(const Ast& tree, const ast::Stmt& stmt) {
  std::vector<llvm::StringRef> names;
  for (const ast::Name& name : tree[stmt.targets]) names.push_back(name.text);
  if (names.size() == 1 && !stmt.destructures) return names[0].str();
  return "(" + llvm::join(names, ", ") + (names.size() == 1 ? ",)" : ")");
}

Cell read_statement(llvm::StringRef text) {
  Cell cell{CellKind::Expression, text.str(), "", ""};
  SourceManager sources;
  DiagnosticSink ignored;
  FileId file = sources.add("<prompt>", ("model it() {\n" + text + "\n}\n").str());
  Ast tree = parse(sources, file, ignored);
  if (ignored.failed() || tree.decls().size() != 1) return cell;
  llvm::ArrayRef<ast::StmtId> stmts = tree[tree[tree[tree.decls()[0]].body].stmts];
  if (stmts.empty()) return cell;
  const ast::Stmt& last = tree[stmts.back()];
  if (last.kind == ast::StmtKind::Expr) return cell;
  cell.kind = CellKind::Statement;
  if (last.kind != ast::StmtKind::For) cell.result = targets_of(tree, last);
  return cell;
}

} // namespace

bool is_complete(llvm::StringRef text) {
  std::vector<Token> tokens = tokens_of(text);
  if (tokens.empty()) return !text.trim().startswith("##"); // documents what follows
  int open = 0;
  for (const Token& t : tokens) {
    open += t.kind == T::LPAREN || t.kind == T::LBRACKET || t.kind == T::LBRACE;
    open -= t.kind == T::RPAREN || t.kind == T::RBRACKET || t.kind == T::RBRACE;
  }
  if (open != 0) return open < 0;
  if (tokens.front().kind == T::COLON) return true; // a command
  return !waits_for_more(tokens.back().kind) && !lacks_body(tokens);
}

std::vector<Cell> read_cells(llvm::StringRef text) {
  std::vector<Token> tokens = tokens_of(text);
  if (tokens.empty()) return {};
  int first = tokens[0].kind;
  if (starts_declaration(first)) return read_declarations(text, first == T::USE);
  if (tokens.size() > 2 && first == T::NAME && tokens[1].kind == T::COLON)
    return {{CellKind::Input, text.slice(tokens[0].begin, tokens.back().end).str(),
             text.slice(tokens[0].begin, tokens[0].end).str(),
             text.slice(tokens[0].begin, tokens[0].end).str()}};
  return {read_statement(text.slice(tokens.front().begin, tokens.back().end))};
}

void Notebook::add(const Cell& cell) {
  auto replace = [&](std::vector<Cell>& cells) {
    auto old = llvm::find_if(cells, [&](const Cell& c) { return c.name == cell.name; });
    if (old == cells.end() || cell.name.empty())
      cells.push_back(cell);
    else
      *old = cell;
  };
  switch (cell.kind) {
  case CellKind::Use: return replace(uses_);
  case CellKind::Declaration: return replace(declarations_);
  case CellKind::Input: return replace(inputs_);
  case CellKind::Statement: statements_.push_back(cell); return;
  case CellKind::Expression: return;
  }
}

namespace {

/// `y`, `(a, b)`: the names.
void append_names(const std::string& result, std::vector<std::string>& names) {
  llvm::SmallVector<llvm::StringRef, 4> parts;
  llvm::StringRef(result).split(parts, ',');
  for (llvm::StringRef part : parts)
    if (!part.trim("() ").empty()) names.push_back(part.trim("() ").str());
}

} // namespace

bool Notebook::hides(llvm::StringRef name) const {
  std::vector<std::string> names;
  for (const Cell& cell : statements_) append_names(cell.result, names);
  return llvm::is_contained(names, name);
}

std::vector<std::string> Notebook::bound_names() const {
  std::vector<std::string> names;
  for (const Cell& cell : inputs_) names.push_back(cell.name);
  for (const Cell& cell : statements_) append_names(cell.result, names);
  return names;
}

size_t Notebook::typed_begin() const {
  if (loaded_.empty()) return 0;
  return loaded_.size() + (llvm::StringRef(loaded_).endswith("\n") ? 0 : 1);
}

std::string Notebook::text(llvm::StringRef expression) const {
  std::string out = loaded_;
  if (out.size() < typed_begin()) out += '\n';
  for (const Cell& cell : uses_) out += cell.text + "\n";
  for (const Cell& cell : declarations_) out += cell.text + "\n";
  if (!has_statements() && expression.empty()) return out;
  std::vector<llvm::StringRef> inputs;
  for (const Cell& cell : inputs_) inputs.push_back(cell.text);
  out += "model it(" + llvm::join(inputs, ", ") + ") {\n";
  for (const Cell& cell : statements_) out += "  " + cell.text + "\n";
  std::string last = inputs_.empty() ? "0" : inputs_.back().name;
  for (const Cell& cell : statements_)
    if (!cell.result.empty()) last = cell.result;
  out += "  " + (expression.empty() ? last : expression.str()) + "\n}\n";
  return out;
}

} // namespace tg::cli
