// Words of a command line into the fields of a struct, by rows of a table of options.
#pragma once

#include "compiler/cli/options/option_table.h"

#include <llvm/ADT/StringRef.h>

#include <optional>

namespace tg::cli {

/// What is wrong with a command line, and what would be right ("" where there is nothing to say).
struct Misuse {
  std::string message, help = {};
};

struct Arguments {
  std::vector<const OptionRow*> given;
  std::vector<std::string> operands;
  bool help = false, help_all = false; // asked for: what follows was not read
};

/// The defaults of the rows into the fields of `options`.
void set_defaults(llvm::ArrayRef<const OptionRow*> rows, void* options);
/// One value into the field of its row.
std::optional<Misuse> set_option(const OptionRow& row, llvm::StringRef value, void* options);
/// `--name=value`, `--name value`, `-ofile`, operands in between; after `--` operands alone.
/// `command` is named in messages: "tg opt".
std::optional<Misuse> read_arguments(llvm::ArrayRef<const OptionRow*> rows,
                                     llvm::ArrayRef<llvm::StringRef> words, llvm::StringRef command,
                                     void* options, Arguments& arguments);

// What other programs call the commands and options of this one.

/// For a command that there is none of (`optimize`, `diff`): what to write, as a sentence; or "".
llvm::StringRef idiom_of_command(llvm::StringRef word);

/// For a word that an option does not take (`--search rl`): where it is; or "".
llvm::StringRef idiom_of_word(llvm::StringRef flag, llvm::StringRef word);

/// For an option (`--timeout`): the one that is meant, if the command has it; or "".
llvm::StringRef idiom_of_option(llvm::StringRef word);

/// For an option of another program (`tg tune --reuse`): which has it; or "".
llvm::StringRef idiom_of_program(llvm::StringRef command, llvm::StringRef word);

} // namespace tg::cli
