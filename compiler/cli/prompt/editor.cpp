// Line editing by libedit. While a line is edited the terminal sends no signals: Ctrl-C arrives as
// a key and discards the line. When the line is complete libedit restores the terminal, and Ctrl-C
// interrupts the running command. The history file is written after every line, so that a killed
// session loses nothing.
#include "compiler/cli/prompt/editor.h"

#include "lang/core/support/data_file.h"

#include <llvm/ADT/SmallString.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/Path.h>

#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <unistd.h>

#ifdef TG_HAVE_LIBEDIT
#include <histedit.h>
#endif

namespace tg::cli {
namespace {

class PlainSource : public LineSource {
public:
  ~PlainSource() override { std::free(buffer_); }
  EditorEvent read(llvm::StringRef, std::string& line) override {
    ssize_t length = getline(&buffer_, &capacity_, stdin);
    if (length < 0) return EditorEvent::End;
    line.assign(buffer_, static_cast<size_t>(length));
    while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.pop_back();
    return EditorEvent::Line;
  }

private:
  char* buffer_ = nullptr;
  size_t capacity_ = 0;
};

} // namespace

size_t word_begin(llvm::StringRef line) {
  size_t begin = line.size();
  while (begin > 0 &&
         (llvm::isAlnum(line[begin - 1]) || llvm::StringRef("_.:/-~").contains(line[begin - 1])))
    --begin;
  // In `x[a:na` the colon is not part of the word; it is only at the start of a line.
  size_t colon = line.rfind(':');
  if (colon != llvm::StringRef::npos && colon >= begin && colon > 0) begin = colon + 1;
  return begin;
}

std::unique_ptr<LineSource> make_plain_source() { return std::make_unique<PlainSource>(); }

std::string default_history_path() {
  llvm::SmallString<128> path;
  if (const char* state = std::getenv("XDG_STATE_HOME"); state && *state)
    path = state;
  else if (const char* home = std::getenv("HOME"); home && *home)
    llvm::sys::path::append(path, home, ".local", "state");
  else
    return "";
  llvm::sys::path::append(path, "tangram", "history");
  return path.str().str();
}

#ifndef TG_HAVE_LIBEDIT

std::unique_ptr<LineSource> make_terminal_source(const std::string&, Completer) { return nullptr; }

#else

namespace {

class TerminalSource : public LineSource {
public:
  TerminalSource(std::string history, Completer complete)
      : path_(std::move(history)), complete_(std::move(complete)), history_(history_init()),
        edit_(el_init("tg", stdin, stdout, stderr)) {
    if (!edit_ || !history_) return;
    HistEvent event;
    ::history(history_, &event, H_SETSIZE, kHistoryLines);
    ::history(history_, &event, H_SETUNIQUE, 1);
    if (!is_usable_cache(path_)) path_.clear();
    if (!path_.empty()) {
      llvm::sys::fs::create_directories(llvm::sys::path::parent_path(path_));
      ::history(history_, &event, H_LOAD, path_.c_str());
    }
    configure();
  }
  TerminalSource(const TerminalSource&) = delete;
  TerminalSource& operator=(const TerminalSource&) = delete;
  ~TerminalSource() override {
    if (history_) history_end(history_);
    if (edit_) el_end(edit_);
  }
  bool usable() const { return edit_ && history_; }

  EditorEvent read(llvm::StringRef prompt, std::string& line) override {
    prompt_ = prompt.str();
    interrupted_ = false;
    int count = 0;
    // Ends the terminal's own line editing before the prompt is drawn. Otherwise a Ctrl-D typed in
    // between would arrive as a letter.
    el_set(edit_, EL_PREP_TERM, 1);
    const char* text = el_gets(edit_, &count);
    if (interrupted_) return EditorEvent::Interrupt;
    if (!text || count <= 0) {
      std::fputs("\n", stdout);
      return EditorEvent::End;
    }
    line.assign(text, static_cast<size_t>(count));
    while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.pop_back();
    return EditorEvent::Line;
  }

  void remember(const std::string& line) override {
    HistEvent event;
    ::history(history_, &event, H_ENTER, line.c_str());
    if (!path_.empty()) ::history(history_, &event, H_SAVE, path_.c_str());
  }

private:
  static constexpr int kHistoryLines = 1000;

  void configure() {
    el_set(edit_, EL_CLIENTDATA, this);
    el_set(edit_, EL_PROMPT, &TerminalSource::prompt_text);
    el_set(edit_, EL_EDITOR, "emacs");
    el_set(edit_, EL_HIST, ::history, history_);
    el_set(edit_, EL_SIGNAL, 0);
    el_set(edit_, EL_SETTY, "-d", "-isig", nullptr);
    el_set(edit_, EL_ADDFN, "tg-complete", "complete the word", &TerminalSource::complete_key);
    el_set(edit_, EL_ADDFN, "tg-interrupt", "drop the line", &TerminalSource::interrupt_key);
    el_set(edit_, EL_BIND, "\t", "tg-complete", nullptr);
    el_set(edit_, EL_BIND, "^C", "tg-interrupt", nullptr);
    el_set(edit_, EL_BIND, "^R", "em-inc-search-prev", nullptr);
    el_set(edit_, EL_BIND, "^W", "ed-delete-prev-word", nullptr);
    el_set(edit_, EL_BIND, "\033[3~", "ed-delete-next-char", nullptr);
    el_source(edit_, nullptr); // the user's ~/.editrc
  }

  static TerminalSource& self(EditLine* edit) {
    void* data = nullptr;
    el_get(edit, EL_CLIENTDATA, &data);
    return *static_cast<TerminalSource*>(data);
  }
  static char* prompt_text(EditLine* edit) { return self(edit).prompt_.data(); }

  static unsigned char interrupt_key(EditLine* edit, int) {
    std::fputs("^C\n", stdout);
    std::fflush(stdout);
    self(edit).interrupted_ = true;
    return CC_NEWLINE;
  }

  static unsigned char complete_key(EditLine* edit, int) {
    const LineInfo* info = el_line(edit);
    llvm::StringRef line(info->buffer, static_cast<size_t>(info->cursor - info->buffer));
    llvm::StringRef word = line.drop_front(word_begin(line));
    std::vector<std::string> ways = self(edit).complete_(line);
    if (ways.empty()) return CC_ERROR;
    llvm::StringRef common = ways.front();
    for (llvm::StringRef way : ways)
      while (!way.startswith(common)) common = common.drop_back();
    std::string rest = common.drop_front(std::min(word.size(), common.size())).str();
    if (ways.size() == 1 && !llvm::StringRef(ways[0]).endswith("/")) rest += ' ';
    if (!rest.empty()) return el_insertstr(edit, rest.c_str()) == 0 ? CC_REFRESH : CC_ERROR;
    std::string list = "\n";
    for (const std::string& way : ways) list += way + "  ";
    std::fputs((list + "\n").c_str(), stdout);
    std::fflush(stdout);
    return CC_REDISPLAY;
  }

  std::string path_, prompt_;
  Completer complete_;
  ::History* history_;
  EditLine* edit_;
  bool interrupted_ = false;
};

} // namespace

std::unique_ptr<LineSource> make_terminal_source(const std::string& history, Completer complete) {
  if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) return nullptr;
  std::setlocale(LC_CTYPE, ""); // the encoding of the terminal; nothing else of the locale
  auto source = std::make_unique<TerminalSource>(history, std::move(complete));
  if (!source->usable()) return nullptr;
  return source;
}

#endif

} // namespace tg::cli
