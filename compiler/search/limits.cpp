#include "compiler/search/limits.h"

namespace tg {

llvm::StringRef stop_reason_text(StopReason reason) {
  switch (reason) {
  case StopReason::Saturated: return "saturated";
  case StopReason::Iterations: return "iteration limit";
  case StopReason::Nodes: return "node limit";
  case StopReason::Time: return "time limit";
  case StopReason::Memory: return "memory limit";
  case StopReason::Cancelled: return "interrupted";
  }
  return "";
}

} // namespace tg
