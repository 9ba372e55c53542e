// Text that stands in quotes, and text that goes to a terminal. A name that comes from a file may
// hold anything, also what a terminal takes for a command.
#pragma once

#include <llvm/ADT/StringRef.h>

#include <optional>
#include <string>

namespace tg {

/// As it stands between double quotes in a .tg file:
/// \n, \t, \\, \", and \xHH for other control characters.
std::string escaped(llvm::StringRef text);
/// The text that `body`, what stands between the quotes, means; nullopt where a backslash is
/// followed by what has no meaning, and then `bad` is its place.
std::optional<std::string> unescaped(llvm::StringRef body, size_t& bad);

/// `text` with \xHH for control characters and bytes that are no UTF-8, and \u{HHHH} for other
/// characters that cannot be seen or change the direction of others. Line ends stay where
/// `lines_stay`.
std::string printable(llvm::StringRef text, bool lines_stay = false);

/// The code point of the character that UTF-8 text begins with and its bytes; {0, 0} where the text
/// does not begin with one.
struct CodePoint {
  uint32_t value = 0;
  size_t bytes = 0;
  /// Something that a person sees when it stands between other characters; a plain blank, too.
  bool visible() const;
};
CodePoint first_code_point(llvm::StringRef text);

} // namespace tg
