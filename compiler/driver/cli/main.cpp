// The program `tg`: reads the command line, hands over to the subcommand, returns its exit code.
#include "compiler/driver/cli/session.h"
#include "compiler/driver/cli/terminal/spinning.h"

namespace {

bool runs_networks(tg::cli::CommandId command) {
  using enum tg::cli::CommandId;
  return (Run | Opt | Explain | BenchDemo | Repl | Calibrate).has(command);
}

} // namespace

int main(int argc, char** argv) {
  tg::cli::Parsed parsed = tg::cli::parse_command_line(argc, argv);
  llvm::outs() << parsed.out;
  llvm::errs() << parsed.err;
  if (parsed.done) return parsed.exit_code;
  const tg::cli::CommandRow& command = tg::cli::command_row(parsed.options.command);
  if (runs_networks(command.id)) tg::cli::bound_spinning(argv);
  return tg::cli::run_program(parsed.options, [&](tg::cli::Session& session) {
    auto writable = tg::cli::check_outputs(parsed.options);
    return writable ? command.run(session) : session.fail(std::move(writable.error()));
  });
}
