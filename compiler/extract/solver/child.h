// The child's side of process.h: the messages, and the loop that reads a model, solves it and
// answers. Used only by process.cpp.
#pragma once

#include "compiler/extract/problem.h"
#include "compiler/extract/solver/branch_cut.h"
#include "compiler/extract/solver/mip.h"

#include <cstddef>

namespace tg {

/// Every message is this header followed by `bytes` bytes. Both ends are the same program on the
/// same machine, so numbers are sent in their memory representation.
struct SolverMessage {
  enum class Kind : uint32_t {
    Hello,      // child: ready; payload: kSolverProtocol
    Limits,     // parent: SolverLimits
    Model,      // parent: counts, then the arrays of MipModel, for CBC
    Problem,    // parent: the same for SearchProblem, for branch and cut
    Relaxation, // child: columns
    Bound,      // child: one double
    Solution,   // child: columns
    Done,       // child: MipStatus
  };
  Kind kind{};
  uint32_t reserved = 0;
  uint64_t bytes = 0;
};

inline constexpr uint64_t kSolverProtocol = 0x54474d495030'0003; // "TGMIP", version 3

/// Limits of the child.
struct SolverLimits {
  BranchCutLimits search; // for a Model only its seconds
  uint64_t memory_bytes = 0;
};

/// Returns the time for the search, given the relaxation's bound. If the bound is less than half of
/// the start's cost, branching has never closed the gap in time, and the search gets a tenth.
double search_seconds(const MipModel& model, double bound, double seconds);

/// An extraction problem as plain arrays, and the cutoff.
struct SearchProblem {
  std::vector<uint32_t> node_class, child_start, children, roots; // by node; one start more
  std::vector<double> cost;                                       // by node; infinite if unusable
  std::vector<double> head;                                       // number of classes, cutoff
};
SearchProblem to_search(const ExtractionProblem& problem, double cutoff);
ExtractionProblem from_search(const SearchProblem& search);
std::vector<char> pack(const SearchProblem& search);
bool unpack(llvm::ArrayRef<char> bytes, SearchProblem& search);

/// Serialises the model to one block of bytes, and back. `unpack` returns false on a wrong length.
std::vector<char> pack(const MipModel& model);
bool unpack(llvm::ArrayRef<char> bytes, MipModel& model);

/// Reads limits and models from `fd` and answers on it until the end of input. Returns the exit
/// code of the child.
int solver_child_main(int fd);

} // namespace tg
