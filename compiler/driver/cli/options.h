// The command line of `tg` as one plain struct, whose fields are the rows of options.def.
// Subcommands read this struct and nothing else of the command line.
#pragma once

#include "compiler/driver/cli/option_table.h"

namespace tg::cli {

struct Options {
  std::string command;            // "opt", "rules list", ...
  std::vector<std::string> files; // positional arguments
  bool explain = false;           // leave a chain of rewrites; of the prompt

#define TG_OPTION(field, flag, value_name, kind, value, ...)                                       \
  Stored<OptionKind::kind> field = stored<OptionKind::kind>(value);
#define TG_ALSO(...)
#include "compiler/driver/options.def"
};

/// What the command line came to: options to act on, or text to print and an exit code.
struct Parsed {
  Options options;
  bool done = false; // --help, --version, or an error: print and leave
  int exit_code = 0;
  std::string out, err;
};

Parsed parse_command_line(int argc, const char* const* argv);

} // namespace tg::cli
