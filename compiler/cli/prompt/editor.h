// Where the lines of a session come from: a terminal with line editing, history and completion
// (libedit), or any other standard input, read as it is.
#pragma once

#include <llvm/ADT/StringRef.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tg::cli {

class LineSource {
public:
  enum class Got : uint8_t { Line, Interrupt, End };

  virtual ~LineSource() = default;
  /// The next line, without its newline. Interrupt: Ctrl-C was pressed, what was typed is dropped.
  virtual Got read(llvm::StringRef prompt, std::string& line) = 0;
  /// Keeps a line for the arrow keys, here and in later sessions.
  virtual void remember(const std::string&) {}
};

/// All ways to go on from `line`, the text before the cursor: each a whole last word.
using Completer = std::function<std::vector<std::string>(llvm::StringRef line)>;

/// What lies before the word under the cursor stays; the word is what completion replaces.
size_t word_begin(llvm::StringRef line);

/// Lines of standard input; no prompt is shown.
std::unique_ptr<LineSource> make_plain_source();
/// Line editing on the terminal. Null where this build has no libedit or the terminal is none.
std::unique_ptr<LineSource> make_terminal_source(const std::string& history, Completer complete);

/// $XDG_STATE_HOME/tangram/history or ~/.local/state/tangram/history; "" if there is no home.
std::string default_history_path();

} // namespace tg::cli
