// Runs CBC and CLP in a child process. CBC 2.10.8 keeps no time limit, is not safe in two threads
// and writes to standard output, and assertions of either end their process; one of their own can
// be killed on time, bounded in memory, and muted, and what ends it ends no other.
//
// The child is this program itself, started again (/proc/self/exe) with TANGRAM_SOLVER_FD in its
// environment: before main() runs, a constructor in process.cpp sees the variable, solves
// what it reads from that descriptor, and exits. So there is one binary to ship, any program that
// links the library works, and nothing is inherited from the parent's threads, as it would be after
// a bare fork(). Messages are binary records over a socket pair; what the child has sent before it
// is killed (the relaxation, bounds) is kept.
#pragma once

#include "compiler/extract/problem.h"
#include "compiler/extract/solver/branch_cut.h"
#include "compiler/extract/solver/mip.h"

namespace tg {

/// Minimises the model. Never fails outright: without a child, or without an answer from it, the
/// result says so. Takes at most a little longer than `limits.seconds`.
MipResult solve_mip(const MipModel& model, const MipLimits& limits);

/// Branch and cut (branch_cut.h) in a process of its own, for choices that cost less than `cutoff`.
/// `solution` is by node; empty if there is none below the cutoff. Optimal: proven, the cutoff
/// itself if there is no solution. Byte limits are not looked at.
MipResult solve_problem(const ExtractionProblem& problem, double cutoff, const MipLimits& limits);

/// The choice that such a solution stands for.
Choice choice_of(const ExtractionProblem& problem, llvm::ArrayRef<double> solution);

/// As solve_problem(), for what counts end long before the clock does, in a process that the thread
/// keeps: only its first such problem waits for one to start. Memory is bounded by the counts.
MipResult solve_small_problem(const ExtractionProblem& problem, double cutoff,
                              const BranchCutLimits& limits,
                              const std::function<bool(const MipResult&)>& stop);

} // namespace tg
