// What `--help` prints, from the tables of commands and options.
#pragma once

#include "compiler/cli/options/option_table.h"

#include <llvm/ADT/StringRef.h>

#include <string>

namespace tg::cli {

/// Says a text that is written about `tg` in the name of this program.
std::string as_program(std::string text);

/// `tg --help`: the commands.
std::string program_help();
/// `tg rules --help`: those below a word.
std::string commands_help(llvm::StringRef word);
/// `tg opt --help`: a screen of what most people need, or, if `all`, everything.
std::string command_help(const CommandRow& command, bool all);
/// Options in groups, each group with its title.
std::string options_help(llvm::ArrayRef<const OptionRow*> rows, bool detail);

/// What an option means, in a sentence: its help,
/// words, strategies, default; with `detail` that, too.
std::string option_text(const OptionRow& row, bool detail);
/// "--seed N"
std::string option_usage(const OptionRow& row);
/// "tg opt [OPTIONS] FILE"
std::string command_usage(const CommandRow& command);

// Completion scripts of shells and the man page, from the tables of commands and options.

/// `shell` is one of those that --completion takes.
std::string completion_script(llvm::StringRef shell);
/// tg.1, for man.
std::string manual_page();

} // namespace tg::cli
