// The command line of `tg` as one plain struct, whose fields are the rows of options.def: what a
// search is told is the library's, so that it is handed on as it is.
// Subcommands read this struct and nothing else of the command line.
#pragma once

#include "compiler/driver/cli/options/option_table.h"
#include "tangram/tangram.h"

namespace tg::cli {

/// Of `--search mcts`: Pact24 is an older form of `--search pact24`.
enum class MctsProfile : uint8_t { Tangram, Pact24 };

} // namespace tg::cli

template <> struct tangram::Words<tg::cli::MctsProfile> {
  static constexpr std::string_view kRows[] = {"tangram", "pact24"};
};

namespace tg::cli {

struct Options : tangram::OptimizeOptions {
  CommandId command = CommandId::Prompt;
  std::vector<std::string> files; // positional arguments

#define TG_OPTION(field, flag, value_name, kind, value, limits, ...)                               \
  tangram::fields::Stored<OptionKind::kind, decltype(tangram::fields::limits)> field =             \
      tangram::fields::initial<decltype(field)>(value);
#define TG_SEARCH_OPTION(...) // of OptimizeOptions
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
