// Ctrl-C while the library computes: the first asks it to end with what it has, which is then
// returned; a second goes where it would have gone, and Python raises KeyboardInterrupt.
#pragma once

#include "tangram/tangram.h"

#include <csignal>

namespace tangram::python {

/// While it lives, SIGINT requests the interrupt.
/// For the main thread, one at a time; in others it does nothing.
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
