// Extraction as an integer program, minimising the DAG cost. Source: TENSAT (MLSys 2021, section
// 5.1), with four changes: the problem is reduced first (reduce.h); parts of it that are
// independent are solved apart; one row for a pair of classes instead of one for a pair of node and
// class (a class has at most one chosen node, so the rows can be added up: fewer and tighter); and,
// unless asked for, no ordering variables: where the e-graph has cycles, the cycles that a solution
// has are forbidden and it is solved again.
//
//   minimise  sum cost(n) x(n)              x(n) in {0, 1}: node n is chosen
//   root c (reduce.h makes roots of all classes that are certainly used):
//                                           sum over n in c of x(n)  = 1
//   class c, and class p with nodes that need c:
//                                           sum over n in c of x(n) >= sum over those of p of x(n)
#pragma once

#include "compiler/extract/problem.h"
#include "compiler/extract/solver/mip.h"
#include "compiler/extract/solver/parts.h"
#include "lang/core/result.h"

#include <functional>
#include <optional>

namespace tg {

/// How cycles are kept out of solutions.
enum class IlpCycles : uint8_t {
  /// Cuts, when a solution has a cycle: right on any e-graph, and free on a filtered one.
  None,
  /// A position in an order for each class on a cycle, as a real number in [0, 1] (TENSAT).
  Real,
  /// The same as an integer (TENSAT).
  Int,
};

/// Where an extraction stands.
struct ExtractionProgress {
  double seconds = 0;
  double dag_cost = 0;    // of the best choice so far
  double lower_bound = 0; // no choice costs less
};

struct IlpOptions {
  IlpCycles cycles = IlpCycles::None;
  double time_limit_s = 60;
  uint64_t memory_limit_bytes = uint64_t{4} << 30; // of the solver
  uint64_t seed = 1;                               // of everything random
  /// Most rounds of cuts; after that the best answer so far.
  int max_rounds = 50;
  /// A sound choice that is known, beside greedy's: the answer is not worse than it.
  std::optional<Choice> start = {};
  /// `ilp` leaves independent parts of at most so many nodes first to branch_cut.h and
  /// exact_search.h with a fixed amount of work.
  size_t small_nodes = 0;
  /// Called whenever cost or bound have changed, and some ten times a second; true ends the work,
  /// and the best choice so far is the answer. May be empty.
  std::function<bool(const ExtractionProgress&)> stop = {};
};

/// What an extraction came to.
/// The choice is complete and acyclic, and trimmed to what the roots reach.
struct Extraction {
  Choice choice;
  double dag_cost = 0;
  double tree_cost = 0;
  /// What the algorithm itself thinks that the choice costs: greedy counts trees, others estimate
  /// what is shared. The DAG cost where it has no opinion of its own.
  double reported_cost = 0;
  /// Certified: no choice costs less. Where nothing better is known, the sum of all rewards (0 if
  /// no cost is negative); by `ilp` and `best`, with the cheapest node of each root.
  double lower_bound = 0;
  bool optimal = false;
  bool out_of_time = false; // the clock ended it before a proof
  double seconds = 0;
  /// What found the choice: "greedy", "greedy-dag", "ilp", "sharing" (local search),
  /// "exact-search", "branch-and-cut", "rounding" (of the relaxation), "start".
  std::string algorithm;
  /// For people, where something did not go as asked: "ilp: the time limit; greedy is the answer".
  std::string note;
};

/// Solves the program of a part through CBC within a time, from the part's best choice on. Why
/// there is no proof; empty if there is.
std::string solve_ilp(OpenPart& part, const IlpOptions& options, double seconds,
                      llvm::function_ref<bool()> asked_to_stop);

/// The integer program of a problem. Columns 0 to node_count() - 1 are the nodes.
/// There may be a row for each pair of classes: once `stop` says so it ends, and is not the whole.
MipModel make_ilp(const ExtractionProblem& problem, IlpCycles cycles,
                  llvm::function_ref<bool()> stop = nullptr);

// Extraction by the linear relaxation: solved by CLP, then rounded. It takes a fraction of the time
// of the integer program, and its objective is a certified bound.
//
// Randomised rounding (Princeton COS 521 report on e-graph extraction): from the roots down, each
// class that is reached takes a node with the probability that the relaxation gives it. Its
// approximation ratio is unbounded, so it is tried often, and beside it stands a deterministic
// rounding: greedy under costs that are small for what the relaxation chose. Choices that close a
// cycle are repaired by greedy near them, so every answer is sound.

/// The best choice that both roundings of the relaxation's solution `x` (by node) find: the
/// deterministic one, then `tries` random ones of this seed, fewer where the seconds are over.
/// nullopt if a root cannot be extracted, or no rounding keeps to the byte limit.
std::optional<Choice> round_relaxation(const ExtractionProblem& problem, llvm::ArrayRef<double> x,
                                       uint64_t seed, int tries, double seconds = 1e9);

} // namespace tg
