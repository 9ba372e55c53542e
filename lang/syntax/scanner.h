// The state of the rules of lexer.l, and their messages about invalid text.
#pragma once

#include "lang/syntax/parser.h"
#include "lang/syntax/tokens.h"

namespace tg {

struct Scanner {
  llvm::StringRef text;
  SyntaxErrors& errors;
  RawTokens out;
  uint32_t begin = 0, end = 0; // of the match
  bool line_has_token = false;
  uint32_t line_begin = 0;
  uint32_t bad_line_begin = UINT32_MAX; // of the line with the last reported bad character

  void advance(size_t length) {
    begin = end;
    end += static_cast<uint32_t>(length);
  }
  void token(int kind) {
    out.tokens.push_back({kind, begin, end, 0, !line_has_token, false});
    line_has_token = true;
  }
  void newline() {
    line_has_token = false;
    line_begin = end;
  }
  void comment() {
    uint32_t last = begin + static_cast<uint32_t>(match().rtrim().size());
    out.comments.push_back({Span{errors.file(), begin, last}, !line_has_token});
  }
  llvm::StringRef match() const { return text.slice(begin, end); }
  void instead(int kind, const char* right);
  void bad_character();
  void bad_number(const char* help);
  void unterminated();
  void member();
};
} // namespace tg
