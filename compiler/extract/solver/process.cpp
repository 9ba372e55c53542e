// The parent's side: starts the child, sends it the model, and collects messages until it is done
// or dead or its time is over. All waiting is in poll() with one deadline. Writes do not block and
// do not raise SIGPIPE.
#include "compiler/extract/solver/process.h"

#include "compiler/extract/solver/child.h"

#include <llvm/Support/FormatVariadic.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <string>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>

namespace tg {

namespace {

constexpr const char* kChildVariable = "TANGRAM_SOLVER_FD";
/// The descriptor of the child's end of the socket.
constexpr int kChildFd = 3;
/// From the exec to the first message; a loaded machine needs some time.
constexpr double kStartSeconds = 20;
/// Time beyond its limit in which CBC can return its solution.
constexpr double kGraceSeconds = 0.5;

/// Replaces main() in the child; see process.h.
__attribute__((constructor)) void run_as_solver_child() {
  const char* fd = std::getenv(kChildVariable);
  if (fd) _exit(solver_child_main(std::atoi(fd)));
}

using Clock = std::chrono::steady_clock;

Clock::time_point after(double seconds) {
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(
                            std::chrono::duration<double>(std::min(seconds, 1e8)));
}

/// A running solver. The destructor kills and reaps it.
class SolverProcess {
public:
  SolverProcess() = default;
  SolverProcess(const SolverProcess&) = delete;
  SolverProcess& operator=(const SolverProcess&) = delete;
  ~SolverProcess() { end_now(); }

  /// Returns true if this process started the child; after a fork it belongs to the parent.
  bool running() const { return fd_ >= 0 && owner_ == getpid(); }

  void end_now() {
    if (fd_ >= 0) close(std::exchange(fd_, -1));
    if (pid_ > 0 && owner_ == getpid()) {
      kill(pid_, SIGKILL);
      while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
      }
    }
    pid_ = -1;
  }

  /// Starts the child. Returns false with errno set if no process could be started.
  bool start() {
    end_now(); // removes an earlier child, or the parent's after a fork
    int ends[2];
    late_ = false;
    owner_ = getpid();
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return false;
    fd_ = ends[0];
    bool started = spawn(ends[1]);
    close(ends[1]);
    return started && fcntl(fd_, F_SETFL, O_NONBLOCK) == 0;
  }

  /// Sends bytes. Returns false if the child is gone or the deadline has passed (then
  /// late() is true).
  bool send_bytes(const void* data, size_t size, Clock::time_point deadline) {
    const char* at = static_cast<const char*>(data);
    while (size > 0) {
      ssize_t sent = send(fd_, at, size, MSG_NOSIGNAL);
      if (sent < 0 && errno == EINTR) continue;
      if (sent < 0 && errno == EAGAIN && wait(POLLOUT, deadline)) continue;
      if (sent <= 0) return false;
      at += sent;
      size -= static_cast<size_t>(sent);
    }
    return true;
  }

  bool receive_bytes(void* data, size_t size, Clock::time_point deadline) {
    char* at = static_cast<char*>(data);
    while (size > 0) {
      ssize_t got = recv(fd_, at, size, 0);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0 && errno == EAGAIN && wait(POLLIN, deadline)) continue;
      if (got <= 0) return false;
      at += got;
      size -= static_cast<size_t>(got);
    }
    return true;
  }

  bool late() const { return late_; }

  /// Polled while waiting; true acts as if the deadline had passed.
  std::function<bool()> stop;

