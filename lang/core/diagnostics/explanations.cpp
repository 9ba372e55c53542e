// See explanations.h.
#include "lang/core/diagnostics/explanations.h"

#include <llvm/ADT/STLExtras.h>

namespace tg {

namespace {

constexpr bool kFile = true, kShell = false;

constexpr Explanation kExplanations[] = {
#define TG_EXPLAIN(name, example, why, wrong, right)                                               \
  {Code::name, #name, k##example, why, wrong, right},
#include "lang/core/diagnostics/explanations.def"
};

} // namespace

llvm::ArrayRef<Explanation> explanations() { return kExplanations; }

const Explanation* find_explanation(llvm::StringRef word) {
  llvm::StringRef digits = word;
  if (!digits.consume_front("E")) (void)digits.consume_front("e");
  unsigned number = 0;
  bool numbered = !digits.empty() && !digits.getAsInteger(10, number);
  const auto* found = llvm::find_if(kExplanations, [&](const Explanation& e) {
    return numbered ? static_cast<unsigned>(e.code) == number : e.name == word;
  });
  return found == std::end(kExplanations) ? nullptr : found;
}

} // namespace tg
