// The program `tg`: reads the command line, hands over to the subcommand, returns its exit code.
#include "compiler/driver/cli/session.h"
#include "compiler/driver/cli/signals.h"
#include "compiler/driver/cli/spinning.h"

#include <llvm/Support/Process.h>

#include <csignal>
#include <cstdlib>

namespace {

bool runs_networks(tg::cli::CommandId command) {
  using enum tg::cli::CommandId;
  return (Run | Opt | Explain | BenchDemo | Repl | Calibrate).has(command);
}

} // namespace

int main(int argc, char** argv) {
  // A file over the limit of the shell is an error of writing, which removes what was begun.
  std::signal(SIGXFSZ, SIG_IGN);
  tg::cli::Parsed parsed = tg::cli::parse_command_line(argc, argv);
  llvm::outs() << parsed.out;
  llvm::errs() << parsed.err;
  if (parsed.done) return parsed.exit_code;
  const tg::cli::CommandRow& command = *tg::cli::find_command(parsed.options.command);
  if (runs_networks(command.id)) tg::cli::bound_spinning(argv);
  tg::cli::install_signal_handlers();
  tg::cli::Session session(parsed.options, llvm::outs(), llvm::errs());
  session.color = llvm::sys::Process::StandardErrIsDisplayed() &&
                  llvm::sys::Process::StandardOutIsDisplayed() && !std::getenv("NO_COLOR");
  auto writable = tg::cli::check_outputs(parsed.options);
  int code = writable ? command.run(session) : session.fail(std::move(writable.error()));
  llvm::outs().flush();
  // A full disk or a closed pipe must not pass as success.
  if (llvm::outs().has_error()) {
    llvm::outs().clear_error();
    return code == 0 ? 1 : code;
  }
  return code;
}
