#include "bench/paper/learned/training_notes.h"

#include "compiler/search/limits.h"
#include "compiler/verify/verify_rule.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/FormatVariadic.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/SHA1.h>

namespace tg::paper {

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
          .suggest("use `--again` to train from the beginning, or another FILE to keep both");
  return {};
}

std::string trained_otherwise(const PolicyNotes& notes, const Graph& source,
                              llvm::ArrayRef<Rule> rules, tangram::Numerics numerics) {
  std::string otherwise;
  if (note_of(notes, "digest") != digest(source))
    otherwise = llvm::formatv("on another model, `{0}`", note_of(notes, "model"));
  if (note_of(notes, "rules") != text_of_rules(rules, numerics))
    otherwise += llvm::StringRef(otherwise.empty() ? "" : ", ").str() + "with other rules";
  return otherwise.empty() ? "" : "the policy was trained " + otherwise;
}

Result<size_t> count_of(const PolicyNotes& notes, llvm::StringRef key, llvm::StringRef what,
                        llvm::StringRef path) {
  size_t count = 0;
  if (llvm::StringRef(note_of(notes, key)).getAsInteger(10, count))
    return error(Code::bad_data_file, "`{0}` does not contain the {1} of its {2}", path, key, what);
  return count;
}

bool holds_network(llvm::StringRef path) {
  Result<Safetensors> file = Safetensors::open(path);
  return file && PolicyNotes(file->metadata().begin(), file->metadata().end()).count("policy") > 0;
}

Result<void> check_replaced(llvm::StringRef path, bool of_its_kind) {
  uint64_t bytes = 0;
  if (of_its_kind || llvm::sys::fs::file_size(path, bytes) || bytes == 0) return {};
  return error(Code::usage, "`{0}` contains something else and is not replaced", path)
      .suggest("use another FILE");
}

std::string stopped_by(const StopToken& stop) {
  SearchLimits limits;
  limits.stop = stop;
  std::optional<StopReason> reason = limits.reached(0, 0);
  return reason ? stop_reason_text(*reason).str() : std::string();
}

Diagnostic nothing_learned(const StopToken& stop, llvm::StringRef unfinished,
                           llvm::StringRef path) {
  return error(Code::limit_no_answer, "{0} before {1} was complete: `{2}` is not written",
               stop.cancelled() ? "interrupted" : "stopped by the " + stopped_by(stop), unfinished,
               path);
}

} // namespace tg::paper
