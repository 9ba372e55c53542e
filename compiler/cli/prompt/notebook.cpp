// Implements notebook.h. Text is split by the scanner and parser of the language, so that strings
// and comments are handled correctly.
#include "compiler/cli/prompt/notebook.h"

#include "lang/syntax/parse.h"
#include "lang/syntax/token_classes.h"
#include "lang/syntax/tokens.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>

#include <algorithm>

namespace tg::cli {
namespace {

using T = Grammar::token;

std::vector<Token> tokens_of(llvm::StringRef text) {
  SyntaxErrors ignored(FileId{0});
  std::vector<Token> tokens = scan(text, ignored).tokens;
  tokens.pop_back(); // END
  return tokens;
}

bool waits_for_more(int kind) { return leaves_open(kind) || kind == T::ELSE; }

/// Returns true for a header such as `fn f(x: f32[N])` whose block is missing.
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

/// Returns the key of a declaration: functions, models and operators share one name space, rules
/// have another.
std::string slot_of(const ast::Decl& decl) {
  if (decl.kind == ast::DeclKind::Ruleset) return "ruleset";
  bool rule = decl.kind == ast::DeclKind::Rule;
  return (rule ? "rule " : "fn ") + decl.name.text.str();
}

std::vector<Cell> read_declarations(llvm::StringRef text, bool is_use) {
  SourceManager sources;
  DiagnosticSink ignored;
  Ast tree = parse(sources, sources.add("<prompt>", text.str()), ignored);
  Cell whole{is_use ? CellKind::Use : CellKind::Declaration, text.trim().str(), "", "", {}};
  if (ignored.failed()) return {whole};
  std::vector<Cell> cells;
  size_t begin = 0;
  for (ast::DeclId id : tree.decls()) {
    const ast::Decl& decl = tree[id];
    bool use = decl.kind == ast::DeclKind::Use;
    std::string part = text.slice(begin, decl.span.end).trim().str();
    cells.push_back({use ? CellKind::Use : CellKind::Declaration,
                     part,
                     use ? part : slot_of(decl),
                     declared_as(decl.kind).str() + " " + decl.name.text.str(),
                     {}});
    begin = decl.span.end;
  }
  return cells.empty() ? std::vector<Cell>{whole} : cells;
}

/// Returns the names that a statement binds, as an expression.
std::string targets_of(const Ast& tree, const ast::Stmt& stmt) {
  std::vector<llvm::StringRef> names;
  for (const ast::Name& name : tree[stmt.targets]) names.push_back(name.text);
  if (names.size() == 1 && !stmt.destructures) return names[0].str();
  return "(" + llvm::join(names, ", ") + (names.size() == 1 ? ",)" : ")");
}

Cell read_statement(llvm::StringRef text) {
  Cell cell{CellKind::Expression, text.str(), "", "", {}};
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
  if (last.kind != ast::StmtKind::For && last.kind != ast::StmtKind::Assign)
    for (const ast::Name& name : tree[last.targets])
      if (name.text != "_") cell.binds.push_back(name.text.str());
  return cell;
}

} // namespace

bool is_complete(llvm::StringRef text) {
  std::vector<Token> tokens = tokens_of(text);
  if (tokens.empty()) return !text.trim().startswith("##"); // documents the next declaration
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
  SyntaxErrors found(FileId{0});
  std::vector<Token> tokens = scan(text, found).tokens;
  tokens.pop_back(); // END
  if (tokens.empty() && found.found().empty()) return {};
  // Strips comments around the entry, but keeps text that is not a token (`x.shape`).
  llvm::StringRef body = text.trim();
  if (found.found().empty()) body = text.slice(tokens.front().begin, tokens.back().end);
  int first = tokens.empty() ? 0 : tokens[0].kind;
  if (starts_declaration(first)) return read_declarations(text, first == T::USE);
  if (tokens.size() > 2 && first == T::NAME && tokens[1].kind == T::COLON) {
    std::string name = text.slice(tokens[0].begin, tokens[0].end).str();
    return {{CellKind::Input, body.str(), name, name, {}}};
  }
  return {read_statement(body)};
}

/// Drops statements that bind only names that `cell` binds again and that nothing reads.
void Notebook::drop_replaced(const Cell& cell) {
  for (size_t i = statements_.size(); i-- > 0;) {
    llvm::ArrayRef<std::string> names = statements_[i].binds;
    auto is_read = [&](llvm::StringRef name) {
      auto reads = [&](const Cell& other) { return mentions(other.text, name); };
      return reads(cell) || std::any_of(statements_.begin() + i + 1, statements_.end(), reads);
    };
    bool replaced = !names.empty() && llvm::all_of(names, [&](llvm::StringRef name) {
      return llvm::is_contained(cell.binds, name) && !is_read(name);
    });
    if (replaced) statements_.erase(statements_.begin() + i);
  }
}

std::string Notebook::unused_name(llvm::StringRef name, const Cell& cell) const {
  for (int i = 1;; ++i) {
    std::string fresh = (name + "_" + llvm::Twine(i)).str();
    auto taken = [&](const Cell& other) {
      return other.name == fresh || llvm::is_contained(other.binds, fresh) ||
             mentions(other.text, fresh);
    };
    if (!taken(cell) && llvm::none_of(statements_, taken) && llvm::none_of(inputs_, taken))
      return fresh;
  }
}

std::vector<std::pair<std::string, std::string>> Notebook::add(Cell cell) {
  std::vector<std::pair<std::string, std::string>> renamed;
  auto replace = [&](std::vector<Cell>& cells) {
    auto old = llvm::find_if(cells, [&](const Cell& c) { return c.name == cell.name; });
    if (old == cells.end() || cell.name.empty())
      cells.push_back(std::move(cell));
    else
      *old = std::move(cell);
  };
  switch (cell.kind) {
  case CellKind::Use: replace(uses_); break;
  case CellKind::Declaration: replace(declarations_); break;
  case CellKind::Input: replace(inputs_); break;
  case CellKind::Expression: break;
  case CellKind::Statement:
    drop_replaced(cell);
    for (const std::string& name : std::vector(cell.binds))
      if (std::string fresh = rename_bound(name, cell); !fresh.empty())
        renamed.emplace_back(name, fresh);
    statements_.push_back(std::move(cell));
  }
  return renamed;
}

/// Renames the value that a statement bound to `name`; returns the new name, or "" if there is
/// none.
std::string Notebook::rename_bound(const std::string& name, Cell& cell) {
  auto bound =
      llvm::find_if(statements_, [&](const Cell& c) { return llvm::is_contained(c.binds, name); });
  if (bound == statements_.end()) return "";
  std::string fresh = unused_name(name, cell);
  *bound = read_statement(rename_target(bound->text, name, fresh));
  for (auto later = bound + 1; later != statements_.end(); ++later)
    *later = read_statement(rename_uses(later->text, name, fresh));
  cell.text = rename_uses(cell.text, name, fresh);
  return fresh;
}

namespace {

/// Appends the names in `y` or `(a, b)`.
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
