// The notebook of a prompt session: the loaded file, and the entered declarations, inputs and
// statements, as text. For each new line the whole text is composed as one .tg file, with the line
// appended or replacing an older one, and read by the front end like any other file. So the prompt
// has no semantics of its own. A rejected line leaves no trace, since it was added to a copy.
//
// The composed file has the loaded file, then `use` lines, then declarations, then
// `model it(inputs) { statements }`. Diagnostics use the line numbers of this file, which `:show`
// prints.
#pragma once

#include <llvm/ADT/StringRef.h>

#include <string>
#include <vector>

namespace tg::cli {

/// Returns true if a line at the prompt is complete: brackets are closed, no operator lacks its
/// right operand, and a declaration has its body. A line with any other error is complete too.
bool is_complete(llvm::StringRef text);

enum class CellKind : uint8_t { Use, Declaration, Input, Statement, Expression };

/// One entry at the prompt.
struct Cell {
  CellKind kind = CellKind::Expression;
  std::string text;
  /// For declarations: `fn f`, `rule r`, ...; for inputs: the name. A new cell replaces one of
  /// the same name.
  std::string name;
  /// For statements: an expression for the bound values: `y`, `(a, b)`; "" if nothing is bound.
  std::string result;
  /// For statements: the names bound by `let`, `var` or `param`.
  std::vector<std::string> binds;
  bool operator==(const Cell&) const = default;
};

/// Splits an entry into declarations, or into one input, statement or expression. Text that cannot
/// be parsed becomes one cell of the kind that its beginning suggests.
std::vector<Cell> read_cells(llvm::StringRef text);

class Notebook {
public:
  /// The name of the model made of statements and expressions.
  static constexpr llvm::StringLiteral kModel = "it";

  void load(std::string path, std::string text) {
    path_ = std::move(path);
    loaded_ = std::move(text);
  }
  /// Adds a cell and removes one of the same name. Expressions are not kept. A statement that binds
  /// a name again replaces the statement that bound it before. If other statements read the old
  /// value, the old name is changed; returns these pairs, old name first.
  std::vector<std::pair<std::string, std::string>> add(Cell cell);

  /// Returns the last statement, which may read names that `add` gave to replaced values.
  const Cell& last_statement() const { return statements_.back(); }

  const std::string& path() const { return path_; } // of the loaded file; "": none
  bool has_statements() const { return !statements_.empty() || !inputs_.empty(); }
  bool empty() const { return uses_.empty() && declarations_.empty() && !has_statements(); }

  bool operator==(const Notebook&) const = default;

  /// Returns true if a statement's binding would hide an input of this name.
  bool hides(llvm::StringRef name) const;
  /// Returns the names of inputs and of values bound by statements.
  std::vector<std::string> bound_names() const;

  /// Returns the composed file. `expression` is the result of the model; without it the result is
  /// the last statement's. Without statements and expression there is no model.
  std::string text(llvm::StringRef expression = "") const;
  /// Returns the offset in text() at which the entered part begins.
  size_t typed_begin() const;
  /// Returns the name of the file in diagnostics.
  std::string name() const { return path_.empty() ? "<prompt>" : path_; }

private:
  void drop_replaced(const Cell& cell);
  std::string rename_bound(const std::string& name, Cell& cell);
  std::string unused_name(llvm::StringRef name, const Cell& cell) const;

  std::string path_, loaded_;
  std::vector<Cell> uses_, declarations_, inputs_, statements_;
};

// Finds and renames the names that a statement binds or reads. Names of arguments (`f(y = 1)`),
// callees and names after `as` do not count.

/// Returns true if the statement reads or assigns the name. A name bound by `let`, `var` or `param`
/// is not read.
bool mentions(llvm::StringRef statement, llvm::StringRef name);
/// Renames all reads and assignments.
std::string rename_uses(llvm::StringRef statement, llvm::StringRef from, llvm::StringRef to);
/// Renames the binding by `let`, `var` or `param`.
std::string rename_target(llvm::StringRef statement, llvm::StringRef from, llvm::StringRef to);

} // namespace tg::cli
