#include "compiler/cli/terminal/signals.h"

#include "lang/core/support/data_file.h"

#include <atomic>
#include <csignal>
#include <cstring>

#include <pthread.h>
#include <unistd.h>

namespace tg::cli {
namespace {

// The thread that waits for signals can reach nothing else. NOLINTBEGIN
Cancellation wish;
std::atomic<int> interruptible = 0, signals = 0;
std::atomic<bool> second_warns = false;
// NOLINTEND

void say(const char* text) {
  [[maybe_unused]] ssize_t written = write(STDERR_FILENO, text, std::strlen(text));
}

/// Ends the program by the signal itself, so that a shell sees the cause.
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
  if (interruptible == 0) end_by(signal);
  int count = ++signals;
  if (count == 1) {
    wish.request();
  } else if (count == 2 && (second_warns || writes_files())) {
    say(writes_files() ? "\ntg: writing the result; interrupt again to stop\n"
                       : "\ntg: stopping; interrupt again to leave the prompt\n");
  } else {
    say("\ntg: stopped without a result\n");
    end_by(signal);
  }
}

sigset_t ours() {
  sigset_t set;
  sigemptyset(&set);
  for (int signal : {SIGINT, SIGTERM}) sigaddset(&set, signal);
  return set;
}

void* wait_for_signals(void*) {
  sigset_t set = ours();
  for (int signal = 0;;)
    if (sigwait(&set, &signal) == 0) on_signal(signal);
}

} // namespace

void install_signal_handlers() {
  sigset_t set = ours();
  pthread_t waiter;
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  if (pthread_create(&waiter, nullptr, wait_for_signals, nullptr) == 0)
    pthread_detach(waiter);
  else
    pthread_sigmask(SIG_UNBLOCK, &set, nullptr); // they end the program, as usual
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
