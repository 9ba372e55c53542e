// A session at the prompt, line by line: entries go into the notebook, `:commands` are executed.
// Files: repl.cpp (lines, interrupts), session.h (the state), commands.h (`:commands`), help.cpp
// (`:help`), complete.cpp (Tab), notebook.h (text), editor.h (the terminal).
#pragma once

#include "compiler/cli/prompt/commands.h"

namespace tg::cli {

class Repl {
public:
  Repl(llvm::raw_ostream& out, llvm::raw_ostream& err, bool color)
      : session_(out, err, color), commands_(session_) {}

  /// Processes one complete line, which may have several rows. Returns false if the user
  /// wants to leave.
  bool step(llvm::StringRef text);
  /// Runs `:load`, for the FILE of the command line.
  void load(llvm::StringRef path) { commands_.load(path); }
  /// Returns the number of rejected lines.
  size_t failures() const { return session_.failures(); }
  /// Returns all completions of the text before the cursor; each is a complete last word.
  std::vector<std::string> complete(llvm::StringRef text) const {
    return cli::complete(session_, text);
  }

private:
  bool leaves(llvm::StringRef text) const;
  void print_message(llvm::StringRef text);
  bool declare(Session& session, const Notebook& next, llvm::ArrayRef<Cell> cells);
  bool evaluate(Session& session, const Notebook& next, const Cell& cell);

  ReplSession session_;
  ReplCommands commands_;
};

} // namespace tg::cli
