#include "compiler/driver/cli/terminal/signals.h"

#include "lang/core/support/data_file.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>

#include <unistd.h>

namespace tg::cli {
namespace {

// A handler can reach nothing else. NOLINTBEGIN
Cancellation wish;
std::atomic<int> interruptible = 0, signals = 0;
std::atomic<bool> second_warns = false;
// NOLINTEND

void say(const char* text) {
  [[maybe_unused]] ssize_t written = write(STDERR_FILENO, text, std::strlen(text));
}

/// By the signal itself, so that a shell sees what ended the program.
void end_by(int signal) {
  remove_temporary_files();
  struct sigaction usual {};
  usual.sa_handler = SIG_DFL;
  sigaction(signal, &usual, nullptr);
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, signal);
  raise(signal);
  pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
}

void on_signal(int signal) {
  int saved = errno;
  if (interruptible == 0) end_by(signal);
  int count = ++signals;
  if (count == 1) {
    wish.request();
  } else if (count == 2 && (second_warns || writes_files())) {
    say(writes_files() ? "\ntg: the result is being written; once more ends that\n"
                       : "\ntg: it is about to end; once more leaves the prompt\n");
  } else {
    say("\ntg: ended at once, without a result\n");
    end_by(signal);
  }
  errno = saved;
}

} // namespace

void install_signal_handlers() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  for (int signal : {SIGINT, SIGTERM}) sigaction(signal, &action, nullptr);
}

Interruptible::Interruptible(Second second) {
  second_warns = second_warns || second == Second::Warns;
  ++interruptible;
}

Interruptible::~Interruptible() {
  if (--interruptible > 0) return;
  signals = 0;
  second_warns = false;
  wish.forget();
}

StopToken interrupts() { return StopToken(&wish); }

} // namespace tg::cli
