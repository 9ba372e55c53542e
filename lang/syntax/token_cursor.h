// The grammar's place in the laid-out tokens, and where the recovery from an error goes on.
#pragma once

#include "lang/syntax/tokens.h"

namespace tg {

class TokenCursor {
public:
  TokenCursor(const std::vector<Token>& tokens, llvm::StringRef text, SyntaxErrors& errors)
      : tokens_(tokens), text_(text), errors_(errors) {}

  /// Hands out the next token; END again and again at the end.
  int next(Span& at);

  /// Index of the token handed out last.
  size_t current() const { return current_; }
  const Token& token(size_t index) const { return tokens_[index]; }
  llvm::StringRef text(const Token& token) const { return text_.slice(token.begin, token.end); }
  Span span(const Token& token) const { return {errors_.file(), token.begin, token.end}; }
  SyntaxErrors& errors() { return errors_; }

  /// The first token of the statement or declaration that the current token belongs to.
  size_t statement_start() const;
  /// Moves on, so that the next token handed out is the end of the statement of the current one; at
  /// the outermost level the `{` of the declaration's body, or else the last end before another
  /// declaration begins. Does nothing if the current token is what is looked for. Returns where the
  /// next token after that end begins.
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
