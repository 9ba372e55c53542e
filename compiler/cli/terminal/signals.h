// Ctrl-C and SIGTERM, which are one and the same here. Where nothing would be lost they end the
// program as ever, but for temporary files, which go. While something runs that has a best result
// so far (Interruptible), the first asks it to end with that; the second ends the program at once,
// and says so, but while the result is being written, or at the prompt, it takes a third.
//
// A thread of their own waits for them, and all others block them: kernels of oneDNN for AVX2 have
// their stack in a buffer of a few pages, which the frame of a handler would overrun.
#pragma once

#include "lang/core/support/stop.h"

namespace tg::cli {

/// Once, before any other thread is there. Children inherit what is blocked, and undo it.
void install_signal_handlers();

/// From here on the first signal is a wish. Nested ones are one.
class Interruptible {
public:
  enum class Second : uint8_t { Ends, Warns };
  explicit Interruptible(Second second = Second::Ends);
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;
  /// What was asked for is forgotten with the outermost.
  ~Interruptible();
};

/// What the first signal asks for; never while nothing is Interruptible.
StopToken interrupts();

} // namespace tg::cli
