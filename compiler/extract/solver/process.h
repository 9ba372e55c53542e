// Runs CBC and CLP in a child process. CBC 2.10.8 does not keep time limits, is not safe in two
// threads and writes to standard output; assertions of CBC and CLP end their process. A child can
// be killed on time, limited in memory, and muted, and its crash ends no other process.
//
// The child is this program itself, started again (/proc/self/exe) with TANGRAM_SOLVER_FD in its
// environment. Before main() runs, a constructor in process.cpp sees the variable, solves the
// problem that it reads from that descriptor, and exits. So there is one binary to ship, any
// program that links the library works, and no state of the parent's threads is inherited, as it
// would be by fork() alone. Messages are binary records over a socket pair. Results that the child
// sent before it is killed (the relaxation, bounds) are kept.
#pragma once

#include "compiler/extract/problem.h"
#include "compiler/extract/solver/branch_cut.h"
#include "compiler/extract/solver/mip.h"

namespace tg {

/// Minimises the model. Reports a missing child or answer in the result. Takes at most slightly
/// longer than `limits.seconds`.
MipResult solve_mip(const MipModel& model, const MipLimits& limits);

/// Runs branch and cut (branch_cut.h) in a separate process, for choices that cost less than
/// `cutoff`. `solution` is by node; empty if none is below the cutoff. Optimal: proven; without a
/// solution the cutoff itself is the optimum. Byte limits are ignored.
MipResult solve_problem(const ExtractionProblem& problem, double cutoff, const MipLimits& limits);

/// Returns the chosen nodes of a solution, one per class; undecided classes stay open. Columns
/// after those of the nodes are ignored.
Choice choice_of(const ExtractionProblem& problem, llvm::ArrayRef<double> solution);

/// As solve_problem(), for problems whose iteration limits end the work long before the time limit.
/// The process belongs to the thread and is reused, so only the first problem waits for a start.
/// The limits also bound the memory.
MipResult solve_small_problem(const ExtractionProblem& problem, double cutoff,
                              const BranchCutLimits& limits,
                              const std::function<bool(const MipResult&)>& stop);

} // namespace tg
