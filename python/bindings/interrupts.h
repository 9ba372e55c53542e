// Ctrl-C while the library computes. The first one requests an early end, and the result so far
// is returned. A second one goes to the previous handler, and Python raises KeyboardInterrupt.
#pragma once

#include "tangram/tangram.h"

#include <csignal>

namespace tangram::python {

/// While it lives, SIGINT requests the interrupt. For the main thread, one at a time;
/// no effect in other threads.
class InterruptScope {
public:
  explicit InterruptScope(const Interrupt& interrupt);
  ~InterruptScope();
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;

private:
  bool installed_ = false;
  struct sigaction before_ {};
};

} // namespace tangram::python
