// Reads and writes cost tables. The reader is a scanner for exactly this form of JSON: it does not
// nest, keeps the line for messages, and rejects input that general readers accept (duplicate keys,
// numbers that overflow).
#include "compiler/extract/cost/cost_table.h"

#include "lang/core/price.h"
#include "lang/core/support/data_file.h"
#include "lang/core/support/file_kind.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>
#include <cmath>

namespace tg {

namespace {

constexpr int kVersion = 1;

class TableReader {
public:
  TableReader(llvm::StringRef text, llvm::StringRef name) : rest_(text), name_(name) {}

  Result<CostTable> read() {
    bool prices = false;
    TG_CHECK(members([&](const std::string& key) -> Result<void> {
      if (key == "tangram_costs") return read_version();
      if (key == "source") return read_string(table_.source);
      if (key != "microseconds") return fail("unknown field `{0}`", key);
      prices = true;
      return members([&](const std::string& instance) { return read_price(instance); });
    }));
    if (!skip_space().empty()) return Diagnostic(fail("text after the end of the table"));
    if (!version_) return Diagnostic(fail("the field `tangram_costs` is missing"));
    if (!prices) return Diagnostic(fail("the field `microseconds` is missing"));
    return std::move(table_);
  }

private:
  template <class... Args> Diagnostic fail(const char* format, Args&&... args) {
    return error(Code::bad_cost_table, "{0}:{1}: {2}", name_, line_,
                 llvm::formatv(format, std::forward<Args>(args)...).str());
  }

  llvm::StringRef skip_space() {
    llvm::StringRef trimmed = rest_.ltrim(" \t\r\n");
    line_ += static_cast<size_t>(rest_.drop_back(trimmed.size()).count('\n'));
    return rest_ = trimmed;
  }
  bool take(char c) {
    if (!skip_space().startswith(llvm::StringRef(&c, 1))) return false;
    rest_ = rest_.drop_front();
    return true;
  }

  /// Reads `{ "key": value, ... }`; `value(key)` reads each value.
  template <class Value> Result<void> members(Value value) {
    if (!take('{')) return fail("expected `{{`");
    if (take('}')) return {};
    do {
      std::string key;
      TG_CHECK(read_string(key));
      if (!take(':')) return fail("expected `:` after \"{0}\"", key);
      TG_CHECK(value(key));
    } while (take(','));
    if (!take('}')) return fail("expected `,` or `}`");
    return {};
  }

  Result<void> read_string(std::string& out) {
    out.clear();
    if (!take('"')) return fail("expected a string");
    while (!rest_.empty() && rest_.front() != '"' && rest_.front() != '\n') {
      char c = rest_.front();
      rest_ = rest_.drop_front();
      if (c == '\\') TG_CHECK(read_escape(c));
      out += c;
    }
    if (!rest_.consume_front("\"")) return fail("a string that is never closed");
    return {};
  }

  /// Reads an escape after its backslash. \u is supported only for ASCII, since keys are ASCII.
  Result<void> read_escape(char& out) {
    static constexpr llvm::StringLiteral kLetters = "\"\\/ntr", kMeanings = "\"\\/\n\t\r";
    unsigned code = 0;
    bool whole = rest_.startswith("u00") && rest_.size() >= 5;
    if (whole && !rest_.substr(3, 2).getAsInteger(16, code) && code < 0x80) {
      out = static_cast<char>(code);
      rest_ = rest_.drop_front(5);
      return {};
    }
    size_t which = rest_.empty() ? llvm::StringRef::npos : kLetters.find(rest_.front());
    if (which == llvm::StringRef::npos) return fail("unknown escape `\\{0}`", rest_.take_front(1));
    out = kMeanings[which];
    rest_ = rest_.drop_front();
    return {};
  }

