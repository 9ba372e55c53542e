#include "compiler/api/policy_file.h"

#include "compiler/api/files/json_files.h"
#include "lang/core/support/data_file.h"

#include <llvm/Support/FileSystem.h>
#include <llvm/Support/MemoryBuffer.h>

#include <cmath>

namespace tg {

namespace {

Diagnostic bad_policy_file(llvm::StringRef path, llvm::StringRef why) {
  return error(Code::bad_data_file, "`{0}` is not a policy of a tree search: {1}", path, why)
      .suggest("`tg-paper train --policy gains` or `motifs` writes one");
}

/// Returns a valid weight, or a negative number.
double weight_of(const llvm::json::Value* value) {
  std::optional<double> number;
  if (value)
    if (auto read = value->getAsNumber()) number = *read;
  return number && std::isfinite(*number) ? *number : -1;
}

Result<std::unique_ptr<Policy>> parse_gains(const llvm::json::Object& rules, llvm::StringRef path) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::json::Value(llvm::json::Object(rules));
  TG_TRY(PriorTable table, parse_priors(text, path));
  return std::unique_ptr<Policy>(
      std::make_unique<MeanGainsPolicy>(std::make_shared<PriorTable>(std::move(table))));
}

Result<std::unique_ptr<Policy>> parse_motifs(const llvm::json::Object& file,
                                             const llvm::json::Object& rules,
                                             llvm::StringRef path) {
  auto table = std::make_shared<MotifTable>();
  for (const auto& [name, value] : rules) {
    double weight = weight_of(&value);
    if (weight < 0)
      return bad_policy_file(path, "a weight of `rules` must be a non-negative number");
    table->rules[llvm::StringRef(name).str()] = weight;
  }
  const llvm::json::Array* pairs = file.getArray("pairs");
  if (!pairs) return bad_policy_file(path, "the array `pairs` is missing");
  for (const llvm::json::Value& value : *pairs) {
    const llvm::json::Array* pair = value.getAsArray();
    bool whole = pair && pair->size() == 3 && (*pair)[0].getAsString() &&
                 (*pair)[1].getAsString() && weight_of(&(*pair)[2]) >= 0;
    if (!whole)
      return bad_policy_file(path,
                             "an element of `pairs` must be two rules and a non-negative number");
    table->pairs[{(*pair)[0].getAsString()->str(), (*pair)[1].getAsString()->str()}] =
        weight_of(&(*pair)[2]);
  }
  return std::unique_ptr<Policy>(std::make_unique<MotifPolicy>(std::move(table)));
}

} // namespace

Result<std::unique_ptr<Policy>> parse_rival(llvm::StringRef text, llvm::StringRef path) {
  TG_TRY(llvm::json::Value value, parse_json(text, path, Code::bad_data_file));
  const llvm::json::Object* file = value.getAsObject();
  if (!file) return bad_policy_file(path, "it is not a JSON object");
  const llvm::json::Object* rules = file->getObject("rules");
  if (!rules) return bad_policy_file(path, "the object `rules` is missing");
  llvm::StringRef agent = file->getString("agent").getValueOr("");
  if (agent == "gains") return parse_gains(*rules, path);
  if (agent == "motifs") return parse_motifs(*file, *rules, path);
  return bad_policy_file(path, "`agent` must be `gains` or `motifs`");
}

bool holds_text(llvm::StringRef path) {
  uint64_t bytes = 8; // tensors start with a length of this many bytes, some of which are 0
  uint64_t there = 0;
  if (llvm::sys::fs::file_size(path, there)) return false;
  auto head = llvm::MemoryBuffer::getFileSlice(path, std::min(bytes, there), 0);
  return head && !(*head)->getBuffer().contains('\0');
}

Result<std::unique_ptr<Policy>> open_policy_file(const std::string& path) {
  uint64_t bytes = 0;
  if (!holds_text(path) && !llvm::sys::fs::file_size(path, bytes))
    return error(Code::bad_data_file, "`{0}` contains tensors, not a table of rule weights", path)
        .suggest("use `tg-paper opt` for policies that are networks");
  TG_TRY(std::string text, read_text_file(path));
  return parse_rival(text, path);
}

} // namespace tg
