#include "compiler/cli/options/arguments.h"

#include "compiler/api/public_types.h"
#include "compiler/pricing/cost_model.h"
#include "lang/core/diagnostics/diagnostic.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/FormatVariadic.h>

namespace tg::cli {
namespace {

using llvm::formatv;
using llvm::StringRef;

/// T is the type of the row's field.
template <class T> T& field(const OptionRow& row, void* options) {
  return *static_cast<T*>(row.field(options));
}

Misuse not_a_number(const OptionRow& row, StringRef what, const std::string& low,
                    const std::string& high, StringRef value) {
  return {
      formatv("`{0}` requires a {1} from {2} to {3}, not `{4}`", row.flag, what, low, high, value)};
}

/// Returns the error with the row's limits.
Misuse not_a_number(const OptionRow& row, StringRef what, StringRef value) {
  return not_a_number(row, what, number_text(row.limits.low), number_text(row.limits.high), value);
}

/// Returns the error for a word that a row does not have: lists its words and suggests the closest.
Misuse not_a_word(const OptionRow& row, StringRef value) {
  std::vector<StringRef> words = row.words();
  StringRef near = near_miss(value, words), idiom = idiom_of_word(row.flag, value);
  std::string help = near.empty() ? "" : formatv("did you mean `{0}`?", near).str();
  if (!idiom.empty()) help = idiom.str();
  return {formatv("`{0}` requires {1} of {2}, not `{3}`", row.flag, row.repeats() ? "some" : "one",
                  llvm::join(words, ", "), value),
          std::move(help)};
}

std::optional<Misuse> set_whole(const OptionRow& row, StringRef value, int64_t& field) {
  auto low = static_cast<int64_t>(row.limits.low), high = static_cast<int64_t>(row.limits.high);
  int64_t number = 0;
  if (value.getAsInteger(10, number) || number < low || number > high)
    return not_a_number(row, "whole number", value);
  field = number;
  return std::nullopt;
}

std::optional<Misuse> set_number(const OptionRow& row, StringRef value, double& field) {
  double number = 0; // text that is not a number fails the comparison too
  bool bad = value.getAsDouble(number);
  if (bad || !(number >= row.limits.low && number <= row.limits.high))
    return not_a_number(row, "number", value);
  field = number;
  return std::nullopt;
}

std::optional<Misuse> add_words(const OptionRow& row, StringRef value, void* options) {
  llvm::SmallVector<StringRef, 8> parts;
  value.split(parts, ',', -1, /*KeepEmpty=*/false);
  for (StringRef part : parts) {
    if (std::vector<StringRef> words = row.words();
        !words.empty() && !llvm::is_contained(words, part))
      return not_a_word(row, part);
    if (row.limits.add)
      row.limits.add(part, row.field(options));
    else
      field<std::vector<std::string>>(row, options).push_back(part.str());
  }
  return std::nullopt;
}

/// Sets one of the row's words, as an enumerator or as text.
std::optional<Misuse> set_word(const OptionRow& row, StringRef value, void* options) {
  if (!llvm::is_contained(row.words(), value)) return not_a_word(row, value);
  if (row.limits.set)
    row.limits.set(value, row.field(options));
  else
    field<std::string>(row, options) = value.str();
  return std::nullopt;
}

std::optional<Misuse> set_cost(StringRef value, tangram::CostSpec& field) {
  Result<tangram::CostSpec> spec = parse_cost_spec(value, "--cost");
  if (!spec) return Misuse{spec.error().message};
  field = std::move(*spec);
  return std::nullopt;
}

using Pairs = std::vector<std::pair<std::string, std::string>>;

/// Adds NAME=VALUE, or, without a name, a file with the ending that the row allows.
std::optional<Misuse> add_pair(const OptionRow& row, StringRef value, Pairs& field) {
  auto [name, text] = value.split('=');
  if (!row.limits.words.empty() && value.endswith(row.limits.words) && !value.contains('=')) {
    field.emplace_back("", value.str());
    return std::nullopt;
  }
  bool list = StringRef(row.value_name).contains(','); // may be empty: the shape of a scalar
  if (!name.empty() && value.contains('=') && (list || !text.empty())) {
    field.emplace_back(name.str(), text.str());
    return std::nullopt;
  }
  if (row.limits.words.empty())
    return Misuse{formatv("`{0}` requires NAME=VALUE, not `{1}`", row.flag, value)};
  return Misuse{formatv("`{0}` requires {1}, or a path that ends in {2}, not `{3}`", row.flag,
                        row.value_name, row.limits.words, value)};
}

/// Parses words one after the other.
class Reader {
public:
  Reader(llvm::ArrayRef<const OptionRow*> rows, llvm::ArrayRef<StringRef> words, StringRef command,
         void* options, Arguments& arguments)
      : rows_(rows), words_(words), command_(command), options_(options), arguments_(arguments) {}

