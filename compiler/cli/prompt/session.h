// What the session at a prompt holds, and how what is typed is read in it: the notebook of what was
// said, settings, the best graph found last. One Session of its own for each line, so that an error
// leaves no trace.
#pragma once

#include "compiler/cli/pipeline.h"
#include "compiler/cli/prompt/notebook.h"
#include "lang/check/resolve.h"

namespace tg::cli {

/// What a line may change.
struct ReplState {
  Notebook notebook;
  std::vector<std::pair<std::string, std::string>> settings; // name, value; as given
  Options options;                                           // the settings as options
  std::vector<std::string> rules_off;                        // declared here, switched off
  struct Best {
    Graph source;
    Optimized found;
    std::vector<Rule> rules; // that its chain numbers
  };
  std::shared_ptr<const Best> best; // of the last `:opt`
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
  /// Lines that were refused.
  size_t failures() const { return failures_; }

  /// The program of a notebook; check session.sink before it is used.
  Program read(Session& session, const Notebook& notebook, llvm::StringRef expression = "") const;
  std::vector<Rule> declared_rules(Session& session, const Program& program) const;
  struct Target {
    Graph graph;
    std::vector<Rule> rules; // declared in the session
    ModelValue value;
  };
  /// What a command works on: `best`, a model, an expression, or, if empty, the session's own model
  /// or the only one of the file. nullopt after an error, which has been printed.
  std::optional<Target> target(Session& session, llvm::StringRef argument);
  /// All names that mean something.
  std::vector<std::string> words() const;

  /// The option that a name of `:set` stands for; nullptr for none.
  static const OptionRow* setting(llvm::StringRef name);
  bool is_parameter(llvm::StringRef name) const;
  bool apply_settings(std::vector<std::pair<std::string, std::string>> changes);

  /// For `:undo`, where the line changed something.
  void remember(std::string line, ReplState before);
  /// Takes back the last line that did; which one, or nullopt where there is none.
  std::optional<std::string> undo();

private:
  std::optional<std::string> pick_model(Session& session, const Program& program,
                                        llvm::StringRef argument) const;
  /// Of the model, or of any if that is "".
  static bool is_parameter(const Program& program, llvm::StringRef model, llvm::StringRef name);
  ModelSettings settings_of(const Program& program, llvm::StringRef model) const;

  llvm::raw_ostream& out_;
  llvm::raw_ostream& err_;
  bool color_;
  size_t failures_ = 0;
  ReplState state_;
  static constexpr size_t kMostUndone = 100;
  std::vector<std::pair<std::string, ReplState>> undo_; // lines, and what was before; latest last
};

/// Each way to go on from the text before the cursor: whole last words.
std::vector<std::string> complete(const ReplSession& repl, llvm::StringRef text);
/// `:help`: what is known about a name.
void help_on(ReplSession& repl, llvm::StringRef name);

} // namespace tg::cli
