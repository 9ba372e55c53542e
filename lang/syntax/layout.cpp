// Line ends and brackets: one pass over the raw tokens with a stack of open brackets.
//
// A line end separates statements unless a round or square bracket is open
// or an adjacent token continues the line. A forgotten closing bracket is inserted:
// at a line that starts with a declaration, `let`, `var`, `param` or `for`;
// at a line that is not indented beyond the bracket's own line and cannot continue it;
// at a `{` that belongs to a construct around the bracket; at a bracket that closes an outer one.
// So a forgotten `)` causes one message, and the following statements are parsed normally.
#include "lang/syntax/token_classes.h"
#include "lang/syntax/tokens.h"

#include <llvm/ADT/STLExtras.h>

#include <algorithm>
#include <utility>

namespace tg {

bool SyntaxErrors::any_within(uint32_t begin, uint32_t end) const {
  auto first = std::lower_bound(places_.begin(), places_.end(), begin);
  return first != places_.end() && *first <= end;
}

void SyntaxErrors::seal() {
  sealed_ = true;
  std::sort(places_.begin(), places_.end());
}

void SyntaxErrors::drop_weak(uint32_t begin, uint32_t end) {
  auto first = llvm::lower_bound(weak_, begin), last = llvm::upper_bound(weak_, end);
  if (first >= last) return;
  llvm::erase_if(
      found_, [&](const Diagnostic& d) { return std::binary_search(first, last, d.span.begin); });
  weak_.erase(first, last);
}

uint32_t SyntaxErrors::next_weak(uint32_t begin) const {
  auto next = llvm::lower_bound(weak_, begin);
  return next == weak_.end() ? UINT32_MAX : *next;
}

namespace {

using T = Grammar::token;

int closer_of(int open) {
  return open == T::LPAREN ? T::RPAREN : open == T::LBRACKET ? T::RBRACKET : T::RBRACE;
}
bool opens(int kind) { return kind == T::LPAREN || kind == T::LBRACKET || kind == T::LBRACE; }
bool closes(int kind) { return kind == T::RPAREN || kind == T::RBRACKET || kind == T::RBRACE; }

/// A line that starts with one of these tokens always continues the previous line.
bool joins(int kind) {
  return kind == T::ARROW || kind == T::BECOMES || kind == T::EQUALS || kind == T::ELSE ||
         kind == T::LBRACE;
}

/// These tokens need a left operand, so no statement starts with one.
bool needs_left(int kind) {
  return is_binary_operator(kind) || kind == T::ASSIGN || kind == T::COMMA || kind == T::COLON ||
         kind == T::DOTDOT || kind == T::AS || kind == T::IN;
}

class Layout {
public:
  Layout(llvm::StringRef text, SyntaxErrors& errors) : text_(text), errors_(errors) {}

  std::vector<Token> run(const std::vector<Token>& raw) {
    out_.reserve(raw.size() + raw.size() / 8);
    for (size_t i = 0; i < raw.size(); ++i) {
      next_kind_ = i + 1 < raw.size() ? raw[i + 1].kind : T::END;
      place(raw[i]);
    }
    return std::move(out_);
  }

private:
  struct Open {
    int kind;
    uint32_t begin;
    uint32_t indent;            // of the line that contains it
    bool expects_block = false; // an `if` or `else` directly inside waits for its `{`
  };

  void place(const Token& t) {
    if (t.starts_line) line_indent_ = indent_at(t.begin);
    if (t.kind == T::END) return finish(t);
    if (skipping_ > 0 && !skip(t)) return;
    if (t.starts_line && !out_.empty()) start_line(t);
    if (opens(t.kind)) return open(t);
    if (closes(t.kind)) return close(t);
    if (depth_ == 0 && starts_declaration(t.kind)) in_declaration_ = true;
    if ((t.kind == T::IF || t.kind == T::ELSE) && !open_.empty()) open_.back().expects_block = true;
    push(t);
  }

  // --- lines ---

  void start_line(const Token& t) {
    if (starts_declaration(t.kind)) {
      close_down_to(0, t.begin);
    } else if (in_round_or_square()) {
      if (!starts_statement(t.kind) && !misses_closer(t)) return;
      close_forgotten(T::LBRACE, t.begin);
    }
    end_line_before(t);
  }

  /// Two consecutive operands inside a bracket: a comma or the closing bracket is missing.
  /// The indentation decides which.
  bool misses_closer(const Token& t) const {
    if (!ends_operand(out_.back().kind) || !starts_operand(t.kind)) return false;
    auto outermost = open_.end();
    while (outermost != open_.begin() && (outermost - 1)->kind != T::LBRACE) --outermost;
    return line_indent_ <= outermost->indent;
  }

