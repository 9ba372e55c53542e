#include "compiler/driver/cli/terminal/spinning.h"

#include <cstdlib>
#include <unistd.h>

namespace tg::cli {

void bound_spinning(char** argv) {
  if (std::getenv("GOMP_SPINCOUNT") || std::getenv("OMP_WAIT_POLICY")) return;
  setenv("GOMP_SPINCOUNT", "3000", 1);
  execv("/proc/self/exe", argv); // returns only where that cannot be: then all is as it was
}

} // namespace tg::cli
