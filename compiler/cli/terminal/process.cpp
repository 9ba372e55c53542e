#include "compiler/cli/terminal/process.h"

#include "compiler/api/verify/in_children.h"
#include "lang/core/diagnostics/diagnostic.h"
#include "lang/core/support/data_file.h"

#include <llvm/Support/ErrorHandling.h>
#include <llvm/Support/raw_ostream.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <new>

#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

namespace tg::cli {
namespace {

constexpr size_t kUsualStack = size_t{8} << 20; // the default of Linux

/// Ends the program without allocating.
[[noreturn]] void exit_without_allocating() {
  constexpr char kText[] = "error[E0701]: `tg` needs more memory than the system gives it "
                           "(`ulimit -a` shows the limits of the shell)\n";
  [[maybe_unused]] ssize_t written = write(STDERR_FILENO, kText, sizeof kText - 1);
  remove_temporary_files();
  _exit(kNoMemoryExitCode);
}

/// The work of a thread, and its initial signal mask.
struct Work {
  llvm::function_ref<int()> body;
  sigset_t signals;
  int exit_code = 0;
};

void* do_work(void* argument) {
  Work& work = *static_cast<Work*>(argument);
  pthread_sigmask(SIG_SETMASK, &work.signals, nullptr);
  work.exit_code = work.body();
  return nullptr;
}

} // namespace

void open_missing_streams() {
  for (int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) != -1 || errno != EBADF) continue;
    // The lowest free number is that of the stream; the wrong direction keeps it unusable.
    if (open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY) != stream) return;
  }
}

int finish_output(int exit_code) {
  llvm::outs().flush();
  std::error_code why = llvm::outs().error();
  // LLVM's streams abort the program at exit if an error is still set.
  llvm::outs().clear_error();
  if (why && exit_code == 0) {
    llvm::errs() << "error[" << code_text(Code::cannot_write)
                 << "]: cannot write standard output: " << why.message() << "\n";
    exit_code = 1;
  }
  llvm::errs().clear_error();
  return exit_code;
}

void exit_on_failed_allocation() {
  std::set_new_handler(exit_without_allocating);
  llvm::install_bad_alloc_error_handler([](void*, auto, bool) { exit_without_allocating(); });
}

int with_usual_stack(llvm::function_ref<int()> body) {
  rlimit limit;
  if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= kUsualStack) return body();
  pthread_attr_t usual;
  pthread_attr_init(&usual);
  pthread_attr_setstacksize(&usual, kUsualStack);
  pthread_setattr_default_np(&usual);
  Work work{body, {}};
  // Signals are for the threads of the work; this thread only waits.
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &work.signals);
  pthread_t thread;
  int failed = pthread_create(&thread, &usual, do_work, &work);
  pthread_attr_destroy(&usual);
  if (failed != 0) exit_without_allocating();
  pthread_join(thread, nullptr);
  return work.exit_code;
}

} // namespace tg::cli
