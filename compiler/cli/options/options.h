// The command line of `tg` as one plain struct, whose fields are the rows of options.def: what a
// search is told is the library's, so that it is handed on as it is.
// Subcommands read this struct and nothing else of the command line.
#pragma once

#include "compiler/cli/options/option_table.h"
#include "tangram/tangram.h"

#include <any>

namespace tg::cli {

struct Options : tangram::OptimizeOptions {
  CommandId command = CommandId::Prompt;
  std::vector<std::string> files; // positional arguments
  std::string strategy;           // of the program's own, in place of `search` (program.h)
  std::any own;                   // fields of the program's own options

#define TG_OPTION(field, flag, value_name, kind, value, limits, ...)                               \
  tangram::fields::Stored<OptionKind::kind, decltype(tangram::fields::limits)> field =             \
      tangram::fields::initial<decltype(field)>(value);
#define TG_SEARCH_OPTION(...) // of OptimizeOptions
#define TG_ALSO(...)
#include "compiler/api/options.def"
};

/// What the command line came to: options to act on, or text to print and an exit code.
struct Parsed {
  Options options;
  bool done = false; // --help, --version, or an error: print and leave
  int exit_code = 0;
  std::string out, err;
};

/// The strategy in use, by its word.
llvm::StringRef search_word(const Options& options);

Parsed parse_command_line(int argc, const char* const* argv);

} // namespace tg::cli
