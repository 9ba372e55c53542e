// The live view of a search: one line on a terminal, cut to its width, redrawn on progress and as
// time passes, and removed at the end. Without a terminal it does nothing.
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
  /// `by_itself`: the remaining time is updated between two calls of show(). Must be false if
  /// others write to the terminal during the search.
  LiveLine(Session& session, double time_limit_s, bool by_itself);
  ~LiveLine();
  LiveLine(const LiveLine&) = delete;
  LiveLine& operator=(const LiveLine&) = delete;

  /// Returns the progress callback for searches; empty without a terminal.
  tangram::OnProgress listener();

private:
  using Clock = std::chrono::steady_clock;

  void show(const tangram::SearchProgress& progress);
  void draw(); // requires the lock
  void tick();

  llvm::raw_ostream* err_ = nullptr; // null without a terminal
  std::mutex mutex_;
  std::condition_variable ended_;
  bool done_ = false;
  tangram::SearchProgress last_;
  Clock::time_point told_ = Clock::now(), drawn_{};
  std::thread ticker_;
};

/// Returns the text of the line, `gone_s` seconds after the last report.
std::string progress_text(const tangram::SearchProgress& progress, double gone_s);

} // namespace tg::cli
