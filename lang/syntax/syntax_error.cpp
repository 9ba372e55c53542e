// Messages of syntax errors: first the known mistakes (a word of another language,
// a chained comparison), else the expected tokens and the one found.
// The list of expected tokens is grouped: thirty tokens that can start an expression
// are "an expression".
// An error is reported once per statement, and not at all if the text itself was already reported.
#include "lang/syntax/ast_builder.h"
#include "lang/syntax/token_classes.h"
#include "lang/syntax/token_cursor.h"

#include <llvm/ADT/SmallVector.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/ADT/StringSwitch.h>

namespace tg {
namespace {

using T = Grammar::token;
using S = Grammar::symbol_kind;

/// A set of token kinds.
class Expected {
public:
  explicit Expected(const Grammar::context& context) {
    std::array<Grammar::symbol_kind_type, Grammar::YYNTOKENS> kinds{};
    int count = context.expected_tokens(kinds.data(), Grammar::YYNTOKENS);
    for (int i = 0; i < count; ++i) has_[kinds[static_cast<size_t>(i)]] = true;
  }
  bool has(Grammar::symbol_kind_type kind) const { return has_[kind]; }

  /// Returns "`,` or `)`", "an expression", ...; "" if there is nothing helpful to say.
  std::string words();

private:
  void group(std::initializer_list<Grammar::symbol_kind_type> proof,
             std::initializer_list<Grammar::symbol_kind_type> members, const char* word);

  std::array<bool, Grammar::YYNTOKENS> has_{};
  llvm::SmallVector<std::string, 4> words_;
};

/// If all of `proof` are expected, replaces all `members` by `word`.
void Expected::group(std::initializer_list<Grammar::symbol_kind_type> proof,
                     std::initializer_list<Grammar::symbol_kind_type> members, const char* word) {
  for (auto kind : proof)
    if (!has_[kind]) return;
  for (auto kind : members) has_[kind] = false;
  if (*word) words_.push_back(word);
}

std::string Expected::words() {
  has_[S::S_BAD] = false;
  auto operand = {S::S_NAME, S::S_INT,    S::S_FLOAT,    S::S_STRING, S::S_TRUE, S::S_FALSE,
                  S::S_NOT,  S::S_LPAREN, S::S_LBRACKET, S::S_MINUS,  S::S_IF};
  auto statement = {S::S_LET, S::S_VAR,    S::S_PARAM,    S::S_FOR,   S::S_NAME,
                    S::S_INT, S::S_FLOAT,  S::S_STRING,   S::S_TRUE,  S::S_FALSE,
                    S::S_NOT, S::S_LPAREN, S::S_LBRACKET, S::S_MINUS, S::S_IF};
  auto after_operand = {
      S::S_PLUS, S::S_MINUS, S::S_STAR,   S::S_SLASH,    S::S_SLASH2, S::S_PERCENT,  S::S_AT,
      S::S_POW,  S::S_EQ,    S::S_NE,     S::S_LT,       S::S_LE,     S::S_GT,       S::S_GE,
      S::S_AND,  S::S_OR,    S::S_LPAREN, S::S_LBRACKET, S::S_AS,     S::S_ELLIPSIS, S::S_ASSIGN};
  auto declaration = {S::S_USE,  S::S_FN, S::S_MODEL,  S::S_RULESET,
                      S::S_RULE, S::S_OP, S::S_EXTERN, S::S_YYEOF};
  group({S::S_LET, S::S_VAR}, statement, "a statement");
  group({S::S_LET, S::S_WHERE}, statement, "a part of a rule");
  group({S::S_FN, S::S_MODEL}, declaration,
        "a declaration (`fn`, `model`, `op`, `rule`, `ruleset`, `use`)");
  group({S::S_NAME, S::S_INT}, operand, "an expression");
  group({S::S_PLUS, S::S_STAR}, after_operand, "");
  group({S::S_NEWLINE}, {S::S_NEWLINE, S::S_DECL_END}, "the end of the line");
  group({S::S_DECL_END}, {S::S_DECL_END}, "the end of the line");
  group({S::S_NAME}, {S::S_NAME}, "a name");
  group({S::S_PATH}, {S::S_PATH}, "a module");
  for (int kind = 0; kind < Grammar::YYNTOKENS; ++kind)
    if (has_[static_cast<size_t>(kind)])
      words_.push_back(std::string("`") +
                       Grammar::symbol_name(static_cast<Grammar::symbol_kind_type>(kind)) + "`");
  constexpr size_t kListed = 5;
  if (words_.size() > kListed) return "";
  std::string out;
  for (size_t i = 0; i < words_.size(); ++i)
    out += (i == 0 ? "" : i + 1 == words_.size() ? " or " : ", ") + words_[i];
  return out;
}

/// Returns what to write instead of a word of another language.
llvm::StringRef foreign_word(llvm::StringRef word) {
  return llvm::StringSwitch<llvm::StringRef>(word)
      .Cases("def", "func", "function", "fun", "proc", "declare a function with `fn`")
      .Cases("class", "module", "struct", "declare a network as a `model` and its parts as `fn`")
      .Cases("import", "from", "include", "import modules with `use`: `use std.nn: conv`")
      .Case("return", "omit `return`: the value of a block is its last expression")
      .Cases("const", "val", "auto", "declare a name with `let`")
      .Case("mut", "declare a name that is assigned again with `var`")
      .Cases("while", "loop", "repeat",
             "write `for i in 0..12 { ... }`; loops are unrolled at compile time")
      .Cases("elif", "elsif", "elseif", "write `else if`")
      .Cases("weight", "parameter", "declare weights with `param w: f32[...]`")
      .Cases("rewrite", "pattern", "write a rewrite as `rule name(variables) { left => right }`")
      .Cases("switch", "match", "case", "write `if ... { } else if ... { }`")
      .Case("lambda", "name the function: `fn f(x: f32[N]) { ... }`")
      .Cases("assert", "require", "write a function's requirements after `where`")
      .Cases("try", "with", "async", "yield", "raise", "throw",
             "omit it: models are plain expressions")
      .Default("");
}

struct ParseFailure {
  TokenCursor& cursor;
  const Token& at;
  const Token& first; // of the statement
  Expected expected;