  void end_line_before(const Token& t) {
    int previous = out_.back().kind;
    bool fresh = previous == T::NEWLINE || previous == T::DECL_END || previous == T::LBRACE;
    bool new_thing = starts_declaration(t.kind) || starts_statement(t.kind);
    if (fresh || t.kind == T::RBRACE || joins(t.kind) || (t.kind == T::WHERE && depth_ == 0))
      return;
    if (leaves_open(previous) && !new_thing) return;
    if (depth_ > 0 && needs_left(t.kind) && ends_operand(previous)) return dangling(t);
    end_statement();
  }

  /// The line is parsed as a continuation, so that no other error is reported for it.
  void dangling(const Token& t) {
    if (dangling_reported_) return;
    dangling_reported_ = true;
    llvm::StringRef word = text_.slice(t.begin, t.end);
    Diagnostic& d = errors_.add(Code::dangling_operator, t.begin, t.end,
                                "a line cannot start with `{0}`", word);
    d.label = "the previous statement ended with its line";
    d.help =
        ("put `" + word + "` at the end of the previous line, or put both lines in brackets").str();
  }

  void end_statement() {
    uint32_t at = out_.back().end;
    emit(depth_ > 0 ? T::NEWLINE : T::DECL_END, at, false);
    dangling_reported_ = false;
    bracket_reported_ = false;
  }

  void ensure_statement_ended() {
    int previous = out_.back().kind;
    if (previous != T::NEWLINE && previous != T::DECL_END && previous != T::LBRACE) end_statement();
  }

  // --- brackets ---

  void open(const Token& t) {
    if (t.kind == T::LBRACE) {
      // A block inside brackets belongs to an `if`; otherwise the brackets were forgotten.
      size_t keep = open_.size();
      while (keep > 0 && open_[keep - 1].kind != T::LBRACE && !open_[keep - 1].expects_block)
        --keep;
      close_down_to(keep, t.begin);
      if (!open_.empty()) open_.back().expects_block = false;
    }
    if (open_.size() == ast::kMaxNesting) return begin_skip(t);
    push(t);
    open_.push_back({t.kind, t.begin, line_indent_});
    if (t.kind == T::LBRACE) ++depth_;
  }

  void close(const Token& t) {
    if (t.kind == T::RBRACE) return close_block(t);
    if (!in_round_or_square()) return stray(t);
    size_t match = open_.size();
    while (match > 0 && open_[match - 1].kind != T::LBRACE &&
           closer_of(open_[match - 1].kind) != t.kind)
      --match;
    bool found = match > 0 && open_[match - 1].kind != T::LBRACE;
    if (!found) return report_wrong_closer(t);
    close_down_to(match, t.begin);
    push(t);
    open_.pop_back();
  }

  void close_block(const Token& t) {
    if (depth_ == 0) {
      close_down_to(0, t.begin);
      return stray(t);
    }
    close_forgotten(T::LBRACE, t.begin);
    ensure_statement_ended();
    open_.pop_back();
    --depth_;
    push(t);
    if (depth_ == 0 && std::exchange(in_declaration_, false)) last_block_end_ = t.end;
  }

  void stray(const Token& t) {
    if (t.kind != T::RBRACE && !first_bracket_error()) return;
    Diagnostic& d = errors_.add(Code::syntax, t.begin, t.end, "`{0}` has no opening bracket",
                                text_.slice(t.begin, t.end));
    errors_.weaken();
    if (t.kind != T::RBRACE || last_block_end_ == 0) return;
    d.labels.push_back({Span{errors_.file(), last_block_end_ - 1, last_block_end_},
                        "the declaration was closed here"});
    // The tokens between the two were detached by the extra brace and are not an error
    // of their own.
    for (size_t i = out_.size(); i-- > 0 && out_[i].begin >= last_block_end_;)
      if (out_[i].kind != T::DECL_END) errors_.silence(out_[i].begin);
    last_block_end_ = 0;
  }