  std::optional<Misuse> read() {
    bool operands_alone = false;
    while (!words_.empty()) {
      StringRef word = next();
      bool option = !operands_alone && word.size() > 1 && word.startswith("-");
      if (option && word == "--") {
        operands_alone = true;
      } else if (!option) {
        arguments_.operands.push_back(word.str());
      } else if (word == "--help" || word == "-h" || word == "--help-all") {
        arguments_.help = true;
        arguments_.help_all = word == "--help-all";
        return std::nullopt;
      } else if (auto misuse = take(word)) {
        return misuse;
      }
    }
    return std::nullopt;
  }

private:
  StringRef next() {
    StringRef word = words_.front();
    words_ = words_.drop_front();
    return word;
  }

  /// Parses an option and its value.
  std::optional<Misuse> take(StringRef word) {
    bool is_long = word.startswith("--"), joined = is_long && word.contains('=');
    StringRef flag = is_long ? word.split('=').first : word.take_front(2), value;
    if (joined) value = word.split('=').second;
    if (!is_long && word.size() > 2) joined = true, value = word.drop_front(2);
    const OptionRow* row = find_row(rows_, flag);
    if (!row) return unknown(word);
    if (!row->takes_value() && joined) return Misuse{formatv("`{0}` does not take a value", flag)};
    if (row->takes_value() && !joined) {
      if (words_.empty() || is_option(words_.front()))
        return Misuse{formatv("`{0}` requires a value", flag)};
      value = next();
    }
    if (!row->repeats() && row->takes_value() && llvm::is_contained(arguments_.given, row))
      return Misuse{formatv("`{0}` is given twice", flag)};
    arguments_.given.push_back(row);
    return set_option(*row, value, options_);
  }

  /// Returns true if the word can only be an option; "-3" and "-" may be values.
  bool is_option(StringRef word) const {
    return word.startswith("--") || (word.size() == 2 && find_row(rows_, word));
  }

  /// Returns the error for an unexpected argument, with the closest option.
  Misuse unknown(StringRef word) const {
    std::vector<StringRef> flags;
    for (const OptionRow* row : rows_) flags.push_back(row->flag);
    StringRef name = word.split('=').first, near = idiom_of_option(name);
    if (!find_row(rows_, near)) near = near_miss(name, flags);
    StringRef elsewhere = idiom_of_program(command_, name);
    return {formatv("`{0}` does not take `{1}`", command_, word),
            !elsewhere.empty() ? elsewhere.str()
            : near.empty()     ? ""
                               : formatv("did you mean `{0}`?", near).str()};
  }

  llvm::ArrayRef<const OptionRow*> rows_;
  llvm::ArrayRef<StringRef> words_;
  StringRef command_;
  void* options_;
  Arguments& arguments_;
};

} // namespace

void set_defaults(llvm::ArrayRef<const OptionRow*> rows, void* options) {
  for (const OptionRow* row : rows) row->reset(options);
}

std::optional<Misuse> set_option(const OptionRow& row, StringRef value, void* options) {
  switch (row.kind) {
  case OptionKind::Flag: field<bool>(row, options) = true; break;
  case OptionKind::Whole: return set_whole(row, value, field<int64_t>(row, options));
  case OptionKind::Number: return set_number(row, value, field<double>(row, options));
  case OptionKind::Seed:
    // Values do not wrap: negative or too large ones are rejected.
    if (value.getAsInteger(10, field<uint64_t>(row, options)))
      return not_a_number(row, "whole number", "0", std::to_string(UINT64_MAX), value);
    break;
  case OptionKind::Words: return add_words(row, value, options);
  case OptionKind::Pairs: return add_pair(row, value, field<Pairs>(row, options));
  case OptionKind::Word: return set_word(row, value, options);
  case OptionKind::Cost: return set_cost(value, field<tangram::CostSpec>(row, options));
  case OptionKind::Text:
  case OptionKind::File:
  case OptionKind::Folder: field<std::string>(row, options) = value.str(); break;
  }
  return std::nullopt;
}

std::optional<Misuse> read_arguments(llvm::ArrayRef<const OptionRow*> rows,
                                     llvm::ArrayRef<StringRef> words, StringRef command,
                                     void* options, Arguments& arguments) {
  return Reader(rows, words, command, options, arguments).read();
}

} // namespace tg::cli
