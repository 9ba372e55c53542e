// The program `tg`: reads the command line, hands over to the subcommand, returns its exit code.
#include "compiler/driver/cli/session.h"
#include "compiler/driver/cli/terminal/process.h"

#include <cstdlib>

#include <unistd.h>

namespace {

bool runs_networks(tg::cli::CommandId command) {
  using enum tg::cli::CommandId;
  return (Run | Opt | Explain | BenchDemo | Repl | Calibrate).has(command);
}

/// Idle threads of libgomp, which oneDNN runs on, spin for some 3 ms before they sleep. On an idle
/// machine a hundredth of that is as good; where another program wants one of the cores, each
/// parallel region waits for the spinning to end (figures: onednn/DECISIONS.md). The library
/// reads its environment before main(), so the program starts itself once more; what the user has
/// set stays.
void bound_spinning(char** argv) {
  if (std::getenv("GOMP_SPINCOUNT") || std::getenv("OMP_WAIT_POLICY")) return;
  setenv("GOMP_SPINCOUNT", "3000", 1);
  execv("/proc/self/exe", argv); // returns only where that cannot be: then all is as it was
}

int run_tg(int argc, char** argv) {
  tg::cli::Parsed parsed = tg::cli::parse_command_line(argc, argv);
  llvm::outs() << parsed.out;
  llvm::errs() << parsed.err;
  if (parsed.done) return parsed.exit_code;
  const tg::cli::CommandRow& command = tg::cli::command_row(parsed.options.command);
  if (runs_networks(command.id)) bound_spinning(argv);
  return tg::cli::run_program(parsed.options, [&](tg::cli::Session& session) {
    auto writable = tg::cli::check_outputs(parsed.options);
    return writable ? command.run(session) : session.fail(std::move(writable.error()));
  });
}

} // namespace

int main(int argc, char** argv) {
  tg::cli::open_missing_streams();
  tg::cli::end_where_memory_ends();
  return tg::cli::with_usual_stack([&] { return tg::cli::finish_output(run_tg(argc, argv)); });
}
