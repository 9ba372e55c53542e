// Parses the words of a command line into the fields of a struct, by the rows of an option table.
#pragma once

#include "compiler/cli/options/option_table.h"

#include <llvm/ADT/StringRef.h>

#include <optional>

namespace tg::cli {

/// The error in a command line, and the suggested correction ("" if there is none).
struct Misuse {
  std::string message, help = {};
};

struct Arguments {
  std::vector<const OptionRow*> given;
  std::vector<std::string> operands;
  bool help = false, help_all = false; // help requested; the remaining words were not read
};

/// Sets the fields of `options` to the defaults of the rows.
void set_defaults(llvm::ArrayRef<const OptionRow*> rows, void* options);
/// Sets the field of one row.
std::optional<Misuse> set_option(const OptionRow& row, llvm::StringRef value, void* options);
/// Parses `--name=value`, `--name value` and `-ofile`, with operands anywhere; after `--` all words
/// are operands. `command` is named in messages: "tg opt".
std::optional<Misuse> read_arguments(llvm::ArrayRef<const OptionRow*> rows,
                                     llvm::ArrayRef<llvm::StringRef> words, llvm::StringRef command,
                                     void* options, Arguments& arguments);

// Names that other programs use for the commands and options of this one.

/// For an unknown command (`optimize`, `diff`): returns a sentence with the right command, or "".
llvm::StringRef idiom_of_command(llvm::StringRef word);

/// For a word that an option does not accept (`--search rl`): returns where it is found, or "".
llvm::StringRef idiom_of_word(llvm::StringRef flag, llvm::StringRef word);

/// For an unknown option (`--timeout`): returns the option with that meaning, if the command
/// has it, or "".
llvm::StringRef idiom_of_option(llvm::StringRef word);

/// For an option of another program (`tg tune --reuse`): which has it; or "".
llvm::StringRef idiom_of_program(llvm::StringRef command, llvm::StringRef word);

} // namespace tg::cli
