// The state of a prompt session, and how entries are read in it: the notebook, the settings,
// the best graph of the last search. Each line gets a Session of its own, so that an error
// leaves no trace.
#pragma once

#include "compiler/cli/pipeline.h"
#include "compiler/cli/prompt/notebook.h"
#include "lang/check/resolve.h"

namespace tg::cli {

/// The state that a line may change.
struct ReplState {
  Notebook notebook;
  std::vector<std::pair<std::string, std::string>> settings; // name and value, as entered
  Options options;                                           // the settings as options
  std::vector<std::string> rules_off;                        // session rules that are switched off
  struct Best {
    Graph source;
    Optimized found;
    std::vector<Rule> rules; // referred to by its chain
  };
  std::shared_ptr<const Best> best; // result of the last `:opt`
};

class ReplSession {
public:
  ReplSession(llvm::raw_ostream& out, llvm::raw_ostream& err, bool color)
      : out_(out), err_(err), color_(color) {
    apply_settings({});
  }

  ReplState& state() { return state_; }
  const ReplState& state() const { return state_; }
  llvm::raw_ostream& out() const { return out_; }
  bool color() const { return color_; }
  void flush() const {
    out_.flush();
    err_.flush();
  }

  Session begin() const;
  void fail(Session& session);
  void fail(Diagnostic d);
  /// Returns the number of rejected lines.
  size_t failures() const { return failures_; }

  /// Reads the program of a notebook. Check session.sink before using it.
  Program read(Session& session, const Notebook& notebook, llvm::StringRef expression = "") const;
  std::vector<Rule> declared_rules(Session& session, const Program& program) const;
  struct Target {
    Graph graph;
    std::vector<Rule> rules; // declared in the session
    ModelValue value;
  };
  /// Returns the graph on which a command works: `best`, a model, an expression, or for an empty
  /// argument the session's own model or the only one of the file. nullopt after an error, which
  /// has been printed.
  std::optional<Target> target(Session& session, llvm::StringRef argument);
  /// Returns all defined names.
  std::vector<std::string> words() const;

  /// Returns the option of a `:set` name, or null if there is none.
  static const OptionRow* setting(llvm::StringRef name);
  bool is_parameter(llvm::StringRef name) const;
  bool apply_settings(std::vector<std::pair<std::string, std::string>> changes);

  /// Keeps the old state for `:undo`, if the line changed something.
  void remember(std::string line, ReplState before);
  /// Reverts the last line that changed something, and returns it; nullopt if there is none.
  std::optional<std::string> undo();

private:
  std::optional<std::string> pick_model(Session& session, const Program& program,
                                        llvm::StringRef argument) const;
  /// Returns true if the name is a parameter of the model, or of any model if `model` is "".
  static bool is_parameter(const Program& program, llvm::StringRef model, llvm::StringRef name);
  void note_ranges(const Program& program, llvm::StringRef model) const;
  ModelSettings settings_of(const Program& program, llvm::StringRef model) const;

  llvm::raw_ostream& out_;
  llvm::raw_ostream& err_;
  bool color_;
  size_t failures_ = 0;
  ReplState state_;
  static constexpr size_t kMostUndone = 100;
  std::vector<std::pair<std::string, ReplState>> undo_; // lines, and states before; latest last
};

/// Returns all completions of the text before the cursor; each is a complete last word.
std::vector<std::string> complete(const ReplSession& repl, llvm::StringRef text);
/// Prints the `:help` of a name.
void help_on(ReplSession& repl, llvm::StringRef name);

} // namespace tg::cli
