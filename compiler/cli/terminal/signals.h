// Ctrl-C and SIGTERM, which are treated alike. By default they end the program as usual, after
// removing temporary files. During work that has a best result so far (Interruptible), the first
// signal makes it end with that result. The second ends the program at once with a message. While
// the result is being written, and at the prompt, only the third does.
//
// A dedicated thread waits for the signals, and all other threads block them: kernels of oneDNN for
// AVX2 keep their stack in a buffer of a few pages, which the frame of a handler would overrun.
#pragma once

#include "lang/core/support/stop.h"

namespace tg::cli {

/// Called once, before any other thread exists. Child processes inherit the blocked signals and
/// must unblock them.
void install_signal_handlers();

/// While one exists, the first signal is only a request to stop. Nested ones count as one.
class Interruptible {
public:
  enum class Second : uint8_t { Ends, Warns };
  explicit Interruptible(Second second = Second::Ends);
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;
  /// The outermost one clears the request.
  ~Interruptible();
};

/// Returns the stop token set by the first signal; it is never set without an Interruptible.
StopToken interrupts();

} // namespace tg::cli
