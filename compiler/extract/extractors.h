// The extractors behind one interface: each takes an ExtractionProblem and options, and answers
// with a sound choice, what it costs, and what is certain about the optimum.
//
//   greedy         least tree cost                             egg (POPL 2021), TENSAT (MLSys 2021)
//   greedy-shared  the cost function of MCTS for tensor graphs (PACT 2024), as published
//   greedy-dag     least cost of distinct nodes below a class  the extraction gym's greedy-dag
//   ilp            integer program through CBC                 TENSAT, section 5.1; ilp.h
//   lp             its relaxation, rounded                     lp_rounding.h
//   best           all of these within a time                  best.h
#pragma once

#include "compiler/extract/solver/ilp.h"

namespace tg {

enum class Extractor : uint8_t { Greedy, GreedyShared, GreedyDag, Ilp, Lp, Best };

/// "greedy-dag", as in `--extract`.
llvm::StringRef extractor_name(Extractor extractor);
std::optional<Extractor> extractor_by_name(llvm::StringRef name);
/// All of them, in the order above.
llvm::ArrayRef<Extractor> all_extractors();

/// Errors: `no_solution` if a root cannot be extracted, or none keeps to the byte limit.
Result<Extraction> run_extractor(const ExtractionProblem& problem, Extractor extractor,
                                 const IlpOptions& options = {});

} // namespace tg
