// The solver's side of solver_process.h: the messages, and the loop that reads a model, solves it
// and answers. Used by solver_process.cpp alone.
#pragma once

#include "compiler/extract/mip.h"

#include <cstddef>

namespace tg {

/// Every message: this header, then `bytes` bytes. The two ends are the same program on the same
/// machine, so numbers travel as they lie in memory.
struct SolverMessage {
  enum class Kind : uint32_t {
    Hello,      // child: it is there; payload: kSolverProtocol
    Limits,     // parent: SolverLimits
    Model,      // parent: counts, then the arrays of MipModel
    Relaxation, // child: columns
    Bound,      // child: one double
    Solution,   // child: columns
    Done,       // child: MipStatus
  };
  Kind kind{};
  uint32_t reserved = 0;
  uint64_t bytes = 0;
};

inline constexpr uint64_t kSolverProtocol = 0x54474d495030'0001; // "TGMIP", version 1

/// What the child is told beside the model.
struct SolverLimits {
  double seconds = 0;
  uint64_t memory_bytes = 0;
};

/// Time for the search, once the relaxation's bound is known: where that is less than half of the
/// start's cost, branching has never closed the gap in time, and gets a tenth.
double search_seconds(const MipModel& model, double bound, double seconds);

/// The model as one block of bytes, and back. `unpack` returns false on a block of wrong length.
std::vector<char> pack(const MipModel& model);
bool unpack(llvm::ArrayRef<char> bytes, MipModel& model);

/// Reads limits and a model from `fd`, answers on it. Returns the exit code of the child.
int solver_child_main(int fd);

} // namespace tg
