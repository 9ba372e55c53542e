#include "compiler/api/verify/in_children.h"

#include "lang/core/support/pipe_io.h"

#include <llvm/ADT/ArrayRef.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <optional>
#include <vector>

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

namespace tg {

namespace {

class Child {
public:
  /// Returns nothing if no process can be started.
  static std::optional<Child> start(const std::function<std::string(size_t)>& job,
                                    llvm::ArrayRef<Child> others) {
    int to[2], from[2];
    if (pipe(to) != 0) return std::nullopt;
    if (pipe(from) != 0) {
      for (int end : to) close(end);
      return std::nullopt;
    }
    Child child;
    child.pid_ = fork();
    if (child.pid_ == 0) {
      for (const Child& other : others) other.close_ends(); // they would outlive their owner
      close(to[1]);
      close(from[0]);
      serve(job, to[0], from[1]);
    }
    close(to[0]);
    close(from[1]);
    child.to_ = to[1];
    child.from_ = from[0];
    if (child.pid_ > 0) return child;
    child.close_ends();
    return std::nullopt;
  }

  int from() const { return from_; }
  size_t job() const { return job_; }

  /// If the child is dead already, read() returns the reason.
  void give(size_t job) {
    job_ = job;
    uint64_t number = job;
    write_all(to_, &number, sizeof number);
  }

  /// Returns the answer to the given job.
  ChildAnswer read() const {
    ChildAnswer answer;
    uint64_t size = 0;
    if (read_all(from_, &size, sizeof size)) {
      answer.text.resize(size);
      if (read_all(from_, answer.text.data(), size)) return answer;
    }
    answer = {};
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    answer.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    answer.lost = answer.signal == 0;
    answer.no_memory = WIFEXITED(status) && WEXITSTATUS(status) == kNoMemoryExitCode;
    return answer;
  }

  void close_ends() const {
    close(to_);
    close(from_);
  }

  void end() const {
    close_ends();
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
  }

  void kill() const {
    ::kill(pid_, SIGKILL);
    end();
  }

private:
  /// Serves jobs until the parent closes its end or exits.
  [[noreturn]] static void serve(const std::function<std::string(size_t)>& job, int from, int to) {
#ifdef __linux__
    prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
    for (int signal : {SIGINT, SIGTERM, SIGPIPE, SIGSEGV, SIGFPE, SIGABRT, SIGBUS, SIGILL})
      std::signal(signal, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none,
                nullptr); // the parent blocks signals that one of its threads waits for
    for (uint64_t number; read_all(from, &number, sizeof number);) {
      std::string text = job(number);
      uint64_t size = text.size();
      if (!write_all(to, &size, sizeof size) || !write_all(to, text.data(), size)) break;
    }
    _exit(0); // leaves the parent's buffers alone
  }

  pid_t pid_ = -1;
  int to_ = -1, from_ = -1;
  size_t job_ = 0;
};

} // namespace

void run_in_children(size_t jobs, int children, const std::function<std::string(size_t)>& job,
                     const std::function<void(size_t, ChildAnswer)>& done,
                     const std::function<bool()>& stop) {
  constexpr int kLookMs = 100; // interval for checking `stop`
  std::vector<Child> busy;
  size_t next = 0;
  auto old = std::signal(SIGPIPE, SIG_IGN); // a dead child is detected by reading
  auto start = [&] {
    for (; next < jobs && busy.size() < static_cast<size_t>(std::max(children, 1)); ++next) {
      std::optional<Child> child = Child::start(job, busy);
      if (!child && !busy.empty()) return; // running children take the remaining jobs
      if (!child) {
        done(next, {{}, 0, /*lost=*/true, /*no_memory=*/true});
        continue;
      }
      child->give(next);
      busy.push_back(*child);
    }
  };
  for (start(); !busy.empty(); start()) {
    if (stop && stop()) {
      for (const Child& child : busy) child.kill();
      break;
    }
    std::vector<pollfd> ends;
    for (const Child& child : busy) ends.push_back({child.from(), POLLIN, 0});
    if (poll(ends.data(), ends.size(), stop ? kLookMs : -1) <= 0) continue;
    for (size_t i = ends.size(); i-- > 0;) {
      if (ends[i].revents == 0) continue;
      Child& child = busy[i];
      size_t at = child.job();
      ChildAnswer answer = child.read();
      bool dead = answer.failed();
      if (!dead && next < jobs) {
        child.give(next++);
      } else {
        dead ? child.close_ends() : child.end();
        busy.erase(busy.begin() + static_cast<std::ptrdiff_t>(i));
      }
      done(at, std::move(answer));
    }
  }
  std::signal(SIGPIPE, old);
}

} // namespace tg
