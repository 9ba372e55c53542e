// From a command line to an exit code, shared by all programs of this folder.
#include "compiler/cli/options/program.h"
#include "compiler/cli/session.h"
#include "compiler/cli/terminal/process.h"

namespace tg::cli {

static int run_command(int argc, char** argv) {
  Parsed parsed = parse_command_line(argc, argv);
  llvm::outs() << parsed.out;
  llvm::errs() << parsed.err;
  if (parsed.done) return parsed.exit_code;
  const CommandRow& command = command_row(parsed.options.command);
  return run_program(parsed.options, [&](Session& session) {
    auto writable = check_outputs(parsed.options);
    return writable ? command.run(session) : session.fail(std::move(writable.error()));
  });
}

int run_main(int argc, char** argv) {
  open_missing_streams();
  exit_on_failed_allocation();
  return with_usual_stack([&] { return finish_output(run_command(argc, argv)); });
}

} // namespace tg::cli
