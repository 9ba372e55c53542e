// Reads JSON from outside. The library's parser recurses at each bracket, so the nesting is checked
// before it sees the text, to bound the recursion.
#include "compiler/api/files/json_files.h"

#include "lang/core/support/file_kind.h"

#include <llvm/Support/FormatVariadic.h>

#include <algorithm>
#include <cmath>

namespace tg {
namespace {

/// Returns the deepest nesting of brackets outside strings.
int64_t json_depth(llvm::StringRef text) {
  int64_t depth = 0, deepest = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (in_string && c == '\\') ++i; // an escaped character does not end a string
    if (c == '"') in_string = !in_string;
    if (in_string) continue;
    if (c == '[' || c == '{') deepest = std::max(deepest, ++depth);
    if (c == ']' || c == '}') --depth;
  }
  return deepest;
}

Diagnostic bad_priors(llvm::StringRef path, llvm::StringRef why) {
  return error(Code::bad_priors_file, "`{0}` is not a file of priors: {1}", path, why);
}

/// Returns a nonnegative count, or -1.
double count_of(const llvm::json::Object* record, llvm::StringRef field) {
  llvm::Optional<double> found;
  if (record) found = record->getNumber(field);
  return found && *found >= 0 && std::isfinite(*found) ? *found : -1;
}

} // namespace

Result<llvm::json::Value> parse_json(llvm::StringRef text, llvm::StringRef path, Code code) {
  if (json_depth(text) > kMaxJsonDepth)
    return error(code, "`{0}` nests brackets more than {1} deep", path, kMaxJsonDepth);
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(text);
  if (!value)
    return with_kind(error(code, "`{0}` is not JSON: {1}", path, llvm::toString(value.takeError())),
                     text, ".json");
  return std::move(*value);
}

Result<PriorTable> parse_priors(llvm::StringRef text, llvm::StringRef path) {
  TG_TRY(llvm::json::Value value, parse_json(text, path, Code::bad_priors_file));
  const llvm::json::Object* object = value.getAsObject();
  if (!object) return bad_priors(path, "it is not a JSON object");
  PriorTable table;
  for (const auto& [key, entry] : *object) {
    llvm::StringRef name = key;
    const llvm::json::Object* record = entry.getAsObject();
    RuleRecord read{count_of(record, "tried"), count_of(record, "paid"), count_of(record, "gain")};
    if (read.tried < 0 || read.paid < 0 || read.gain < 0 || read.paid > read.tried)
      return bad_priors(
          path, llvm::formatv("`{0}` requires tried >= paid >= 0 and gain >= 0", name).str());
    table[name.str()] = read;
  }
  return table;
}

void write_number(llvm::json::OStream& json, llvm::StringRef name, double value) {
  if (std::isfinite(value))
    json.attribute(name, value);
  else
    json.attribute(name, nullptr);
}

void write_number(llvm::json::OStream& json, llvm::StringRef name, const ConstNumber& value) {
  if (value.is(Value::Kind::Float)) return write_number(json, name, value.real);
  json.attribute(name, value.number);
}

void write_priors(llvm::raw_ostream& out, const PriorTable& table) {
  llvm::json::OStream json(out, 2);
  json.object([&] {
    for (const auto& [name, record] : table)
      json.attributeObject(name, [&, &record = record] {
        write_number(json, "tried", record.tried);
        write_number(json, "paid", record.paid);
        write_number(json, "gain", record.gain);
      });
  });
  out << "\n";
}

} // namespace tg
