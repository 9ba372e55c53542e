#include "lang/core/diagnostics/escape.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/ConvertUTF.h>
#include <llvm/Support/FormatVariadic.h>
#include <llvm/Support/Unicode.h>

namespace tg {

namespace {

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }

std::string hex(char c) {
  return "\\x" + llvm::utohexstr(static_cast<unsigned char>(c), /*LowerCase=*/true, /*Width=*/2);
}

/// Returns true for spaces that look like the plain one, or are invisible.
bool is_odd_space(uint32_t c) {
  return c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x202F || c == 0x205F ||
         c == 0x3000;
}

} // namespace

std::string escaped(llvm::StringRef text) {
  std::string out;
  out.reserve(text.size());
  for (char c : text) {
    if (c == '"' || c == '\\')
      (out += '\\') += c;
    else if (c == '\n' || c == '\t')
      out += c == '\n' ? "\\n" : "\\t";
    else if (is_control(c))
      out += hex(c);
    else
      out += c;
  }
  return out;
}

std::optional<std::string> unescaped(llvm::StringRef body, size_t& bad) {
  static constexpr llvm::StringLiteral kLetters = "nt\\\"", kMeanings = "\n\t\\\"";
  std::string out;
  out.reserve(body.size());
  for (size_t i = 0; i < body.size(); ++i) {
    if (body[i] != '\\') {
      out += body[i];
      continue;
    }
    bad = i++;
    if (i == body.size()) return std::nullopt;
    unsigned byte = 0;
    if (body[i] == 'x') {
      // One byte that is not part of a longer character: text stays UTF-8 without zero bytes.
      llvm::StringRef digits = body.substr(i + 1, 2);
      bool known = digits.size() == 2 && llvm::all_of(digits, llvm::isHexDigit) &&
                   !digits.getAsInteger(16, byte) && byte > 0 && byte < 0x80;
      if (!known) return std::nullopt;
      out += static_cast<char>(byte);
      i += 2;
      continue;
    }
    size_t which = kLetters.find(body[i]);
    if (which == llvm::StringRef::npos) return std::nullopt;
    out += kMeanings[which];
  }
  return out;
}

CodePoint first_code_point(llvm::StringRef text) {
  const auto* at = reinterpret_cast<const llvm::UTF8*>(text.bytes_begin());
  const auto* end = reinterpret_cast<const llvm::UTF8*>(text.bytes_end());
  const auto* begin = at;
  llvm::UTF32 value = 0;
  if (text.empty() ||
      llvm::convertUTF8Sequence(&at, end, &value, llvm::strictConversion) != llvm::conversionOK)
    return {};
  return {value, static_cast<size_t>(at - begin)};
}

bool CodePoint::visible() const {
  bool line_end = value == 0x2028 || value == 0x2029, soft_hyphen = value == 0xAD;
  if (is_odd_space(value) || line_end || soft_hyphen) return false;
  return llvm::sys::unicode::isPrintable(static_cast<int>(value));
}

std::string printable(llvm::StringRef text, bool keep_lines) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    char first = text.front();
    CodePoint point = first_code_point(text);
    size_t bytes = std::max<size_t>(point.bytes, 1);
    if (point.bytes == 0 || (is_control(first) && !(keep_lines && first == '\n')))
      out += hex(first);
    else if (first == '\n' || point.visible() || is_odd_space(point.value))
      out += text.take_front(bytes);
    else
      out += llvm::formatv("\\u{{{0}}", llvm::utohexstr(point.value, /*LowerCase=*/true)).str();
    text = text.drop_front(bytes);
  }
  return out;
}

} // namespace tg
