// The extractors behind one interface: each takes an ExtractionProblem and options, and answers
// with a sound choice, what it costs, and what is certain about the optimum. Which there are:
// extractors.def.
#pragma once

#include "compiler/extract/solver/ilp.h"

namespace tg {

enum class Extractor : uint8_t {
#define TG_EXTRACTOR(id, name, function, kind) id,
#include "compiler/extract/extractors.def"
#undef TG_EXTRACTOR
};

/// "greedy-dag", as in `--extract`.
llvm::StringRef extractor_name(Extractor extractor);
/// All of them, in the order of their rows.
std::vector<Extractor> all_extractors();
/// Takes next to no time, and knows no bound.
bool is_greedy(Extractor extractor);
std::vector<Extractor> greedy_extractors();
/// Goes on until it has shown that nothing is cheaper, from a choice that it is given.
bool proves_optimum(Extractor extractor);

// Each of them (greedy: of the options it takes `stop` alone). None is worse than greedy; a solver
// that fails costs optimality, not the answer. Errors: `no_solution` if a root cannot be extracted,
// or none keeps to the byte limit; `limit_no_answer` where it was stopped before.
#define TG_EXTRACTOR(id, name, function, kind)                                                     \
  Result<Extraction> function(const ExtractionProblem& problem, const IlpOptions& options = {});
#include "compiler/extract/extractors.def"
#undef TG_EXTRACTOR

/// The one of that name.
Result<Extraction> run_extractor(const ExtractionProblem& problem, Extractor extractor,
                                 const IlpOptions& options = {});

} // namespace tg
