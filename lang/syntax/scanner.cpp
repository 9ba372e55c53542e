// The messages of the scanner.
#include "lang/syntax/scanner.h"

#include "lang/core/diagnostics/escape.h"
#include "lang/core/op.h"
#include "lang/syntax/builtins.h"
#include "lang/syntax/idioms.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>

namespace tg {

void Scanner::instead(int kind, const char* right) {
  errors.add(Code::bad_character, begin, end, "`{0}` is not an operator here", match()).help =
      ("write `" + llvm::Twine(right) + "`").str();
  token(kind);
}

namespace {
std::string describe(llvm::StringRef text) {
  unsigned char first = static_cast<unsigned char>(text.front());
  if (first > 0x20 && first < 0x7F) return ("character `" + text + "`").str();
  CodePoint point = first_code_point(text);
  if (point.bytes > 0 && point.visible()) return ("character `" + text + "`").str();
  if (point.bytes > 1)
    return "invisible character U+" +
           llvm::utohexstr(point.value, /*LowerCase=*/false, /*Width=*/4);
  return "byte 0x" + llvm::utohexstr(first, /*LowerCase=*/false, /*Width=*/2);
}

const char* advice(llvm::StringRef text) {
  if (text == ";") return "a statement ends at the end of its line";
  if (text == "'" || text == "\xE2\x80\x9C" || text == "\xE2\x80\x9D")
    return "write strings in \"double quotes\"";
  if (text == "\\")
    return "a statement continues on the next line inside brackets and after an operator";
  if (text == "?") return "variables have no prefix: `rule r(x) { -(-x) => x }`";
  if (text == "&") return "write `and`";
  if (text == "|") return "write `or`";
  return "";
}
} // namespace

/// Reported once per line: later bad characters are seldom separate mistakes.
void Scanner::bad_character() {
  bool again = bad_line_begin == line_begin;
  bad_line_begin = line_begin;
  if (again) return;
  bool after_number = match() == "." && !out.tokens.empty() && out.tokens.back().end == begin &&
                      out.tokens.back().kind == Grammar::token::INT;
  if (after_number) {
    llvm::StringRef number = text.slice(out.tokens.back().begin, end);
    errors.add(Code::bad_number, out.tokens.back().begin, end, "a number ends with a digit").help =
        ("write `" + number.take_front(40) + "0`").str();
    return;
  }
  errors.add(Code::bad_character, begin, end, "unexpected {0}", describe(match())).help =
      advice(match());
}

void Scanner::bad_number(const char* help) {
  errors
      .add(Code::bad_number, begin, end, "`{0}` is neither a number nor a name",
           match().take_front(40))
      .help = help;
  token(Grammar::token::BAD);
}

void Scanner::unterminated() {
  // The text after an unclosed quote is as often code as text; the line is lost in both cases.
  errors.add(Code::unterminated, begin, begin + 1, "this string is not closed on its line").help =
      "close it with \"; write \\\" for a quote inside it";
  token(Grammar::token::BAD);
}

/// In `x.shape`, `torch.relu`, `self.w`, the part before the dot may be more informative
/// than the part after it.
void Scanner::member() {
  llvm::StringRef name = match().drop_front(), object;
  if (!out.tokens.empty() && out.tokens.back().kind == Grammar::token::NAME)
    object = text.slice(out.tokens.back().begin, out.tokens.back().end);
  bool outside = !idiom_of_name(object).empty(); // `torch`, `self`: not a name of this program
  std::optional<OpKind> op = find_op(name);
  bool known = (op && !op_info(*op).has(Trait::Leaf)) || llvm::any_of(all_builtins(), [&](auto& b) {
                 return b.name == name && b.kind != Builtin::Constant;
               });
  llvm::StringRef after = text.drop_front(end);
  bool arguments = after.startswith("(") && !after.startswith("()");
  std::string call = "`" + name.str() + "(";
  call += outside || object.empty() ? "…" : object.str() + (arguments ? ", …" : "");
  call += ")`";
  std::string help = known ? "write " + call : idiom_of_function(name);
  if (help.empty() && outside) help = idiom_of_type(name); // `torch.float32`
  if (help.empty()) help = idiom_of_name(object).str();
  if (help.empty()) help = ("call a function: `" + name + "(…)`").str();
  errors.add(Code::syntax, begin, end, "values have no members").help = std::move(help);
}

} // namespace tg
