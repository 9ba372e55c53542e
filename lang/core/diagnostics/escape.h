// Quoted text, and text for a terminal. A name that comes from a file may contain anything,
// including terminal commands.
#pragma once

#include <llvm/ADT/StringRef.h>

#include <optional>
#include <string>

namespace tg {

/// Returns the text as written between double quotes in a .tg file:
/// \n, \t, \\, \", and \xHH for other control characters.
std::string escaped(llvm::StringRef text);
/// Returns the text denoted by `body`, the part between the quotes.
/// Returns nullopt for an invalid escape, and sets `bad` to its position.
std::optional<std::string> unescaped(llvm::StringRef body, size_t& bad);

/// Returns `text` with \xHH for control characters and bytes that are not UTF-8,
/// and \u{HHHH} for other characters that are invisible or change the direction of text.
/// Line ends are kept if `keep_lines`.
std::string printable(llvm::StringRef text, bool keep_lines = false);

/// The first code point of UTF-8 text and its size in bytes; {0,
/// 0} if the text does not begin with one.
struct CodePoint {
  uint32_t value = 0;
  size_t bytes = 0;
  /// Returns true if the character is visible between other characters; also for a plain blank.
  bool visible() const;
};
CodePoint first_code_point(llvm::StringRef text);

} // namespace tg
