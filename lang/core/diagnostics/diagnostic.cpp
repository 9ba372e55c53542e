// Renders diagnostics as shown in the language's documentation:
// a heading, the place, an excerpt with the labelled places underlined, notes, help.
// Places are grouped by file and line, and each place gets its own underline row.
// A line is shown through a window of kWindow bytes around its first mark,
// so that the cost of a message does not depend on the length of the line.
#include "lang/core/diagnostics/diagnostic.h"

#include "lang/core/diagnostics/escape.h"

#include <llvm/ADT/SmallVector.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/Unicode.h>

#include <algorithm>
#include <tuple>

namespace tg {

std::string code_text(Code code) {
  std::string digits = std::to_string(static_cast<unsigned>(code));
  return "E" + std::string(4 - std::min<size_t>(digits.size(), 4), '0') + digits;
}

llvm::StringRef code_summary(Code code) {
  static constexpr std::pair<Code, const char*> kSummaries[] = {
#define TG_DIAGNOSTIC(name, number, summary) {Code::name, summary},
#include "lang/core/diagnostics.def"
  };
  for (auto [row, summary] : kSummaries)
    if (row == code) return summary;
  return {};
}

void DiagnosticSink::sort() {
  auto place = [](const Diagnostic& d) {
    return std::make_tuple(d.span.file.index, d.span.begin, d.span.end);
  };
  std::stable_sort(diagnostics_.begin(), diagnostics_.end(),
                   [&](const Diagnostic& a, const Diagnostic& b) { return place(a) < place(b); });
  auto same = [](const Diagnostic& a, const Diagnostic& b) {
    return a.span == b.span && a.code == b.code && a.message == b.message && a.notes == b.notes;
  };
  diagnostics_.erase(std::unique(diagnostics_.begin(), diagnostics_.end(), same),
                     diagnostics_.end());
  errors_ = static_cast<size_t>(
      std::count_if(diagnostics_.begin(), diagnostics_.end(),
                    [](const Diagnostic& d) { return d.severity == Severity::Error; }));
}

namespace {

constexpr size_t kWindow = 140; // displayed bytes of a long source line
constexpr size_t kBefore = 50;  // of these, before the first mark
constexpr size_t kTabStop = 4;

struct Colours {
  const char *strong, *mark, *second, *frame, *off;
};
constexpr Colours kPlain{"", "", "", "", ""};
constexpr Colours kColoured{"\033[1m", "\033[1;31m", "\033[1;34m", "\033[1;34m", "\033[0m"};

/// One underlined place, cut to its first line.
struct Mark {
  FileId file;
  uint32_t line = 0;
  size_t begin = 0, end = 0; // bytes within the line
  bool primary = false;
  llvm::StringRef text;
};

Mark make_mark(Span span, llvm::StringRef text, bool primary, const SourceManager& sources) {
  const SourceFile& file = sources.file(span.file);
  uint32_t line = file.position(span.begin).line;
  llvm::StringRef shown = file.line(line);
  // A span at the end of the text may be past the line's newline; it is drawn after the last byte.
  size_t start = static_cast<size_t>(shown.data() - file.text().data());
  size_t begin = std::min<size_t>(span.begin - start, shown.size());
  size_t end = std::min<size_t>(std::max(span.end, span.begin) - start, shown.size());
  return {span.file, line, begin, std::max(begin, end), primary, text};
}

bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

/// A part of a source line as displayed: tabs expanded, control characters replaced.
struct Shown {
  std::string text;
  std::vector<size_t> column; // of each byte of the part, and one past it
};

size_t character_width(llvm::StringRef character) {
  int width = llvm::sys::unicode::columnWidthUTF8(character);
  return width < 0 ? 1 : static_cast<size_t>(width);
}

Shown show(llvm::StringRef part) {
  Shown out;
  size_t column = 0;
  for (size_t i = 0; i < part.size();) {
    size_t length = 1;
    while (i + length < part.size() && continues_character(part[i + length])) ++length;
    out.column.insert(out.column.end(), length, column);
    unsigned char first = static_cast<unsigned char>(part[i]);
    if (first == '\t') {
      size_t spaces = kTabStop - column % kTabStop;
      out.text.append(spaces, ' ');
      column += spaces;
    } else if (!first_code_point(part.substr(i, length)).visible()) {
      out.text += "\uFFFD";
      column += 1;
    } else {
      out.text += part.substr(i, length);
      column += character_width(part.substr(i, length));
    }
    i += length;
  }
  out.column.push_back(column);
  return out;
}

/// Returns the displayed bytes [first, second) of a line, which include `begin`.
std::pair<size_t, size_t> window(llvm::StringRef line, size_t begin) {
  if (line.size() <= kWindow) return {0, line.size()};
  size_t first = begin > kBefore ? begin - kBefore : 0;
  first = std::min(first, line.size() - kWindow);
  while (first > 0 && continues_character(line[first])) --first;
  size_t last = std::min(first + kWindow, line.size());
  while (last < line.size() && continues_character(line[last])) ++last;
  return {first, last};
}

class Renderer {
public:
  Renderer(const Diagnostic& d, const SourceManager& sources, llvm::raw_ostream& out, bool color)
      : d_(d), sources_(sources), out_(out), c_(color ? kColoured : kPlain) {}

