// A session at the prompt: the notebook of what was said, settings, the best graph found last, and
// what each line does. One Session of its own for each line, so that an error leaves no trace.
// Files: repl.cpp (lines, interrupts), repl_commands.cpp (`:commands`), repl_help.cpp (`:help`),
// repl_complete.cpp (Tab), repl_notebook.h (text), repl_editor.h (the terminal).
#pragma once

#include "compiler/driver/cli/pipeline.h"
#include "compiler/driver/cli/repl_notebook.h"
#include "lang/check/resolve.h"

namespace tg::cli {

class Repl {
public:
  Repl(llvm::raw_ostream& out, llvm::raw_ostream& err, bool color);

  /// One finished line, of one or more rows. False: the user wants to leave.
  bool step(llvm::StringRef text);
  /// `:load`, for the FILE of the command line.
  void load(llvm::StringRef path);
  /// Lines that were refused.
  size_t failures() const { return failures_; }
  /// Each way to go on from the text before the cursor: whole last words.
  std::vector<std::string> complete(llvm::StringRef text) const;

private:
  struct Command {
    llvm::StringLiteral name, arguments, help;
    void (Repl::*run)(llvm::StringRef argument);
  };
  static llvm::ArrayRef<Command> commands();
  /// The option that a name of `:set` stands for; nullptr for none.
  static const OptionRow* setting(llvm::StringRef name);

  struct Before;

  // --- repl.cpp
  void tell(llvm::StringRef text);
  bool leaves(llvm::StringRef text) const;
  void remember(Before before);
  void command(llvm::StringRef text);
  bool declare(Session& session, const Notebook& next, llvm::ArrayRef<Cell> cells);
  bool evaluate(Session& session, const Notebook& next, const Cell& cell);
  Session begin() const;
  void fail(Session& session);
  void fail(Diagnostic d);
  /// The program of a notebook; check session.sink before it is used.
  Program read(Session& session, const Notebook& notebook, llvm::StringRef expression = "") const;
  struct Target {
    Graph graph;
    std::vector<Rule> rules; // declared in the session
    ModelValue value;
  };
  /// What a command works on: `best`, a model, an expression, or, if empty, the session's own model
  /// or the only one of the file. nullopt after an error, which has been printed.
  std::optional<Target> target(Session& session, llvm::StringRef argument);
  std::optional<std::string> pick_model(Session& session, const Program& program,
                                        llvm::StringRef argument) const;
  std::vector<Rule> declared_rules(Session& session, const Program& program) const;

  // --- repl_commands.cpp
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
  bool apply_settings(std::vector<std::pair<std::string, std::string>> settings);
  bool is_parameter(llvm::StringRef name) const;
  /// Of the model, or of any if that is "".
  static bool is_parameter(const Program& program, llvm::StringRef model, llvm::StringRef name);
  ModelSettings settings_of(const Program& program, llvm::StringRef model) const;
  void save(llvm::StringRef argument);
  void quit(llvm::StringRef) { leaving_ = true; }

  // --- repl_help.cpp
  void help(llvm::StringRef argument);
  bool help_command(llvm::StringRef name);
  bool help_code(llvm::StringRef name);
  bool help_declared(llvm::StringRef name);
  std::vector<std::string> words() const;

  // --- repl_complete.cpp
  static std::vector<std::string> setting_words(llvm::StringRef text);
  std::vector<std::string> argument_words(llvm::StringRef line) const;

  llvm::raw_ostream& out_;
  llvm::raw_ostream& err_;
  bool color_ = false, leaving_ = false;
  size_t failures_ = 0;
  Notebook notebook_;
  std::vector<std::pair<std::string, std::string>> settings_; // name, value; as given
  Options options_;                                           // what the settings come to
  std::vector<std::string> rules_off_;                        // declared here, switched off
  struct Best {
    Graph source;
    Optimized found;
    std::vector<Rule> rules; // that its chain numbers
  };
  std::shared_ptr<const Best> best_; // of the last `:opt`

  /// What a line may change, as it was before the line.
  struct Before {
    std::string line;
    Notebook notebook;
    std::vector<std::pair<std::string, std::string>> settings;
    Options options;
    std::vector<std::string> rules_off;
    std::shared_ptr<const Best> best;
  };
  static constexpr size_t kMostUndone = 100;
  std::vector<Before> undo_; // the latest last
};

} // namespace tg::cli
