// Statement boundaries in laid-out tokens: because brackets are balanced,
// a scan that tracks the depth.
#include "lang/syntax/token_cursor.h"

#include "lang/syntax/token_classes.h"

#include <algorithm>

namespace tg {

int TokenCursor::next(Span& at) {
  current_ = next_;
  const Token& token = tokens_[current_];
  if (next_ + 1 < tokens_.size()) ++next_;
  at = span(token);
  return token.kind;
}

bool TokenCursor::ends_statement(size_t index) const {
  int kind = tokens_[index].kind;
  return kind == Grammar::token::NEWLINE || kind == Grammar::token::DECL_END ||
         kind == Grammar::token::END;
}

size_t TokenCursor::statement_start() const {
  uint32_t depth = tokens_[current_].depth;
  size_t start = current_;
  while (start > 0) {
    const Token& before = tokens_[start - 1];
    bool opens_block = before.kind == Grammar::token::LBRACE && before.depth + 1 == depth;
    if (opens_block || (before.depth == depth && ends_statement(start - 1))) break;
    --start;
  }
  return start;
}

/// A word of another language at the left margin also counts as a declaration.
bool TokenCursor::starts_declaration_at(size_t index) const {
  const Token& token = tokens_[index];
  bool at_margin = token.begin == 0 || text_[token.begin - 1] == '\n';
  return starts_declaration(token.kind) ||
         (token.kind == Grammar::token::NAME && at_margin && is_foreign_declaration(text(token)));
}

/// Returns true for the `{` of a declaration whose head is being read.
bool TokenCursor::opens_body(size_t index) const {
  return tokens_[index].kind == Grammar::token::LBRACE && tokens_[index].depth == 0;
}

uint32_t TokenCursor::skip_statement() {
  uint32_t depth = tokens_[current_].depth;
  int first = tokens_[statement_start()].kind;
  bool has_body = depth == 0 && (first == Grammar::token::FN || first == Grammar::token::MODEL ||
                                 first == Grammar::token::RULE);
  size_t end = current_;
  // Between declarations everything is one segment: if the head of a declaration cannot be read,
  // the text up to the next head is skipped.
  auto more = [&](size_t at) {
    if (tokens_[at].kind == Grammar::token::END) return false;
    if (has_body && opens_body(at)) return false;
    if (tokens_[at].depth != depth || !ends_statement(at)) return true;
    has_body = false;
    bool last = tokens_[at + 1].kind == Grammar::token::END || starts_declaration_at(at + 1);
    return depth == 0 && !last;
  };
  while (more(end)) ++end;
  // The grammar accepts an end at its current position as the end that it expects.
  if (end != current_) next_ = ends_statement(current_) ? end + 1 : end;
  return tokens_[std::min(end + 1, tokens_.size() - 1)].begin;
}

} // namespace tg
