// Extraction as an integer program that minimises the DAG cost. Source: TENSAT (MLSys 2021, section
// 5.1), with four changes:
//   - The problem is reduced first (reduce.h).
//   - Independent parts are solved separately.
//   - A row ties a pair of classes instead of a node and a class. A class has at most one chosen
//     node, so the rows can be added up, which gives fewer and tighter rows.
//   - Ordering variables are optional. By default, if a solution has cycles, these cycles are
//     forbidden and the program is solved again.
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

/// How cycles are excluded from solutions.
enum class IlpCycles : uint8_t {
  /// Cuts, added when a solution has a cycle: correct on any e-graph, and free on a filtered one.
  None,
  /// A real number in [0, 1] for each class on a cycle, its position in an order (TENSAT).
  Real,
  /// The same with an integer (TENSAT).
  Int,
};

/// The progress of an extraction.
struct ExtractionProgress {
  double seconds = 0;
  double dag_cost = 0;    // of the best choice so far
  double lower_bound = 0; // no choice costs less
};

struct IlpOptions {
  IlpCycles cycles = IlpCycles::None;
  double time_limit_s = 60;
  uint64_t memory_limit_bytes = uint64_t{4} << 30; // of the solver
  uint64_t seed = 1;                               // of all random steps
  /// Limit on rounds of cuts; after it the best choice so far is the answer.
  int max_rounds = 50;
  /// A known sound choice besides greedy's. The answer is not worse than it.
  std::optional<Choice> start = {};
  /// `ilp` first tries branch_cut.h and exact_search.h, with a fixed amount of work, on independent
  /// parts of at most this many nodes.
  size_t small_nodes = 0;
  /// Called whenever cost or bound change, and some ten times a second. True ends the work, and the
  /// best choice so far is the answer. May be empty.
  std::function<bool(const ExtractionProgress&)> stop = {};
};

/// The result of an extraction. The choice is complete and acyclic, and has only classes that the
/// roots reach.
struct Extraction {
  Choice choice;
  double dag_cost = 0;
  double tree_cost = 0;
  /// The cost by the algorithm's own estimate: greedy counts trees, others estimate sharing. The
  /// DAG cost if the algorithm has no estimate.
  double reported_cost = 0;
  /// Certified: no choice costs less. Without a better bound it is the sum of all rewards (0 if no
  /// cost is negative); `ilp` and `best` add the cheapest node of each root.
  double lower_bound = 0;
  bool optimal = false;
  bool out_of_time = false; // the time limit ended it before a proof
  double seconds = 0;
  /// The stage that found the choice: "greedy", "greedy-dag", "ilp", "sharing" (local search),
  /// "exact-search", "branch-and-cut", "rounding" (of the relaxation), "start".
  std::string algorithm;
  /// Explains a deviation from the request: "ilp: the time limit; greedy is the answer".
  std::string note;
};

/// Solves the program of a part by CBC within a time limit, starting from the part's best choice.
/// Returns why there is no proof; empty if there is one.
std::string solve_ilp(OpenPart& part, const IlpOptions& options, double seconds,
                      llvm::function_ref<bool()> stop_requested);

/// Returns the integer program of a problem. Columns 0 to node_count() - 1 are the nodes. There may
/// be a row for each pair of classes, so `stop` can end the work; then the program is incomplete.
MipModel make_ilp(const ExtractionProblem& problem, IlpCycles cycles,
                  llvm::function_ref<bool()> stop = nullptr);

// Extraction by the linear relaxation: solved by CLP, then rounded. It takes a fraction of the time
// of the integer program, and its objective is a certified bound.
//
// Randomised rounding (Princeton COS 521 report on e-graph extraction) goes from the roots down:
// each reached class takes a node with the probability that the relaxation gives it. Its
// approximation ratio is unbounded, so it is repeated, and combined with a deterministic rounding:
// greedy with low costs for the nodes that the relaxation chose. Greedy also repairs choices that
// close a cycle, so every answer is sound.

/// Returns the best choice of both roundings of the relaxation's solution `x` (by node): the
/// deterministic one, then `tries` random ones from this seed, or fewer if the seconds run out.
/// nullopt if a root cannot be extracted or no rounding keeps to the byte limit.
std::optional<Choice> round_relaxation(const ExtractionProblem& problem, llvm::ArrayRef<double> x,
                                       uint64_t seed, int tries, double seconds = 1e9);

} // namespace tg
