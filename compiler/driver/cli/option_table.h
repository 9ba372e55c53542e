// The table of options (options.def) and that of commands (commands.def) as data: what parses,
// explains, completes and documents the command line reads these and knows no option by name.
#pragma once

#include "lang/core/type.h"

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/StringRef.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tg::cli {

struct Session;

// --- commands -----------------------------------------------------------------------------------

enum class CommandId : uint8_t {
#define TG_COMMAND(id, ...) id,
#include "compiler/driver/cli/commands.def"
  Prompt, // what `:set` at the prompt takes
};

struct CommandSet {
  uint32_t bits = 0;

  constexpr CommandSet() = default;
  constexpr CommandSet(CommandId id) : bits(uint32_t{1} << static_cast<unsigned>(id)) {}
  constexpr bool has(CommandId id) const { return (bits & CommandSet(id).bits) != 0; }
  friend constexpr CommandSet operator|(CommandSet a, CommandSet b) {
    a.bits |= b.bits;
    return a;
  }
};
constexpr CommandSet operator|(CommandId a, CommandId b) { return CommandSet(a) | CommandSet(b); }

enum class CommandGroup : uint8_t { Models, Rules, Searches, Machine, Reference };

struct CommandRow {
  CommandId id;
  llvm::StringLiteral name; // "opt", "rules list"
  int (*run)(Session&);
  CommandGroup group;
  llvm::StringLiteral operand; // "FILE", or "" for none
  size_t least, most;
  llvm::StringLiteral files; // ".tg": their ending; "" where operands are no files
  llvm::StringLiteral summary, operand_help;
};

llvm::ArrayRef<CommandRow> command_rows();
const CommandRow* find_command(llvm::StringRef name);
llvm::StringRef command_group_title(CommandGroup group);

// --- options ------------------------------------------------------------------------------------

enum class OptionKind : uint8_t {
  Flag,
  Text,
  File,
  Folder,
  Word,   // one of a few
  Words,  // several, with commas or given again
  Whole,  // number
  Seed,   // a whole number of 64 bits without sign
  Number, // real
  Pairs,  // NAME=VALUE, given again for more
  Type,   // of elements
};

/// The C++ type of an option's field.
template <OptionKind> struct StoredIn { using type = std::string; };
template <> struct StoredIn<OptionKind::Flag> { using type = bool; };
template <> struct StoredIn<OptionKind::Words> { using type = std::vector<std::string>; };
template <> struct StoredIn<OptionKind::Whole> { using type = int64_t; };
template <> struct StoredIn<OptionKind::Seed> { using type = uint64_t; };
template <> struct StoredIn<OptionKind::Number> { using type = double; };
template <> struct StoredIn<OptionKind::Pairs> {
  using type = std::vector<std::pair<std::string, std::string>>;
};
template <> struct StoredIn<OptionKind::Type> { using type = DType; };
template <OptionKind kind> using Stored = typename StoredIn<kind>::type;

/// A default as the table has it: a text, or a number.
struct OptionDefault {
  llvm::StringRef text = "";
  double number = 0;

  constexpr OptionDefault(const char* text) : text(text) {}
  constexpr OptionDefault(double number) : number(number) {}
  constexpr OptionDefault(int number) : number(number) {}
  constexpr OptionDefault(bool) {}
};

/// The same in the type of the field. Lists are empty by default.
template <OptionKind kind> Stored<kind> stored(const OptionDefault& value) {
  if constexpr (kind == OptionKind::Whole || kind == OptionKind::Seed || kind == OptionKind::Number)
    return static_cast<Stored<kind>>(value.number);
  else if constexpr (kind == OptionKind::Type)
    return parse_dtype(value.text).value_or(DType::F32);
  else if constexpr (std::is_same_v<Stored<kind>, std::string>)
    return value.text.str();
  else
    return {};
}

struct OptionLimits {
  double low = 0, high = 0;   // high below low: any
  llvm::StringRef words = ""; // "a|b|c"
};

namespace option_columns { // the words that rows are written in

inline constexpr OptionLimits any{0, -1, ""}; // NOLINT(readability-identifier-naming): such a word
constexpr OptionLimits range(double low, double high) { return {low, high, ""}; }
constexpr OptionLimits words(const char* text) { return {0, -1, text}; }

} // namespace option_columns

enum class OptionGroup : uint8_t { Model, Run, Search, Prices, Limits, Output };

struct OptionRow {
  llvm::StringLiteral flag; // "--seed", "-o"
  llvm::StringLiteral value_name;
  OptionKind kind;
  OptionDefault value;
  OptionLimits limits;
  OptionGroup group;
  CommandSet basic, commands;
  llvm::StringLiteral strategies; // separated by blanks; "" for all
  llvm::StringLiteral help, detail;
  /// The field in the struct of options, of type Stored<kind>.
  void* (*field)(void* options);

  llvm::StringRef name() const { return flag.ltrim('-'); }
  bool takes_value() const { return kind != OptionKind::Flag; }
  bool repeats() const { return kind == OptionKind::Words || kind == OptionKind::Pairs; }
  std::vector<llvm::StringRef> words() const;
  std::vector<llvm::StringRef> used_by() const; // strategies; empty for all
  /// "15"; "" where nothing is given by default.
  std::string default_text() const;
};

llvm::ArrayRef<OptionRow> option_rows();
/// Those of a command, in the table's order.
std::vector<const OptionRow*> rows_of(CommandId command);
/// nullptr for none.
const OptionRow* find_row(llvm::ArrayRef<const OptionRow*> rows, llvm::StringRef flag);
llvm::StringRef option_group_title(OptionGroup group);
llvm::StringRef kind_name(OptionKind kind);

} // namespace tg::cli
