// The state that every subcommand shares: the options, the sources read so far, the output streams,
// and the conversion of a failure to diagnostics and an exit code (0 done, 1 wrong input, 2 wrong
// usage, 3 a limit left no answer, 70 an internal fault).
#pragma once

#include "compiler/cli/options/options.h"
#include "compiler/cli/terminal/signals.h"
#include "lang/core/diagnostics/diagnostic.h"
#include "lang/core/result.h"

#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/Support/JSON.h>

#include <memory>

namespace tg::cli {

/// Returns the stop token of a command that starts now.
StopToken stop_of(const Options& options);

struct Session {
  Session(const Options& options, llvm::raw_ostream& out, llvm::raw_ostream& err)
      : options(options), out(out), err(err), stop(stop_of(options)) {}

  const Options& options;
  SourceManager sources;
  DiagnosticSink sink;
  llvm::raw_ostream& out;
  llvm::raw_ostream& err;
  /// Makes running work end with the best result so far: on Ctrl-C, or when the time limit of the
  /// command, counted from now, is over.
  StopToken stop;
  /// Set from the moment at which Ctrl-C would lose a result.
  std::unique_ptr<Interruptible> interruptible = {};
  bool color = false; // for both `err` and `out`: both are terminals and NO_COLOR is not set

  /// Prints all diagnostics in the sink to `err`, and with --json also `{"ok": false, "errors":
  /// [...]}` to `out`. Returns the exit code of the most severe error.
  int fail() {
    return fail([](llvm::json::OStream&) {});
  }
  int fail(Diagnostic d);
  /// `more` adds members to the JSON object.
  int fail(llvm::function_ref<void(llvm::json::OStream&)> more);
  /// Prints the warnings collected so far to `err`.
  void print_warnings();
};

/// Runs `run` inside the program's frame: installs signal handlers, enables colours on a terminal,
/// and reports standard output that cannot be written. Returns the exit code.
int run_program(const Options& options, llvm::function_ref<int(Session&)> run);

/// The exit code of a comparison that proved neither yes nor no.
inline constexpr int kNotDecided = 4;
/// Returns the exit code for an error of this code.
int exit_code(Code code);

/// Writes `errors`: [{code, file, line, column, message, notes, help}]. Places are null if
/// there is none.
void write_errors(llvm::json::OStream& json, const DiagnosticSink& sink,
                  const SourceManager& sources);

/// Writes the file completely or not at all (data_file.h); `-` is standard output. Errors:
/// `cannot_write`.
Result<void> write_text_file(Session& session, llvm::StringRef path, llvm::StringRef text);
/// Checks that the output files of the options can be written. Called before a search, whose result
/// would otherwise be lost. Errors: `cannot_write`.
Result<void> check_outputs(const Options& options);

// One function in a file of its own for each subcommand. They return the exit code.
#define TG_COMMAND(id, name, run, ...) int run(Session& session);
#include "compiler/cli/commands.def"

} // namespace tg::cli
