// Tokens between the scanner and the grammar. The way of the text is
//
//   scan (lexer.l)  ->  raw tokens, comments
//   lay_out         ->  the same with line ends and with brackets that always match
//   the grammar     ->  the tree
//
// Invariant after lay_out, on which the error recovery of the grammar stands: brackets are balanced
// and nested no deeper than ast::kMaxNesting, each statement of a block is followed by one NEWLINE,
// each declaration by one DECL_END, and END comes last. What had to be added or dropped for that
// has been reported.
#pragma once

#include "lang/core/diagnostics/diagnostic.h"
#include "lang/syntax/ast.h"

#include <cstdint>
#include <vector>

namespace tg {

struct Token {
  int kind = 0; // Grammar::token, see parser.y
  uint32_t begin = 0, end = 0;
  uint32_t depth = 0;       // braces around it; the braces themselves count as outside
  bool starts_line = false; // the first token of its line
  bool synthetic = false;   // added by lay_out to mend an error that has been reported
};

/// The errors of one file while it is read. Later phases ask where earlier ones found something, so
/// that one mistake is reported once.
class SyntaxErrors {
public:
  explicit SyntaxErrors(FileId file) : file_(file) {}

  template <class... Args>
  Diagnostic& add(Code code, uint32_t begin, uint32_t end, const char* format, Args&&... args) {
    if (!sealed_) places_.push_back(begin);
    // So many are never shown; memory stays bounded whatever the input.
    if (found_.size() == kKept) found_.pop_back();
    found_.push_back(error(code, Span{file_, begin, end}, format, std::forward<Args>(args)...));
    return found_.back();
  }

  /// Marks the error added last as one that an error of the grammar before it, in the same
  /// statement, explains better: a bracket that closes nothing, where the opening one is missing.
  void weaken() {
    if (found_.size() < kKept) weak_.push_back(found_.back().span.begin);
  }
  /// Drops the weak errors in [begin, end].
  void drop_weak(uint32_t begin, uint32_t end);
  /// Where the first weak error behind `begin` is, or UINT32_MAX.
  uint32_t next_weak(uint32_t begin) const;
  /// Counts as an error at this place for any_within, but says nothing.
  void silence(uint32_t begin) { places_.push_back(begin); }
  /// Whether an error was found in [begin, end] before sealing.
  bool any_within(uint32_t begin, uint32_t end) const;
  /// To be called before any_within; what is added later is not asked for.
  void seal();
  FileId file() const { return file_; }
  std::vector<Diagnostic>& found() { return found_; }

private:
  static constexpr size_t kKept = 1000;
  FileId file_;
  std::vector<Diagnostic> found_;
  std::vector<uint32_t> places_; // where an error begins; ascending once sealed
  bool sealed_ = false;
  std::vector<uint32_t> weak_; // where a weak one begins; ascending, as lay_out goes on
};

struct RawTokens {
  std::vector<Token> tokens; // END last
  std::vector<ast::Comment> comments;
};

RawTokens scan(llvm::StringRef text, SyntaxErrors& errors);
std::vector<Token> lay_out(const std::vector<Token>& raw, llvm::StringRef text,
                           SyntaxErrors& errors);

} // namespace tg
