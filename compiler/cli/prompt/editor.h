// The source of a session's lines: a terminal with line editing, history and completion (libedit),
// or plain standard input.
#pragma once

#include <llvm/ADT/StringRef.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tg::cli {

class LineSource {
public:
  enum class EditorEvent : uint8_t { Line, Interrupt, End };

  virtual ~LineSource() = default;
  /// Reads the next line, without its newline. Interrupt: Ctrl-C was pressed and the line
  /// is discarded.
  virtual EditorEvent read(llvm::StringRef prompt, std::string& line) = 0;
  /// Adds a line to the history, for this and later sessions.
  virtual void remember(const std::string&) {}
};

/// Returns all completions of `line`, the text before the cursor; each is a complete last word.
using Completer = std::function<std::vector<std::string>(llvm::StringRef line)>;

/// Returns the start of the word under the cursor, which completion replaces.
size_t word_begin(llvm::StringRef line);

/// Makes a source that reads standard input and shows no prompt.
std::unique_ptr<LineSource> make_plain_source();
/// Makes a source with line editing. Null if this build lacks libedit or there is no terminal.
std::unique_ptr<LineSource> make_terminal_source(const std::string& history, Completer complete);

/// Returns $XDG_STATE_HOME/tangram/history or ~/.local/state/tangram/history; "" without a home.
std::string default_history_path();

} // namespace tg::cli
