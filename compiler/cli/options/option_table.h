// The tables of options (options.def) and commands (commands.def) as data. The code that
// parses, explains, completes and documents the command line reads these tables and knows no
// option by name.
#pragma once

#include "tangram/fields.h"

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/STLFunctionalExtras.h>
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
#include "compiler/cli/commands.def"
  Prompt, // settings of `:set` at the prompt
  Own,    // first of a program's own commands (program.h)
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
  llvm::StringLiteral files; // file ending such as ".tg"; "" if operands are not files
  llvm::StringLiteral summary, operand_help;
};

/// The commands of the program.
llvm::ArrayRef<CommandRow> command_rows();
const CommandRow& command_row(CommandId id);
/// Returns null if there is none.
const CommandRow* find_command(llvm::StringRef name);
/// Returns the first words of command names, each once: "opt", "rules".
std::vector<llvm::StringRef> first_words();
/// Returns the commands of two words that begin with this one, and their second words:
/// "list", "verify".
std::vector<std::pair<const CommandRow*, llvm::StringRef>> commands_below(llvm::StringRef word);

// --- options ------------------------------------------------------------------------------------

using OptionKind = tangram::fields::Kind;

/// A default in the table: a text or a number.
struct OptionDefault {
  llvm::StringRef text = "";
  double number = 0;

  constexpr OptionDefault(const char* text) : text(text) {}
  constexpr OptionDefault(double number) : number(number) {}
  constexpr OptionDefault(int number) : number(number) {}
  constexpr OptionDefault(bool) {}
};

/// The column `limits`. An enumeration has its words, and a function that sets a field to one.
struct OptionLimits {
  double low = 0, high = -1;  // high < low: unlimited
  llvm::StringRef words = ""; // "a|b|c"
  llvm::ArrayRef<std::string_view> rows = {};
  void (*set)(std::string_view word, void* field) = nullptr; // for OptionKind::Word
  void (*add)(std::string_view word, void* field) = nullptr; // for OptionKind::Words

  constexpr OptionLimits(tangram::fields::Any) {}
  constexpr OptionLimits(tangram::fields::Range r) : low(r.low), high(r.high) {}
  constexpr OptionLimits(tangram::fields::Listed l) : words(l.words) {}
  template <class E>
  constexpr OptionLimits(tangram::fields::Of<E> all)
      : words(all.only), rows(tangram::Words<E>::kRows),
        set([](std::string_view word, void* field) {
          *static_cast<E*>(field) = *tangram::from_word<E>(word);
        }),
        add([](std::string_view word, void* field) {
          static_cast<std::vector<E>*>(field)->push_back(*tangram::from_word<E>(word));
        }) {}
};

enum class OptionGroup : uint8_t { Model, Run, Search, Prices, Limits, Output };

struct OptionRow {
  llvm::StringLiteral flag; // "--seed", "-o"
  llvm::StringLiteral value_name;
  OptionKind kind;
  OptionDefault value;
  OptionLimits limits;
  OptionGroup group;
  CommandSet basic, commands;
  llvm::StringLiteral strategies; // separated by spaces; "" for all
  llvm::StringLiteral help, detail;
  /// Returns the field in the struct of options; its type follows from kind and limits
  /// (tangram/fields.h).
  void* (*field)(void* options);
  void (*reset)(void* options); // sets the field to its default

  llvm::StringRef name() const { return flag.ltrim('-'); }
  bool takes_value() const { return kind != OptionKind::Flag; }
  bool repeats() const { return kind == OptionKind::Words || kind == OptionKind::Pairs; }
  std::vector<llvm::StringRef> words() const;
  std::vector<llvm::StringRef> used_by() const; // strategies; empty for all
  /// Returns the default, such as "15"; "" if there is none.
  std::string default_text() const;
};

/// The options of the program.
llvm::ArrayRef<OptionRow> option_rows();
/// Returns the options of a command in the order of the table.
std::vector<const OptionRow*> rows_of(CommandId command);
std::vector<const OptionRow*> all_rows();
/// Calls `visit` for each group that has any of the rows, in the order of groups.
void each_group(llvm::ArrayRef<const OptionRow*> rows,
                llvm::function_ref<void(OptionGroup, llvm::ArrayRef<const OptionRow*>)> visit);
/// Returns null if there is none.
const OptionRow* find_row(llvm::ArrayRef<const OptionRow*> rows, llvm::StringRef flag);
llvm::StringRef option_group_title(OptionGroup group);
llvm::StringRef kind_name(OptionKind kind);

} // namespace tg::cli