  /// Returns how the child ended, for messages. Waits a moment, since it may still be exiting.
  std::string end() {
    close(std::exchange(fd_, -1));
    int status = 0;
    for (int i = 0; i < 100 && pid_ > 0; ++i) {
      pid_t ended = waitpid(pid_, &status, WNOHANG);
      if (ended != 0) pid_ = -1;
      if (ended == 0) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    if (pid_ > 0) return "the solver does not respond";
    if (WIFSIGNALED(status))
      return llvm::formatv("the solver was terminated by signal {0} ({1})", WTERMSIG(status),
                           strsignal(WTERMSIG(status)));
    return llvm::formatv("the solver ended early with exit code {0}", WEXITSTATUS(status));
  }

private:
  bool spawn(int child_end) {
    std::string fd = std::string(kChildVariable) + "=" + std::to_string(kChildFd);
    std::vector<char*> environment;
    for (char** variable = environ; *variable; ++variable) environment.push_back(*variable);
    environment.push_back(fd.data());
    environment.push_back(nullptr);
    char name[] = "tangram-solver";
    char* arguments[] = {name, nullptr};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, child_end, kChildFd);
    posix_spawnattr_t attributes; // the child blocks no signals, whatever the parent does
    posix_spawnattr_init(&attributes);
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    int failure =
        posix_spawn(&pid_, "/proc/self/exe", &actions, &attributes, arguments, environment.data());
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    if (failure == 0) return true;
    pid_ = -1;
    errno = failure;
    return false;
  }

  bool wait(short events, Clock::time_point deadline) {
    using std::chrono::milliseconds;
    constexpr int64_t kSlice = 100; // milliseconds between calls of `stop`
    while (true) {
      auto left = std::chrono::ceil<milliseconds>(deadline - Clock::now()).count();
      pollfd entry{fd_, events, 0};
      int ready = left <= 0 ? 0 : poll(&entry, 1, static_cast<int>(std::min(left, kSlice)));
      if (ready < 0 && errno == EINTR) continue;
      if (ready > 0) return true;
      late_ = left <= 0 || (stop && stop());
      if (late_) return false;
    }
  }

  pid_t pid_ = -1, owner_ = -1;
  int fd_ = -1;
  bool late_ = false;
};

/// One conversation: sends hello, limits and model, and receives messages.
class SolverConversation {
public:
  SolverConversation(const MipModel& model, SolverProcess& process, const MipLimits& limits)
      : model_(&model), columns_(model.columns()), process_(process), limits_(limits) {}
  SolverConversation(const ExtractionProblem& problem, double cutoff, SolverProcess& process,
                     const MipLimits& limits, BranchCutLimits counts = {})
      : search_(to_search(problem, cutoff)), columns_(problem.node_count()), process_(process),
        limits_(limits), counts_(counts) {}

  MipResult run() {
    if (limits_.stop) process_.stop = [this] { return limits_.stop(result_); };
    if (!process_.running()) {
      if (!process_.start()) return failed(llvm::formatv("no solver: {0}", strerror(errno)));
      if (!hello()) return failed(process_.late() ? "the solver does not start" : process_.end());
    }
    deadline_ = after(limits_.seconds + kGraceSeconds);
    if (send_model())
      while (receive())
        if (limits_.stop && limits_.stop(result_)) {
          result_.status = MipStatus::Stopped;
          result_.why = "an interruption";
          break;
        }
    return std::move(result_);
  }

  /// Returns true if the process has sent its full answer and waits for more.
  bool answered() const { return answered_; }

private:
  MipResult failed(std::string why) {
    result_.status = MipStatus::Failed;
    result_.why = std::move(why);
    return std::move(result_);
  }

  bool hello() {
    deadline_ = after(kStartSeconds);
    SolverMessage header;
    uint64_t protocol = 0;
    return process_.receive_bytes(&header, sizeof header, deadline_) &&
           header.kind == SolverMessage::Kind::Hello && header.bytes == sizeof protocol &&
           process_.receive_bytes(&protocol, sizeof protocol, deadline_) &&
           protocol == kSolverProtocol;
  }

  bool send_message(SolverMessage::Kind kind, const void* data, size_t size) {
    SolverMessage header{kind, 0, size};
    return process_.send_bytes(&header, sizeof header, deadline_) &&
           process_.send_bytes(data, size, deadline_);
  }

