// Renames by tokens. The statement has been parsed before, so its brackets match.
#include "compiler/cli/prompt/notebook.h"

#include "lang/syntax/parse.h"
#include "lang/syntax/token_classes.h"
#include "lang/syntax/tokens.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallVector.h>

namespace tg::cli {
namespace {

using T = Grammar::token;

enum class Role : uint8_t { Target, Use };

struct Place {
  uint32_t begin, end;
  Role role;
};

/// Returns the places where the name denotes a value.
std::vector<Place> places_of(llvm::StringRef statement, llvm::StringRef name) {
  SyntaxErrors ignored(FileId{0});
  std::vector<Token> tokens = scan(statement, ignored).tokens;
  tokens.pop_back(); // END
  std::vector<Place> places;
  if (tokens.empty()) return places;
  int first = tokens[0].kind;
  bool targets = first == T::LET || first == T::VAR || first == T::PARAM;
  llvm::SmallVector<int, 8> open;
  for (size_t i = 0; i < tokens.size(); ++i) {
    int kind = tokens[i].kind, next = i + 1 < tokens.size() ? tokens[i + 1].kind : 0;
    if (kind == T::LPAREN || kind == T::LBRACKET || kind == T::LBRACE) open.push_back(kind);
    if ((kind == T::RPAREN || kind == T::RBRACKET || kind == T::RBRACE) && !open.empty())
      open.pop_back();
    if (open.empty() && (kind == T::ASSIGN || kind == T::COLON)) targets = false;
    if (kind != T::NAME || statement.slice(tokens[i].begin, tokens[i].end) != name) continue;
    bool callee = next == T::LPAREN, alias = i > 0 && tokens[i - 1].kind == T::AS;
    bool argument = next == T::ASSIGN && !open.empty() && open.back() == T::LPAREN;
    if (targets || (!callee && !alias && !argument))
      places.push_back({tokens[i].begin, tokens[i].end, targets ? Role::Target : Role::Use});
  }
  return places;
}

std::string rename(llvm::StringRef statement, llvm::StringRef from, llvm::StringRef to, Role role) {
  std::string out;
  uint32_t at = 0;
  for (const Place& place : places_of(statement, from)) {
    if (place.role != role) continue;
    out += (statement.slice(at, place.begin) + to).str();
    at = place.end;
  }
  return out + statement.drop_front(at).str();
}

} // namespace

bool mentions(llvm::StringRef statement, llvm::StringRef name) {
  return llvm::any_of(places_of(statement, name),
                      [](const Place& place) { return place.role == Role::Use; });
}

std::string rename_uses(llvm::StringRef statement, llvm::StringRef from, llvm::StringRef to) {
  return rename(statement, from, to, Role::Use);
}

std::string rename_target(llvm::StringRef statement, llvm::StringRef from, llvm::StringRef to) {
  return rename(statement, from, to, Role::Target);
}

} // namespace tg::cli
