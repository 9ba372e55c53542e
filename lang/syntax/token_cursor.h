// The grammar's position in the laid-out tokens, and the position where error recovery resumes.
#pragma once

#include "lang/syntax/tokens.h"

namespace tg {

class TokenCursor {
public:
  TokenCursor(const std::vector<Token>& tokens, llvm::StringRef text, SyntaxErrors& errors)
      : tokens_(tokens), text_(text), errors_(errors) {}

  /// Returns the next token; END repeatedly at the end.
  int next(Span& at);

  /// Index of the last token returned.
  size_t current() const { return current_; }
  const Token& token(size_t index) const { return tokens_[index]; }
  llvm::StringRef text(const Token& token) const { return text_.slice(token.begin, token.end); }
  Span span(const Token& token) const { return {errors_.file(), token.begin, token.end}; }
  SyntaxErrors& errors() { return errors_; }

  /// Returns the first token of the statement or declaration that contains the current token.
  size_t statement_start() const;
  /// Advances so that the next token returned is the end of the current statement;
  /// at the outermost level the `{` of the declaration's body, or else the last end before another
  /// declaration begins. Does nothing if the current token is that end.
  /// Returns the start of the token after that end.
  uint32_t skip_statement();

private:
  bool ends_statement(size_t index) const;
  bool starts_declaration_at(size_t index) const;
  bool opens_body(size_t index) const;

  const std::vector<Token>& tokens_;
  llvm::StringRef text_;
  SyntaxErrors& errors_;
  size_t current_ = 0;
  size_t next_ = 0;
};

} // namespace tg
