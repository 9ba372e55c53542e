// The program `tg`: reads the command line, hands over to the subcommand, returns its exit code.
#include "compiler/driver/cli/help.h"
#include "compiler/driver/cli/session.h"
#include "compiler/driver/cli/signals.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/Support/Process.h>

#include <csignal>
#include <cstdlib>
#include <unistd.h>

namespace {

using tg::cli::Session;

struct Subcommand {
  llvm::StringRef name;
  int (*run)(Session&);
};

// One a line.
// clang-format off
constexpr Subcommand kSubcommands[] = {
    {"check", tg::cli::run_check},
    {"fmt", tg::cli::run_fmt},
    {"opt", tg::cli::run_opt},
    {"explain", tg::cli::run_explain},
    {"run", tg::cli::run_run},
    {"weights", tg::cli::run_weights},
    {"bench demo", tg::cli::run_bench_demo},
    {"bench paper", tg::cli::run_bench_paper},
    {"report", tg::cli::run_report},
    {"extract", tg::cli::run_extract},
    {"rules list", tg::cli::run_rules_list},
    {"rules verify", tg::cli::run_rules_verify},
    {"verify", tg::cli::run_verify},
    {"repl", tg::cli::run_repl},
    {"calibrate", tg::cli::run_calibrate},
    {"devices", tg::cli::run_devices},
    {"ops", tg::cli::run_ops},
    {"errors", tg::cli::run_errors},
    {"help", tg::cli::run_help},
};
// clang-format on

/// Idle threads of libgomp, which oneDNN runs on, spin for some 3 ms before they sleep. On a quiet
/// machine a hundredth of that is as good; where another program wants one of the cores, each
/// parallel region waits for the spinning to end (figures: README of runtime/onednn). The library
/// reads its environment before main(), so the program starts itself once more; what the user has
/// set stays.
void bound_spinning(char** argv) {
  if (std::getenv("GOMP_SPINCOUNT") || std::getenv("OMP_WAIT_POLICY")) return;
  setenv("GOMP_SPINCOUNT", "3000", 1);
  execv("/proc/self/exe", argv); // returns only where that cannot be: then all is as it was
}

bool runs_networks(llvm::StringRef command) {
  return command == "run" || command == "opt" || command == "explain" || command == "bench demo" ||
         command == "bench paper" || command == "repl" || command == "calibrate";
}

} // namespace

int main(int argc, char** argv) {
  // A file over the limit of the shell is an error of writing, which removes what was begun.
  std::signal(SIGXFSZ, SIG_IGN);
  tg::cli::Parsed parsed = tg::cli::parse_command_line(argc, argv);
  llvm::outs() << parsed.out;
  llvm::errs() << parsed.err;
  if (parsed.done) return parsed.exit_code;
  if (runs_networks(parsed.options.command)) bound_spinning(argv);
  tg::cli::install_signal_handlers();
  Session session(parsed.options, llvm::outs(), llvm::errs());
  session.color = llvm::sys::Process::StandardErrIsDisplayed() &&
                  llvm::sys::Process::StandardOutIsDisplayed() && !std::getenv("NO_COLOR");
  const auto* found = llvm::find_if(
      kSubcommands, [&](const Subcommand& s) { return s.name == parsed.options.command; });
  if (found == std::end(kSubcommands))
    return session.fail(
        tg::error(tg::Code::internal, "no function runs `tg {0}`", parsed.options.command));
  auto writable = tg::cli::check_outputs(parsed.options);
  int code = writable ? found->run(session) : session.fail(std::move(writable.error()));
  llvm::outs().flush();
  // A full disk or a closed pipe must not pass as success.
  if (llvm::outs().has_error()) {
    llvm::outs().clear_error();
    return code == 0 ? 1 : code;
  }
  return code;
}
