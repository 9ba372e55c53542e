// Diagnostics: a code from diagnostics.def, a message, labelled places, notes and a suggestion.
// Phases report into a DiagnosticSink; the renderer prints an excerpt with carets, or JSON.
#pragma once

#include "lang/core/diagnostics/source.h"

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/Support/FormatVariadic.h>
#include <llvm/Support/raw_ostream.h>

#include <string>
#include <vector>

namespace tg {

/// One row of diagnostics.def. `E0000` is printed with its four digits.
enum class Code : uint16_t {
#define TG_DIAGNOSTIC(name, number, summary) name = number,
#include "lang/core/diagnostics.def"
};

/// The kind of failure, which determines the exit code.
enum class Severity : uint8_t { Error, Warning, Note };

struct Label {
  Span span;
  std::string text; // may be empty: only the underline is drawn
};

struct Diagnostic {
  Code code{};
  Severity severity = Severity::Error;
  std::string message;
  Span span;                      // the primary place; invalid if there is none
  std::string label;              // text beside the carets of `span`
  std::vector<Label> labels;      // further places, drawn below
  std::vector<std::string> notes; // `= x: f32[1, 512] from ...`, `= in cell(...), called from ...`
  std::string help;               // a suggestion; empty if there is no clear one

  Diagnostic& mark(std::string text) & { return label = std::move(text), *this; }
  Diagnostic&& mark(std::string text) && { return label = std::move(text), std::move(*this); }
  Diagnostic& note(std::string text) & { return notes.push_back(std::move(text)), *this; }
  Diagnostic&& note(std::string text) && {
    return notes.push_back(std::move(text)), std::move(*this);
  }
  Diagnostic&& at(Span place, std::string text) && {
    return labels.push_back({place, std::move(text)}), std::move(*this);
  }
  Diagnostic&& suggest(std::string text) && { return help = std::move(text), std::move(*this); }
};

/// Makes an error at a place in the source. Messages: lower case, no full stop,
/// the user's spelling.
template <class... Args>
Diagnostic error(Code code, Span span, const char* format, Args&&... args) {
  Diagnostic d;
  d.code = code;
  d.span = span;
  d.message = llvm::formatv(format, std::forward<Args>(args)...).str();
  return d;
}

/// Makes an error without a place in a source (a missing file, a device).
template <class... Args> Diagnostic error(Code code, const char* format, Args&&... args) {
  return error(code, Span{}, format, std::forward<Args>(args)...);
}

class DiagnosticSink {
public:
  void report(Diagnostic d) {
    if (d.severity == Severity::Error) ++errors_;
    diagnostics_.push_back(std::move(d));
  }
  size_t errors() const { return errors_; }
  bool failed() const { return errors_ != 0; }
  const std::vector<Diagnostic>& all() const { return diagnostics_; }
  /// Sorts by file and position, stably, and removes duplicates.
  void sort();

private:
  std::vector<Diagnostic> diagnostics_;
  size_t errors_ = 0;
};

/// Returns `E0213`.
std::string code_text(Code code);
/// Returns the `summary` column of diagnostics.def.
llvm::StringRef code_summary(Code code);

/// Prints an excerpt with carets, with ANSI colours if `color`.
void render(const Diagnostic& d, const SourceManager& sources, llvm::raw_ostream& out,
            bool color = false);

/// Returns the nearest of `candidates` by edit distance, or "" if none is near enough to suggest.
llvm::StringRef near_miss(llvm::StringRef name, llvm::ArrayRef<llvm::StringRef> candidates);

/// The full explanation of a diagnostic, for `tg help CODE` and lang/DIAGNOSTICS.md.
/// The texts are in explanations.def.
struct Explanation {
  Code code{};
  llvm::StringRef name; // "shape_mismatch"
  /// If true, the examples are .tg texts: `wrong` gives this code and `right` gives none.
  /// Otherwise they are commands or words, and may be empty.
  bool is_file = false;
  llvm::StringRef why, wrong, right;
};

/// Returns one explanation per row of diagnostics.def, in its order.
/// A test checks that the lists agree.
llvm::ArrayRef<Explanation> explanations();

/// Looks up `E0213`, `0213`, `213` or the row's name; returns null if there is none.
const Explanation* find_explanation(llvm::StringRef word);

} // namespace tg
