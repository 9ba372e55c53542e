// An extractor picks one node for each class that the roots need, so that the picked nodes form an
// acyclic graph of least cost. The cost of a graph is its DAG cost: each distinct node counts once,
// however many users share it. Finding the least DAG cost is NP-hard, so there are several
// algorithms behind one interface: greedy ones take almost no time, and proving ones also return a
// certified lower bound and continue until it equals the cost.
//
// Example: either x = a * a, where a costs 4 and the product 1, or x = f(b) with a free b.
//
//   ExtractionProblem problem;
//   ClassIx a = problem.add_class(), b = problem.add_class(), x = problem.add_class();
//   problem.add_node(a, 4, {});
//   problem.add_node(b, 0, {});
//   problem.add_node(x, 1, {a, a}); // DAG cost 5: `a` counts once; tree cost 9
//   problem.add_node(x, 6, {b});    // DAG cost 6; tree cost 6
//   problem.add_root(x);
//   problem.seal();
//   run_extractor(problem, Extractor::Greedy)->dag_cost; // == 6: greedy minimises the tree cost
//   Extraction best = *run_extractor(problem, Extractor::Best); // best.dag_cost == 5
//   best.lower_bound; // == 5: so the choice is proved optimal
//
// Invariants of every answer:
//   - The choice is complete, acyclic and trimmed to the classes that the roots reach.
//     check_choice(), which shares no code with the algorithms, computes its figures.
//   - dag_cost is at most that of the greedy choice, and lower_bound <= the optimum <= dag_cost.
//   - Equal problems have equal answers unless a time limit ended the work: ties are broken by the
//     order of classes and nodes.
//
// Sources: greedy by tree cost, Willsey et al., "egg: Fast and extensible equality saturation"
// (POPL 2021); the integer program, Yang et al., "Equality saturation for tensor graph
// superoptimization" (TENSAT, MLSys 2021), section 5.1. extractors.def lists all extractors with
// their sources.
#pragma once

#include "compiler/extract/solver/ilp.h"

namespace tg {

enum class Extractor : uint8_t {
#define TG_EXTRACTOR(id, name, function, kind) id,
#include "compiler/extract/extractors.def"
#undef TG_EXTRACTOR
};

/// Returns the name as in `--extract`, such as "greedy-dag".
llvm::StringRef extractor_name(Extractor extractor);
/// Returns all extractors in the order of their rows.
std::vector<Extractor> all_extractors();
/// Returns true for extractors that take next to no time and give no bound.
bool is_greedy(Extractor extractor);
std::vector<Extractor> greedy_extractors();
/// Returns true for extractors that start from a given choice (IlpOptions::start) and go on until
/// the optimum is proven.
bool proves_optimum(Extractor extractor);

// The extractor functions. Greedy ones use only `stop` of the options. No answer is worse than
// greedy's: if a solver fails, only the proof is lost. Errors: `no_solution` if a root cannot
// be extracted or no choice keeps to the byte limit; `limit_no_answer` if stopped before the
// first choice.
#define TG_EXTRACTOR(id, name, function, kind)                                                     \
  Result<Extraction> function(const ExtractionProblem& problem, const IlpOptions& options = {});
#include "compiler/extract/extractors.def"
#undef TG_EXTRACTOR

/// Runs the given extractor.
Result<Extraction> run_extractor(const ExtractionProblem& problem, Extractor extractor,
                                 const IlpOptions& options = {});

} // namespace tg
