// What every subcommand shares: the options, the sources read so far, where to print, and how a
// failure becomes diagnostics and an exit code (0 done, 1 wrong input, 2 wrong usage, 3 a
// limit left no answer, 70 an internal fault).
#pragma once

#include "compiler/cli/options/options.h"
#include "compiler/cli/terminal/signals.h"
#include "lang/core/diagnostics/diagnostic.h"
#include "lang/core/result.h"

#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/Support/JSON.h>

#include <memory>

namespace tg::cli {

/// Of a command that begins now.
StopToken stop_of(const Options& options);

struct Session {
  Session(const Options& options, llvm::raw_ostream& out, llvm::raw_ostream& err)
      : options(options), out(out), err(err), stop(stop_of(options)) {}

  const Options& options;
  SourceManager sources;
  DiagnosticSink sink;
  llvm::raw_ostream& out;
  llvm::raw_ostream& err;
  /// When what runs has to end, with the best so far: Ctrl-C, and the time limit of the command,
  /// from here on.
  StopToken stop;
  /// From where there is something to lose.
  std::unique_ptr<Interruptible> interruptible = {};
  bool color = false; // of `err` and `out` alike: both are terminals and NO_COLOR is not set

  /// Prints everything in the sink to `err`; with --json also `{"ok": false, "errors": [...]}` to
  /// `out`. The exit code is that of the gravest error.
  int fail() {
    return fail([](llvm::json::OStream&) {});
  }
  int fail(Diagnostic d);
  /// The object has what `more` writes, too.
  int fail(llvm::function_ref<void(llvm::json::OStream&)> more);
  /// Warnings collected so far, to `err`.
  void print_warnings();
};

/// A program's life around `run`: what signals do, colours where there is a terminal, and standard
/// output that has to be written. The exit code.
int run_program(const Options& options, llvm::function_ref<int(Session&)> run);

/// The exit code where neither yes nor no was shown.
inline constexpr int kNotDecided = 4;
/// The exit code that an error of this code ends the program with.
int exit_code(Code code);

/// `errors`: [{code, file, line, column, message, notes, help}];
/// places are null where there is none.
void write_errors(llvm::json::OStream& json, const DiagnosticSink& sink,
                  const SourceManager& sources);

/// The file is written whole or not at all (data_file.h); `-` is standard output.
/// Errors: `cannot_write`.
Result<void> write_text_file(Session& session, llvm::StringRef path, llvm::StringRef text);
/// Whether the files that the options name can be written: asked before a search, since what it has
/// found would be lost. Errors: `cannot_write`.
Result<void> check_outputs(const Options& options);

// One function, and one file, for each subcommand. They return the exit code.
#define TG_COMMAND(id, name, run, ...) int run(Session& session);
#include "compiler/cli/commands.def"

} // namespace tg::cli