  /// `f(x]` is a typing error; `f(x])`, where the next bracket fits, has one bracket too many.
  void report_wrong_closer(const Token& t) {
    Open top = open_.back();
    if (next_kind_ == closer_of(top.kind)) return stray(t);
    if (first_bracket_error()) {
      llvm::StringRef wrong = text_.slice(t.begin, t.end);
      const char* right = top.kind == T::LPAREN ? ")" : "]";
      Diagnostic& d =
          errors_.add(Code::syntax, t.begin, t.end, "expected `{1}`, found `{0}`", wrong, right);
      d.labels.push_back({Span{errors_.file(), top.begin, top.begin + 1}, "this bracket is open"});
      errors_.weaken();
    }
    emit(closer_of(top.kind), t.end, true);
    open_.pop_back();
  }

  bool first_bracket_error() { return !std::exchange(bracket_reported_, true); }

  /// Closes the brackets that are open above the innermost bracket of the kind `until`.
  void close_forgotten(int until, uint32_t at) {
    size_t keep = open_.size();
    while (keep > 0 && open_[keep - 1].kind != until) --keep;
    close_down_to(keep, at);
  }

  /// Reports one error for all brackets that are closed here, at the innermost.
  void close_down_to(size_t keep, uint32_t seen_at) {
    if (open_.size() <= keep) return;
    report_unclosed(keep, seen_at);
    while (open_.size() > keep) {
      Open top = open_.back();
      if (top.kind == T::LBRACE) ensure_statement_ended();
      open_.pop_back();
      if (top.kind == T::LBRACE) --depth_;
      emit(closer_of(top.kind), out_.back().end, true);
    }
  }

  void report_unclosed(size_t keep, uint32_t seen_at) {
    if (skipping_ > 0) return; // cut off within brackets that are too deep: already reported
    if (open_.back().kind != T::LBRACE && !first_bracket_error()) return;
    constexpr size_t kShown = 3;
    const Open& top = open_.back();
    Diagnostic& d = errors_.add(Code::unterminated, top.begin, top.begin + 1,
                                "`{0}` is never closed", text_.slice(top.begin, top.begin + 1));
    for (size_t i = open_.size() - 1; i > keep && open_.size() - i <= kShown; --i)
      d.labels.push_back({Span{errors_.file(), open_[i - 1].begin, open_[i - 1].begin + 1},
                          "this one is not closed either"});
    if (seen_at < text_.size())
      d.labels.push_back({Span{errors_.file(), seen_at, seen_at + 1}, "still open here"});
  }

  // --- too deep ---

  void begin_skip(const Token& t) {
    Diagnostic& d = errors_.add(Code::nesting_too_deep, t.begin, t.end,
                                "brackets nest more than {0} deep", ast::kMaxNesting);
    d.help = "name an inner part with `let`, or make it a function";
    emit(T::BAD, t.begin, true);
    skipping_ = 1;
  }

  /// Returns true if `t`, read while skipping, must be placed after all.
  bool skip(const Token& t) {
    if (t.starts_line && (starts_declaration(t.kind))) {
      skipping_ = 0;
      return true;
    }
    if (opens(t.kind)) ++skipping_;
    if (closes(t.kind)) --skipping_;
    return false;
  }

  // --- output ---

  void finish(const Token& t) {
    if (!open_.empty()) close_down_to(0, t.begin);
    if (!out_.empty() && out_.back().kind != T::DECL_END) emit(T::DECL_END, out_.back().end, false);
    push(t);
  }

  void push(Token t) {
    t.depth = depth_;
    out_.push_back(t);
  }
  void emit(int kind, uint32_t at, bool synthetic) {
    out_.push_back({kind, at, at, depth_, false, synthetic});
  }
  bool in_round_or_square() const { return !open_.empty() && open_.back().kind != T::LBRACE; }

  uint32_t indent_at(uint32_t begin) const {
    uint32_t start = begin;
    while (start > 0 && text_[start - 1] != '\n') --start;
    return begin - start;
  }

  llvm::StringRef text_;
  SyntaxErrors& errors_;
  std::vector<Token> out_;
  std::vector<Open> open_;
  uint32_t depth_ = 0; // of `{` in open_
  uint32_t line_indent_ = 0;
  bool in_declaration_ = false;
  uint32_t last_block_end_ = 0; // of the last `}` that ended a declaration
  uint32_t skipping_ = 0;       // open brackets in the skipped text
  int next_kind_ = 0;
  bool dangling_reported_ = false; // in this statement
  // One wrong bracket often makes others of the same statement look wrong.
  bool bracket_reported_ = false;
};

} // namespace

std::vector<Token> insert_line_ends(const std::vector<Token>& raw, llvm::StringRef text,
                                    SyntaxErrors& errors) {
  return Layout(text, errors).run(raw);
}

} // namespace tg
