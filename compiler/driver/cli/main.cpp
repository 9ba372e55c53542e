// The program `tg`: reads the command line, hands over to the subcommand, returns its exit code.
#include "compiler/driver/cli/session.h"
#include "compiler/driver/cli/terminal/process.h"

namespace {

int run_tg(int argc, char** argv) {
  tg::cli::Parsed parsed = tg::cli::parse_command_line(argc, argv);
  llvm::outs() << parsed.out;
  llvm::errs() << parsed.err;
  if (parsed.done) return parsed.exit_code;
  const tg::cli::CommandRow& command = tg::cli::command_row(parsed.options.command);
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