  void run() {
    collect();
    heading();
    for (size_t i = 0; i < marks_.size();) i = file_part(i);
    bool more = !d_.notes.empty() || !d_.help.empty();
    if (!marks_.empty() && more) gutter("") << "\n";
    for (llvm::StringRef note : d_.notes) remark(note);
    if (!d_.help.empty()) remark("help: " + d_.help);
  }

private:
  void collect() {
    auto add = [&](Span span, llvm::StringRef text, bool primary) {
      if (span.valid()) marks_.push_back(make_mark(span, text, primary, sources_));
    };
    add(d_.span, d_.label, true);
    for (const Label& label : d_.labels) add(label.span, label.text, false);
    // The file of the primary place first, then other files in the order of their labels;
    // lines ascend.
    auto rank = [&](FileId file) {
      return std::find_if(marks_.begin(), marks_.end(),
                          [&](const Mark& m) { return m.file == file; }) -
             marks_.begin();
    };
    std::vector<std::pair<std::tuple<ptrdiff_t, uint32_t, bool>, Mark>> keyed;
    for (const Mark& m : marks_) keyed.push_back({{rank(m.file), m.line, !m.primary}, m});
    std::stable_sort(keyed.begin(), keyed.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    marks_.clear();
    for (auto& entry : keyed) marks_.push_back(entry.second);
    uint32_t largest = 0;
    for (const Mark& m : marks_) largest = std::max(largest, m.line);
    width_ = std::to_string(largest).size();
  }

  void heading() {
    static constexpr const char* kWords[] = {"error", "warning", "note"};
    out_ << c_.mark << kWords[static_cast<size_t>(d_.severity)] << "[" << code_text(d_.code) << "]"
         << c_.off << c_.strong << ": " << printable(d_.message, /*keep_lines=*/true) << c_.off
         << "\n";
  }

  /// Prints the marks of one file from `i` on; returns the index after them.
  size_t file_part(size_t i) {
    FileId file = marks_[i].file;
    bool primary = d_.span.valid() && file == d_.span.file;
    Span place = d_.span;
    if (!primary) {
      auto first = std::find_if(d_.labels.begin(), d_.labels.end(),
                                [&](const Label& l) { return l.span.file == file; });
      place = first->span;
    }
    LineColumn at = sources_.file(file).position(place.begin);
    indent(width_) << c_.frame << (primary ? "--> " : "::: ") << c_.off
                   << printable(sources_.file(file).name()) << ":" << at.line << ":" << at.column
                   << "\n";
    gutter("") << "\n";
    uint32_t previous = 0;
    while (i < marks_.size() && marks_[i].file == file) {
      if (previous != 0 && marks_[i].line > previous + 1) indent(width_) << " ...\n";
      previous = marks_[i].line;
      i = line_part(i);
    }
    return i;
  }

  /// Prints one source line and an underline for each of its marks.
  size_t line_part(size_t i) {
    const Mark& first = marks_[i];
    llvm::StringRef line = sources_.file(first.file).line(first.line);
    auto [from, to] = window(line, first.begin);
    Shown shown = show(line.slice(from, to));
    const char* left = from > 0 ? "..." : "";
    gutter(std::to_string(first.line))
        << (shown.text.empty() ? "" : " ") << left << llvm::StringRef(shown.text).rtrim()
        << (to < line.size() ? "..." : "") << "\n";
    for (; i < marks_.size() && marks_[i].file == first.file && marks_[i].line == first.line; ++i)
      underline(marks_[i], shown, from, to, from > 0 ? 3 : 0);
    return i;
  }

  void underline(const Mark& mark, const Shown& shown, size_t from, size_t to, size_t shift) {
    size_t begin = shown.column[std::clamp(mark.begin, from, to) - from];
    size_t end = shown.column[std::clamp(mark.end, from, to) - from];
    size_t length = std::max<size_t>(end - begin, 1);
    gutter("") << std::string(1 + shift + begin, ' ') << (mark.primary ? c_.mark : c_.second)
               << std::string(length, mark.primary ? '^' : '-');
    if (!mark.text.empty()) out_ << " " << printable(mark.text);
    out_ << c_.off << "\n";
  }

  /// Prints a note. Its second and further lines are aligned with the first.
  void remark(llvm::StringRef text) {
    bool first = true;
    do {
      auto [line, rest] = text.split('\n');
      indent(width_ + 1) << c_.frame << (first ? "=" : " ") << c_.off << " " << printable(line)
                         << "\n";
      text = rest;
      first = false;
    } while (!text.empty());
  }

  llvm::raw_ostream& gutter(llvm::StringRef number) {
    return indent(width_ - number.size()) << c_.frame << number << " |" << c_.off;
  }
  llvm::raw_ostream& indent(size_t columns) { return out_.indent(static_cast<unsigned>(columns)); }

  const Diagnostic& d_;
  const SourceManager& sources_;
  llvm::raw_ostream& out_;
  const Colours& c_;
  llvm::SmallVector<Mark, 4> marks_;
  size_t width_ = 1;
};

/// Returns true if two adjacent letters are exchanged: the most common typing error,
/// for which the edit distance is two.
bool is_transposition(llvm::StringRef a, llvm::StringRef b) {
  if (a.size() != b.size()) return false;
  size_t i = 0;
  while (i < a.size() && a[i] == b[i]) ++i;
  return i + 1 < a.size() && a[i] == b[i + 1] && a[i + 1] == b[i] &&
         a.substr(i + 2) == b.substr(i + 2);
}

} // namespace

void render(const Diagnostic& d, const SourceManager& sources, llvm::raw_ostream& out, bool color) {
  Renderer(d, sources, out, color).run();
}

llvm::StringRef near_miss(llvm::StringRef name, llvm::ArrayRef<llvm::StringRef> candidates) {
  // Allows one error per three letters; a name of one or two letters matches only its other case.
  unsigned limit = static_cast<unsigned>(std::min<size_t>(name.size() / 3, 4));
  llvm::StringRef best;
  unsigned best_distance = limit + 1;
  for (llvm::StringRef candidate : candidates) {
    if (candidate == name || candidate.empty()) continue;
    unsigned distance = limit + 1;
    if (candidate.equals_insensitive(name))
      distance = 0;
    else if (limit > 0 && is_transposition(name, candidate))
      distance = 1;
    else if (limit > 0)
      distance = name.edit_distance(candidate, true, limit);
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best_distance <= limit ? best : llvm::StringRef();
}

} // namespace tg
