// The live view of a search: one line on a terminal, no longer than it is wide, drawn anew as
// something happens and as time passes, gone at the end; nothing anywhere else.
#pragma once

#include "compiler/cli/session.h"
#include "tangram/tangram.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace tg::cli {

class LiveLine {
public:
  /// `by_itself`: the time left goes on between two calls of show(). Not where others write to the
  /// terminal while the search runs.
  LiveLine(Session& session, double time_limit_s, bool by_itself);
  ~LiveLine();
  LiveLine(const LiveLine&) = delete;
  LiveLine& operator=(const LiveLine&) = delete;

  /// What searches report to it; empty where there is nobody to see it.
  tangram::OnProgress listener();

private:
  using Clock = std::chrono::steady_clock;

  void show(const tangram::SearchProgress& progress);
  void draw(); // under the lock
  void tick();

  llvm::raw_ostream* err_ = nullptr; // null: nobody to see it
  std::mutex mutex_;
  std::condition_variable ended_;
  bool done_ = false;
  tangram::SearchProgress last_;
  Clock::time_point told_ = Clock::now(), drawn_{};
  std::thread ticker_;
};

/// What the line says, with so many seconds gone since the last report.
std::string progress_text(const tangram::SearchProgress& progress, double gone_s);

} // namespace tg::cli
