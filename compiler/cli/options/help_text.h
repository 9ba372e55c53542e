// Formats the output of `--help` from the tables of commands and options.
#pragma once

#include "compiler/cli/options/option_table.h"

#include <llvm/ADT/StringRef.h>

#include <string>

namespace tg::cli {

/// Replaces `tg` in a text by the name of this program.
std::string as_program(std::string text);

/// Returns `tg --help`: the commands.
std::string program_help();
/// Returns `tg rules --help`: the commands below a word.
std::string commands_help(llvm::StringRef word);
/// Returns `tg opt --help`: the options that most users need, on one screen, or all with `all`.
std::string command_help(const CommandRow& command, bool all);
/// Returns options in groups, each with its title.
std::string options_help(llvm::ArrayRef<const OptionRow*> rows, bool detail);

/// Returns the description of an option: its help, words, strategies and default; `detail`
/// adds its detail.
std::string option_text(const OptionRow& row, bool detail);
/// Returns "--seed N".
std::string option_usage(const OptionRow& row);
/// Returns "tg opt [OPTIONS] FILE".
std::string command_usage(const CommandRow& command);

// Generates shell completion scripts and the man page from the tables of commands and options.

/// `shell` is a word that --completion accepts.
std::string completion_script(llvm::StringRef shell);
/// Returns tg.1, for man.
std::string manual_page();

} // namespace tg::cli
