// The solver's side of process.h: the messages, and the loop that reads a model, solves it
// and answers. Used by process.cpp alone.
#pragma once

#include "compiler/extract/problem.h"
#include "compiler/extract/solver/branch_cut.h"
#include "compiler/extract/solver/mip.h"

#include <cstddef>

namespace tg {

/// Every message: this header, then `bytes` bytes. The two ends are the same program on the same
/// machine, so numbers travel as they lie in memory.
struct SolverMessage {
  enum class Kind : uint32_t {
    Hello,      // child: it is there; payload: kSolverProtocol
    Limits,     // parent: SolverLimits
    Model,      // parent: counts, then the arrays of MipModel, for CBC
    Problem,    // parent: the same of SearchProblem, for branch and cut
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

/// What the child is given beside the model.
struct SolverLimits {
  BranchCutLimits search; // of a Model its seconds alone
  uint64_t memory_bytes = 0;
};

/// Time for the search, once the relaxation's bound is known: where that is less than half of the
/// start's cost, branching has never closed the gap in time, and gets a tenth.
double search_seconds(const MipModel& model, double bound, double seconds);

/// An extraction problem as plain arrays, and what a choice has to cost less than.
struct SearchProblem {
  std::vector<uint32_t> node_class, child_start, children, roots; // by node; one start more
  std::vector<double> cost;                                       // by node; infinite: unusable
  std::vector<double> head;                                       // number of classes, cutoff
};
SearchProblem to_search(const ExtractionProblem& problem, double cutoff);
ExtractionProblem from_search(const SearchProblem& search);
std::vector<char> pack(const SearchProblem& search);
bool unpack(llvm::ArrayRef<char> bytes, SearchProblem& search);

/// The model as one block of bytes, and back. `unpack` returns false on a block of wrong length.
std::vector<char> pack(const MipModel& model);
bool unpack(llvm::ArrayRef<char> bytes, MipModel& model);

/// Reads limits and a model from `fd` and answers on it, until there is no more. Returns the exit
/// code of the child.
int solver_child_main(int fd);

} // namespace tg
