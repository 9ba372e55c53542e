// The command line of `tg` as one plain struct, whose fields are the rows of options.def. The
// fields of the library's search options are passed on unchanged. Subcommands use no other part of
// the command line.
#pragma once

#include "compiler/cli/options/option_table.h"
#include "tangram/tangram.h"

#include <any>

namespace tg::cli {

struct Options : tangram::OptimizeOptions {
  CommandId command = CommandId::Prompt;
  std::vector<std::string> files; // positional arguments
  std::string strategy;           // the program's own, instead of `search` (program.h)
  std::any own;                   // fields of the program's own options

#define TG_OPTION(field, flag, value_name, kind, value, limits, ...)                               \
  tangram::fields::Stored<OptionKind::kind, decltype(tangram::fields::limits)> field =             \
      tangram::fields::initial<decltype(field)>(value);
#define TG_SEARCH_OPTION(...) // fields of OptimizeOptions
#define TG_ALSO(...)
#include "compiler/api/options.def"
};

/// The result of parsing: options, or a text to print and an exit code.
struct Parsed {
  Options options;
  bool done = false; // --help, --version, or an error: print and exit
  int exit_code = 0;
  std::string out, err;
};

/// Returns the word of the selected strategy.
llvm::StringRef search_word(const Options& options);

Parsed parse_command_line(int argc, const char* const* argv);

} // namespace tg::cli