  Result<void> read_number(double& out) {
    skip_space();
    llvm::StringRef number = rest_.take_while(
        [](char c) { return llvm::isDigit(c) || llvm::StringRef("+-.eE").contains(c); });
    if (number.empty() || number.getAsDouble(out)) return fail("expected a number");
    rest_ = rest_.drop_front(number.size());
    return {};
  }

  Result<void> read_version() {
    double version = 0;
    TG_CHECK(read_number(version));
    if (version != kVersion)
      return fail("this is version {0} of the format; version {1} is required",
                  Value::of_float(version).text_form(), kVersion);
    version_ = true;
    return {};
  }

  Result<void> read_price(const std::string& key) {
    double price = 0;
    TG_CHECK(read_number(price));
    if (!std::isfinite(price) || price < 0)
      return fail("the price of `{0}` is not a finite number >= 0", key);
    if (price > kMaxPrice)
      return fail("the price of `{0}` exceeds the limit of 1e15 microseconds", key);
    if (!table_.microseconds.emplace(key, price).second) return fail("`{0}` has two prices", key);
    return {};
  }

  llvm::StringRef rest_, name_;
  size_t line_ = 1;
  bool version_ = false;
  CostTable table_;
};

/// Returns the text as a JSON string that read_string accepts.
std::string quoted(llvm::StringRef text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) < 0x20)
      out += "\\u00" + llvm::utohexstr(static_cast<unsigned char>(c), true, 2);
    else
      out += c;
  }
  return out + "\"";
}

} // namespace

Result<CostTable> parse_cost_table(llvm::StringRef text, llvm::StringRef name) {
  return TableReader(text, name).read();
}

Result<CostTable> load_cost_table(llvm::StringRef path) {
  if (llvm::sys::fs::is_directory(path))
    return error(Code::cannot_read, "`{0}` is a directory, not a cost table", path);
  TG_TRY(std::string text, read_text_file(path));
  if (llvm::StringRef(text).trim().empty())
    return error(Code::empty_file, "the cost table `{0}` is empty", path);
  Result<CostTable> table = parse_cost_table(text, path);
  if (!table) return with_kind(std::move(table.error()), text, ".json");
  return table;
}

Result<void> save_cost_table(const CostTable& table, llvm::StringRef path) {
  return write_data_file(path, [&](llvm::raw_ostream& out) -> Result<void> {
    out << "{ \"tangram_costs\": " << kVersion << ", \"source\": " << quoted(table.source)
        << ",\n  \"microseconds\": {";
    llvm::StringRef separator = "\n";
    for (const auto& [key, price] : table.microseconds) {
      out << separator << "    " << quoted(key) << ": " << Value::of_float(price).text_form();
      separator = ",\n";
    }
    out << "\n  } }\n";
    return {};
  });
}

double TableCost::price(const Symbols& symbols, const OpInstance& instance) {
  std::string key = instance_key(symbols, instance);
  auto found = table_.microseconds.find(key);
  if (found != table_.microseconds.end()) return found->second;
  if (std::find(missing_.begin(), missing_.end(), key) == missing_.end())
    missing_.push_back(std::move(key));
  return std::numeric_limits<double>::infinity();
}

std::vector<std::string> TableCost::notes() const {
  if (missing_.empty()) return {};
  bool one = missing_.size() == 1;
  return {llvm::formatv("the cost table has no price for {0} operator instance{1}, which {2} not "
                        "used; the first is {3}",
                        missing_.size(), one ? "" : "s", one ? "is" : "are", missing_.front())};
}

Result<std::unique_ptr<TableCost>> make_table_cost(llvm::StringRef path) {
  TG_TRY(CostTable table, load_cost_table(path));
  return std::make_unique<TableCost>(std::move(table), "file:" + path.str());
}

double RecordingCost::price(const Symbols& symbols, const OpInstance& instance) {
  double price = inner_.price(symbols, instance);
  if (std::isfinite(price)) table_.microseconds[instance_key(symbols, instance)] = price;
  return price;
}

} // namespace tg
