#include "python/bindings/interrupts.h"

#include <atomic>
#include <cstring>

#include <sys/syscall.h>
#include <unistd.h>

namespace tangram::python {

namespace {

// The state of the signal handler: the interrupt to request, and the previous handler.
std::atomic<const Interrupt*> asked{nullptr};
std::atomic<void (*)(int)> other{nullptr};

void handle(int signal) {
  const Interrupt* interrupt = asked.load();
  if (interrupt && !interrupt->requested()) return interrupt->request();
  if (void (*next)(int) = other.load()) next(signal);
}

bool in_main_thread() { return syscall(SYS_gettid) == getpid(); }

} // namespace

InterruptScope::InterruptScope(const Interrupt& interrupt) {
  const Interrupt* none = nullptr;
  if (!in_main_thread() || !asked.compare_exchange_strong(none, &interrupt)) return;
  struct sigaction ours {};
  ours.sa_handler = handle;
  sigemptyset(&ours.sa_mask);
  ours.sa_flags = SA_RESTART;
  if (sigaction(SIGINT, nullptr, &before_) != 0 || before_.sa_handler == SIG_IGN) {
    asked = nullptr; // an ignored signal stays ignored
    return;
  }
  other =
      before_.sa_flags & SA_SIGINFO || before_.sa_handler == SIG_DFL ? nullptr : before_.sa_handler;
  sigaction(SIGINT, &ours, nullptr);
  installed_ = true;
}

InterruptScope::~InterruptScope() {
  if (!installed_) return;
  sigaction(SIGINT, &before_, nullptr);
  asked = nullptr;
}

} // namespace tangram::python
