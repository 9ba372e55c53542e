// What was entered at the prompt so far: a file, declarations, inputs and statements,
// as text. Nothing else is kept: for each new line the whole is put together as one .tg file, with
// the line at its end or in its place, and read by the front end as any other file. So the prompt
// has no semantics of its own, and a line that is refused leaves nothing behind: the notebook with
// it is a copy, which is dropped.
//
// The file that comes out is the loaded file, then `use` lines, then declarations, then
// `model it(inputs) { statements }`. Line numbers in diagnostics are those of this file, which
// `:show` prints.
#pragma once

#include <llvm/ADT/StringRef.h>

#include <string>
#include <vector>

namespace tg::cli {

/// Whether a line at the prompt is finished: brackets are closed, no operator waits for its right
/// side, and a declaration has its body. Text that is wrong in another way is finished too.
bool is_complete(llvm::StringRef text);

enum class CellKind : uint8_t { Use, Declaration, Input, Statement, Expression };

/// One thing that was said at the prompt.
struct Cell {
  CellKind kind = CellKind::Expression;
  std::string text;
  /// Of declarations: `fn f`, `rule r`, ...; of inputs: the name. A new one replaces the old one.
  std::string name;
  /// Of statements: an expression for what they bound: `y`, `(a, b)`; "" where that is nothing.
  std::string result;
  /// Of statements: the names that `let`, `var` or `param` binds.
  std::vector<std::string> binds;
  bool operator==(const Cell&) const = default;
};

/// Takes apart what was typed: declarations one by one, else one input, statement or expression.
/// Text that cannot be read is one cell of the kind that it begins as.
std::vector<Cell> read_cells(llvm::StringRef text);

class Notebook {
public:
  /// The name of the model that statements and expressions make up.
  static constexpr llvm::StringLiteral kModel = "it";

  void load(std::string path, std::string text) {
    path_ = std::move(path);
    loaded_ = std::move(text);
  }
  /// Adds a cell; one of the same name gives way. Expressions leave no trace. A statement that
  /// binds a name anew replaces the one that bound it before; where other statements read that, it
  /// stays under another name: those pairs are returned, old name first.
  std::vector<std::pair<std::string, std::string>> add(Cell cell);

  /// As it was added: it may read names that `add` gave to what it replaced.
  const Cell& last_statement() const { return statements_.back(); }

  const std::string& path() const { return path_; } // of the loaded file; "" = none
  bool has_statements() const { return !statements_.empty() || !inputs_.empty(); }
  bool empty() const { return uses_.empty() && declarations_.empty() && !has_statements(); }

  bool operator==(const Notebook&) const = default;

  /// Whether an input of this name would be hidden by what a statement bound.
  bool hides(llvm::StringRef name) const;
  /// Names of inputs and of what statements bound.
  std::vector<std::string> bound_names() const;

  /// The whole file. `expression` is what the model ends in; without it the last statement's
  /// result is. Without statements and expression there is no model.
  std::string text(llvm::StringRef expression = "") const;
  /// Where the part that was typed begins in text().
  size_t typed_begin() const;
  /// What diagnostics call the file.
  std::string name() const { return path_.empty() ? "<prompt>" : path_; }

private:
  void drop_replaced(const Cell& cell);
  std::string rename_bound(const std::string& name, Cell& cell);
  std::string unused_name(llvm::StringRef name, const Cell& cell) const;

  std::string path_, loaded_;
  std::vector<Cell> uses_, declarations_, inputs_, statements_;
};

// Names in the text of a statement: which it binds, which it reads, and the same text with one of
// them called otherwise. Names of arguments (`f(y = 1)`), callees and what follows `as` are none.

/// Whether the statement reads or assigns the name; what `let`, `var` or `param` binds is not read.
bool mentions(llvm::StringRef statement, llvm::StringRef name);
/// Wherever it is read or assigned.
std::string rename_uses(llvm::StringRef statement, llvm::StringRef from, llvm::StringRef to);
/// Where `let`, `var` or `param` binds it.
std::string rename_target(llvm::StringRef statement, llvm::StringRef from, llvm::StringRef to);

} // namespace tg::cli
