// Runs jobs in separate processes, so that a crash affects only one job. A child runs one job after
// the other. If it dies, its current job has failed, and another child takes the remaining ones.
#pragma once

#include <functional>
#include <string>

namespace tg {

/// The exit code of a program whose memory ran out, if it has a handler for that (as `tg` has).
inline constexpr int kNoMemoryExitCode = 3;

struct ChildAnswer {
  std::string text;
  int signal = 0;    // that killed the child; then there is no text
  bool lost = false; // no text and no signal: the child exited, or could not be started
  bool no_memory =
      false; // or of file descriptors, for a child or within it (exit code kNoMemoryExitCode)
  bool failed() const { return signal != 0 || lost; }
};

/// Calls `done` in this thread with each job's answer, in the order of arrival. `job` runs only in
/// children, so its side effects are lost. Children have none of this process's other threads. They
/// die with this process, and on Ctrl-C. `stop` is called periodically; true ends all children, and
/// the remaining jobs have no answer.
void run_in_children(size_t jobs, int children, const std::function<std::string(size_t)>& job,
                     const std::function<void(size_t, ChildAnswer)>& done,
                     const std::function<bool()>& stop = {});

} // namespace tg
