// Tokens between the scanner and the grammar. The text passes through these stages:
//
//   scan (lexer.l)  ->  raw tokens, comments
//   insert_line_ends         ->  the same with line ends and with brackets that always match
//   the grammar     ->  the tree
//
// Invariant after insert_line_ends, on which the grammar's error recovery depends:
// brackets are balanced and nested no deeper than ast::kMaxNesting,
// each statement of a block is followed by one NEWLINE, each declaration by one DECL_END,
// and END comes last. Tokens that had to be added or dropped for that have been reported.
#pragma once

#include "lang/core/diagnostics/diagnostic.h"
#include "lang/syntax/ast.h"

#include <cstdint>
#include <vector>

namespace tg {

struct Token {
  int kind = 0; // Grammar::token, see parser.y
  uint32_t begin = 0, end = 0;
  uint32_t depth = 0;       // enclosing braces; the braces themselves count as outside
  bool starts_line = false; // the first token of its line
  bool synthetic = false;   // added by insert_line_ends to mend a reported error
};

/// The errors of one file while it is read. Later phases query the places of earlier errors,
/// so that one mistake is reported once.
class SyntaxErrors {
public:
  explicit SyntaxErrors(FileId file) : file_(file) {}

  template <class... Args>
  Diagnostic& add(Code code, uint32_t begin, uint32_t end, const char* format, Args&&... args) {
    if (!sealed_) places_.push_back(begin);
    // More errors are never shown; this limits memory for any input.
    if (found_.size() == kKept) found_.pop_back();
    found_.push_back(error(code, Span{file_, begin, end}, format, std::forward<Args>(args)...));
    return found_.back();
  }

  /// Marks the last added error as weak: an earlier grammar error in the same statement explains it
  /// better. Example: a bracket that closes nothing because the opening one is missing.
  void weaken() {
    if (found_.size() < kKept) weak_.push_back(found_.back().span.begin);
  }
  /// Removes the weak errors in [begin, end].
  void drop_weak(uint32_t begin, uint32_t end);
  /// Returns the position of the first weak error after `begin`, or UINT32_MAX.
  uint32_t next_weak(uint32_t begin) const;
  /// Counts as an error at this position for any_within, without a message.
  void silence(uint32_t begin) { places_.push_back(begin); }
  /// Returns true if an error was found in [begin, end] before sealing.
  bool any_within(uint32_t begin, uint32_t end) const;
  /// Must be called before any_within, which ignores errors added later.
  void seal();
  FileId file() const { return file_; }
  std::vector<Diagnostic>& found() { return found_; }

private:
  static constexpr size_t kKept = 1000;
  FileId file_;
  std::vector<Diagnostic> found_;
  std::vector<uint32_t> places_; // positions of errors; ascending once sealed
  bool sealed_ = false;
  std::vector<uint32_t> weak_; // positions of weak errors; ascending, as insert_line_ends advances
};

struct RawTokens {
  std::vector<Token> tokens; // END last
  std::vector<ast::Comment> comments;
};

RawTokens scan(llvm::StringRef text, SyntaxErrors& errors);
std::vector<Token> insert_line_ends(const std::vector<Token>& raw, llvm::StringRef text,
                                    SyntaxErrors& errors);

} // namespace tg
