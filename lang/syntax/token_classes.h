// Classes of tokens for insert_line_ends and the error messages.
#pragma once

#include "lang/syntax/parser.h"

namespace tg {

inline bool starts_declaration(int kind) {
  using T = Grammar::token;
  return kind == T::USE || kind == T::FN || kind == T::MODEL || kind == T::RULESET ||
         kind == T::RULE || kind == T::OP || kind == T::EXTERN;
}

/// Words that can only begin a statement. (`if` is an expression, so it is not among them.)
inline bool starts_statement(int kind) {
  using T = Grammar::token;
  return kind == T::LET || kind == T::VAR || kind == T::PARAM || kind == T::FOR;
}

inline bool is_comparison_token(int kind) {
  return kind >= Grammar::token::EQ && kind <= Grammar::token::GE;
}

inline bool is_binary_operator(int kind) {
  using T = Grammar::token;
  return (kind >= T::PLUS && kind <= T::GE) || kind == T::AND || kind == T::OR;
}

/// After these tokens a line continues.
inline bool leaves_open(int kind) {
  using T = Grammar::token;
  return kind == T::COMMA || kind == T::COLON || kind == T::ASSIGN || kind == T::ARROW ||
         kind == T::BECOMES || kind == T::EQUALS || kind == T::DOTDOT || kind == T::WHERE ||
         kind == T::NOT || kind == T::IN || kind == T::AS || is_binary_operator(kind);
}

inline bool starts_operand(int kind) {
  using T = Grammar::token;
  return kind == T::NAME || kind == T::INT || kind == T::FLOAT || kind == T::STRING ||
         kind == T::BAD || kind == T::TRUE || kind == T::FALSE || kind == T::NOT || kind == T::IF;
}

inline bool ends_operand(int kind) {
  using T = Grammar::token;
  return kind == T::NAME || kind == T::INT || kind == T::FLOAT || kind == T::STRING ||
         kind == T::BAD || kind == T::TRUE || kind == T::FALSE || kind == T::RPAREN ||
         kind == T::RBRACKET || kind == T::RBRACE;
}

/// Returns true for words that begin a declaration in other languages.
inline bool is_foreign_declaration(llvm::StringRef word) {
  for (const char* known : {"def", "func", "function", "fun", "class", "struct", "import", "from"})
    if (word == known) return true;
  return false;
}

} // namespace tg
