// The `:commands` of the prompt.
#pragma once

#include "compiler/cli/prompt/session.h"

namespace tg::cli {

class ReplCommands {
public:
  explicit ReplCommands(ReplSession& repl) : repl_(repl) {}

  struct Command {
    llvm::StringLiteral name, arguments, help;
    void (ReplCommands::*run)(llvm::StringRef argument);
  };
  static llvm::ArrayRef<Command> commands();
  /// Runs a line without its colon.
  void run_line(llvm::StringRef text);
  void load(llvm::StringRef path);
  /// Returns true after `:quit`.
  bool leaving() const { return leaving_; }

private:
  void help(llvm::StringRef argument) { help_on(repl_, argument); }
  void show_type(llvm::StringRef argument);
  void show_shape(llvm::StringRef argument);
  void load_file_command(llvm::StringRef argument);
  void reload(llvm::StringRef argument);
  void rules(llvm::StringRef argument);
  void switch_rule(llvm::StringRef name, bool on);
  void optimise(llvm::StringRef argument);
  void cost(llvm::StringRef argument);
  void run(llvm::StringRef argument);
  void explain(llvm::StringRef argument);
  void verify(llvm::StringRef argument);
  void graph(llvm::StringRef argument);
  void undo(llvm::StringRef argument);
  void show(llvm::StringRef argument);
  void show_session();
  void set(llvm::StringRef argument);
  void show_settings();
  void save(llvm::StringRef argument);
  void quit(llvm::StringRef) { leaving_ = true; }

  ReplSession& repl_;
  bool leaving_ = false;
};

} // namespace tg::cli
