// A session at the prompt, line by line: what is entered goes into the notebook, `:commands` are
// run. Files: repl.cpp (lines, interrupts), session.h (what the session holds), commands.h
// (`:commands`), help.cpp (`:help`), complete.cpp (Tab), notebook.h (text), editor.h (the
// terminal).
#pragma once

#include "compiler/cli/prompt/commands.h"

namespace tg::cli {

class Repl {
public:
  Repl(llvm::raw_ostream& out, llvm::raw_ostream& err, bool color)
      : session_(out, err, color), commands_(session_) {}

  /// One finished line, of one or more rows. False: the user wants to leave.
  bool step(llvm::StringRef text);
  /// `:load`, for the FILE of the command line.
  void load(llvm::StringRef path) { commands_.load(path); }
  /// Lines that were refused.
  size_t failures() const { return session_.failures(); }
  /// Each way to go on from the text before the cursor: whole last words.
  std::vector<std::string> complete(llvm::StringRef text) const {
    return cli::complete(session_, text);
  }

private:
  bool leaves(llvm::StringRef text) const;
  void tell(llvm::StringRef text);
  bool declare(Session& session, const Notebook& next, llvm::ArrayRef<Cell> cells);
  bool evaluate(Session& session, const Notebook& next, const Cell& cell);

  ReplSession session_;
  ReplCommands commands_;
};

} // namespace tg::cli