  bool send_model() {
    SolverLimits limits{counts_, limits_.memory_bytes};
    limits.search.seconds = limits_.seconds;
    std::vector<char> bytes = model_ ? pack(*model_) : pack(search_);
    auto kind = model_ ? SolverMessage::Kind::Model : SolverMessage::Kind::Problem;
    bool sent = send_message(SolverMessage::Kind::Limits, &limits, sizeof limits) &&
                send_message(kind, bytes.data(), bytes.size());
    return sent || interrupted();
  }

  /// Receives a message. Returns false if no more will come.
  bool receive() {
    SolverMessage header;
    if (!process_.receive_bytes(&header, sizeof header, deadline_)) return interrupted();
    switch (header.kind) {
    case SolverMessage::Kind::Bound: {
      double bound = 0;
      if (!take(header, &bound, sizeof bound)) return interrupted();
      result_.bound = std::max(result_.bound, bound);
      if (!model_) return true;
      deadline_ =
          std::min(deadline_,
                   after(search_seconds(*model_, result_.bound, limits_.seconds) + kGraceSeconds));
      return true;
    }
    case SolverMessage::Kind::Relaxation: return take_columns(header, result_.relaxation);
    case SolverMessage::Kind::Solution: return take_columns(header, result_.solution);
    case SolverMessage::Kind::Done:
      if (!take(header, &result_.status, sizeof result_.status)) return interrupted();
      answered_ = true;
      if (result_.status == MipStatus::Stopped) result_.why = kTimeLimit;
      return false;
    default: return interrupted();
    }
  }

  bool take(const SolverMessage& header, void* data, size_t size) {
    return header.bytes == size && process_.receive_bytes(data, size, deadline_);
  }

  bool take_columns(const SolverMessage& header, std::vector<double>& columns) {
    std::vector<double> taken(columns_);
    if (!take(header, taken.data(), taken.size() * sizeof(double))) return interrupted();
    columns = std::move(taken);
    return true;
  }

  /// Handles a broken conversation; the results received so far are kept.
  bool interrupted() {
    result_.status = process_.late() ? MipStatus::Stopped : MipStatus::Failed;
    result_.why = process_.late() ? kTimeLimit : process_.end();
    return false;
  }

  const MipModel* model_ = nullptr; // or
  SearchProblem search_;
  size_t columns_;
  SolverProcess& process_;
  const MipLimits& limits_;
  BranchCutLimits counts_;
  bool answered_ = false;
  Clock::time_point deadline_;
  MipResult result_;
};

} // namespace

MipResult solve_mip(const MipModel& model, const MipLimits& limits) {
  SolverProcess process;
  return SolverConversation(model, process, limits).run();
}

MipResult solve_problem(const ExtractionProblem& problem, double cutoff, const MipLimits& limits) {
  SolverProcess process;
  return SolverConversation(problem, cutoff, process, limits).run();
}

Choice choice_of(const ExtractionProblem& problem, llvm::ArrayRef<double> solution) {
  constexpr double kChosen = 0.5;
  Choice choice(problem.class_count());
  std::vector<double> best(problem.class_count(), kChosen);
  for (uint32_t n = 0; n < problem.node_count(); ++n) {
    uint32_t cls = problem.class_of({n}).index;
    if (solution[n] <= best[cls]) continue;
    best[cls] = solution[n];
    choice.node[cls] = {n};
  }
  return choice;
}

MipResult solve_small_problem(const ExtractionProblem& problem, double cutoff,
                              const BranchCutLimits& limits,
                              const std::function<bool(const MipResult&)>& stop) {
  thread_local SolverProcess process;
  MipLimits bounds{limits.seconds, /*memory_bytes=*/0, stop};
  SolverConversation conversation(problem, cutoff, process, bounds, limits);
  MipResult result = conversation.run();
  process.stop = {};
  if (!conversation.answered()) process.end_now();
  return result;
}

} // namespace tg