  llvm::StringRef text() const { return cursor.text(at); }
  Diagnostic& report(Code code, const Token& place, const std::string& message) {
    return cursor.errors().add(code, place.begin, place.end, "{0}", message);
  }
};

bool foreign(ParseFailure& s) {
  // At the word itself or directly after it.
  bool near = &s.at == &s.first || &s.at == &s.first + 1;
  llvm::StringRef word = s.cursor.text(s.first);
  llvm::StringRef help = s.first.kind == T::NAME && near ? foreign_word(word) : "";
  if (help.empty()) return false;
  if (s.first.depth == 0 && (word == "const" || word == "val" || word == "auto"))
    help = "write compile-time values as parameters: `model m(x: f32[1, D], D: int = 64)`";
  s.report(Code::syntax, s.first, ("`" + word + "` is not a keyword of Tangram").str()).help =
      help.str();
  return true;
}

bool outside(ParseFailure& s) {
  bool statement = starts_statement(s.first.kind) || s.first.kind == T::IF;
  if (s.first.depth != 0 || &s.at != &s.first || !statement) return false;
  s.report(Code::syntax, s.at, ("`" + s.text() + "` is only allowed inside a function").str())
      .help = "write statements in the body of an `fn` or a `model`";
  return true;
}

bool chained_comparison(ParseFailure& s) {
  if (!is_comparison_token(s.at.kind) || !s.expected.has(S::S_AND)) return false;
  s.report(Code::syntax, s.at, "comparisons cannot be chained").help = "write `a < b and b < c`";
  return true;
}

bool keyword_as_name(ParseFailure& s) {
  bool word = !s.text().empty() && llvm::isAlpha(s.text().front());
  bool wanted = s.expected.has(S::S_NAME) && !s.expected.has(S::S_FN);
  if (!word || !wanted || s.at.kind == T::NAME || s.at.kind == T::IF || starts_statement(s.at.kind))
    return false;
  if (s.at.kind == T::WHERE && (&s.at + 1)->kind == T::LPAREN) { // of NumPy and PyTorch
    s.report(Code::syntax, s.at, "`where` states a function's requirements and is not a function")
        .help = "write `select(mask, a, b)` to choose element by element";
    return true;
  }
  s.report(Code::syntax, s.at, ("`" + s.text() + "` is a keyword and cannot be a name").str())
      .help = "choose another name";
  return true;
}

bool typed_let(ParseFailure& s) {
  bool let = s.first.kind == T::LET || s.first.kind == T::VAR;
  if (!let || s.at.kind != T::COLON || !s.expected.has(S::S_ASSIGN)) return false;
  s.report(Code::syntax, s.at, "`let` and `var` names cannot have a type").help =
      "omit the type: it follows from the value";
  return true;
}

std::string found_words(const ParseFailure& s) {
  constexpr size_t kShown = 30;
  switch (s.at.kind) {
  case T::NEWLINE:
  case T::DECL_END: return "the end of the line";
  case T::END: return "the end of the file";
  default: break;
  }
  if (s.text().size() > kShown) return ("`" + s.text().take_front(kShown) + "...`").str();
  return ("`" + s.text() + "`").str();
}

/// Returns advice about a mistaken sign, by the sign found and those expected.
llvm::StringRef advice_on_sign(const ParseFailure& s) {
  bool begins = &s.at == &s.first, second = &s.at == &s.first + 1;
  if (begins && s.text().startswith("/")) return "start a comment with `#`";
  if (s.expected.has(S::S_BECOMES))
    return "use `=>` to rewrite one way, `<=>` to rewrite both ways";
  if (s.at.kind == T::LPAREN && s.expected.has(S::S_LBRACKET) && s.expected.has(S::S_COMMA))
    return "write shapes in square brackets: `f32[2, 4]`";
  if (s.first.kind == T::PARAM && s.expected.has(S::S_COLON))
    return "give the weight a type: `param w: f32[D, D]`";
  if (s.first.kind == T::USE && s.at.kind == T::STAR)
    return "write `use std.nn` to import the whole module";
  if (s.at.kind == T::COMMA && s.expected.has(S::S_NEWLINE) && s.expected.has(S::S_PLUS))
    return "write several values in parentheses: `(a, b)`";
  if (second && s.at.kind == T::COLON && s.first.kind == T::NAME && s.first.depth > 0)
    return "declare weights with `param w: f32[D, D]`, and inputs as parameters of the model";
  return "";
}

std::string plain_advice(const ParseFailure& s) {
  if (llvm::StringRef advice = advice_on_sign(s); !advice.empty()) return advice.str();
  bool head = s.first.kind == T::FN || s.first.kind == T::MODEL;
  if (head && (s.expected.has(S::S_DOTDOT) || s.at.kind == T::DOTDOT))
    return "write the range of a size as `S: int in 1..2048 = 128`, or `1..` without an end";
  if (head && s.expected.has(S::S_COLON))
    return "give each parameter a type: `x: f32[N, C]`, `n: int`";
  bool opens_block = s.first.kind == T::IF || s.first.kind == T::FOR || head;
  if ((s.at.kind == T::COLON && opens_block) || (head && s.expected.has(S::S_LBRACE)))
    return "write blocks in braces: `if n > 1 { … }`, `for i in 0..12 { … }`, `fn f(x: f32[N]) { "
           "… }`";
  if (s.at.kind == T::ASSIGN && s.expected.has(S::S_NAME) && &s.at != &s.first) {
    llvm::StringRef sign = s.cursor.text(*(&s.at - 1)), name = s.cursor.text(s.first);
    if (sign.size() <= 2 && !sign.empty() && !llvm::isAlnum(sign.back()))
      return ("write `" + name + " = " + name + " " + sign + " …`").str();
  }
  if (s.at.kind == T::ASSIGN && s.expected.has(S::S_EQ)) return "write `==` for equality";
  if (s.at.kind == T::IF && s.expected.has(S::S_WHERE))
    return "write a rule's condition after `where`";
  if (s.at.kind == T::IF) return "write a choice as `if c { a } else { b }`";
  if (s.at.kind == T::ASSIGN && s.first.kind == T::RULE)
    return "variables of a rule cannot have defaults";
  if (s.first.kind == T::RULE) return "write a rule as `rule name(x, y) { left => right }`";
  return "";
}

void unexpected(ParseFailure& s) {
  std::string help = plain_advice(s), words = s.expected.words(), found = found_words(s);
  Diagnostic& d =
      s.report(Code::syntax, s.at,
               words.empty() ? "unexpected " + found : "expected " + words + ", found " + found);
  d.help = std::move(help);
}

} // namespace

void Grammar::report_syntax_error(const context& context) const {
  const Token& at = cursor.token(cursor.current());
  const Token& first = cursor.token(cursor.statement_start());
  uint32_t end = cursor.skip_statement();
  if (at.synthetic || cursor.errors().any_within(first.begin, at.end)) return;
  cursor.errors().drop_weak(at.begin, end);
  ParseFailure stuck{cursor, at, first, Expected(context)};
  // A block that was not opened is closed later, where `}` then has no partner.
  if (stuck.expected.has(S::S_LBRACE)) {
    uint32_t partner = cursor.errors().next_weak(at.begin);
    cursor.errors().drop_weak(partner, partner);
  }
  bool told = foreign(stuck) || outside(stuck) || chained_comparison(stuck) || typed_let(stuck) ||
              keyword_as_name(stuck);
  if (!told) unexpected(stuck);
}

void Grammar::error(const Span& at, const std::string& message) {
  cursor.errors().add(Code::internal, at.begin, at.end, "parser: {0}", message);
}

} // namespace tg
