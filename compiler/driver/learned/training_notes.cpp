#include "compiler/driver/learned/training_notes.h"

#include "compiler/equiv/verify_rule.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/FormatVariadic.h>
#include <llvm/Support/SHA1.h>

namespace tg {

std::string exact_text(double number) { return llvm::formatv("{0:e17}", number); }

std::string text_of_rules(llvm::ArrayRef<Rule> rules, tangram::Numerics numerics) {
  llvm::SHA1 hash;
  for (const Rule& rule : rules) hash.update(rule_fingerprint(rule));
  std::string text =
      llvm::formatv("{0} of {1}", rules.size(), llvm::toHex(hash.final(), true).substr(0, 12));
  if (numerics != tangram::OptimizeOptions().numerics)
    text += llvm::formatv(", {0}", llvm::StringRef(tangram::word(numerics)));
  return text;
}

std::string note_of(const PolicyNotes& notes, llvm::StringRef key) {
  auto found = notes.find(key.str());
  return found == notes.end() ? std::string() : found->second;
}

Result<void> check_notes(const PolicyNotes& notes, const PolicyNotes& wanted, llvm::StringRef what,
                         llvm::StringRef path) {
  for (const auto& [key, text] : wanted)
    if (note_of(notes, key) != text)
      return error(Code::usage, "the {0} in `{1}` was trained with {2} {3}, not {4}", what, path,
                   key, note_of(notes, key), text)
          .suggest("`--again` begins anew, another FILE keeps both");
  return {};
}

Result<size_t> count_of(const PolicyNotes& notes, llvm::StringRef key, llvm::StringRef what,
                        llvm::StringRef path) {
  size_t count = 0;
  if (llvm::StringRef(note_of(notes, key)).getAsInteger(10, count))
    return error(Code::bad_data_file, "`{0}` does not say how far its {1} was trained", path, what);
  return count;
}

} // namespace tg
