// Jobs in processes of their own, so that a fault in one takes nothing else along. A child answers
// one job after the other; where it dies, the job that it was at has failed and another child goes
// on with the rest.
#pragma once

#include <functional>
#include <string>

namespace tg {

/// The exit code of a program whose memory ran out, if it has a handler for that (as `tg` has).
inline constexpr int kNoMemoryExitCode = 3;

struct ChildAnswer {
  std::string text;
  int signal = 0;    // that the child died of: then there is no text
  bool lost = false; // no text, and no signal: the child ended, or could not be started
  bool no_memory =
      false; // or no descriptor: for a child, or in it (which then ended with kNoMemoryExitCode)
  bool failed() const { return signal != 0 || lost; }
};

/// Calls `done` in this thread with each job's answer, in the order in which they come. `job` runs
/// in children alone: what it changes is lost. Of this process's threads none is in a child.
/// Children die with this process, and of Ctrl-C. `stop` is asked now and then: true ends all of
/// them, and the jobs that are left have no answer.
void run_in_children(size_t jobs, int children, const std::function<std::string(size_t)>& job,
                     const std::function<void(size_t, ChildAnswer)>& done,
                     const std::function<bool()>& stop = {});

} // namespace tg
