#include "compiler/extract/extractors.h"

namespace tg {

namespace {

struct Row {
  Extractor extractor;
  llvm::StringRef name;
};
constexpr Row kRows[] = {{Extractor::Greedy, "greedy"},
                         {Extractor::GreedyShared, "greedy-shared"},
                         {Extractor::GreedyDag, "greedy-dag"},
                         {Extractor::Ilp, "ilp"},
                         {Extractor::Lp, "lp"},
                         {Extractor::Best, "best"}};

constexpr Extractor kAll[] = {Extractor::Greedy, Extractor::GreedyShared, Extractor::GreedyDag,
                              Extractor::Ilp,    Extractor::Lp,           Extractor::Best};

} // namespace

llvm::StringRef extractor_name(Extractor extractor) {
  for (const Row& row : kRows)
    if (row.extractor == extractor) return row.name;
  return "";
}

std::optional<Extractor> extractor_by_name(llvm::StringRef name) {
  for (const Row& row : kRows)
    if (row.name == name) return row.extractor;
  return std::nullopt;
}

llvm::ArrayRef<Extractor> all_extractors() { return kAll; }

Result<Extraction> run_extractor(const ExtractionProblem& problem, Extractor extractor,
                                 const IlpOptions& options) {
  switch (extractor) {
  case Extractor::Greedy: return extract_by_greedy(problem);
  default: return extract_by_ilp(problem, options);
  }
}

} // namespace tg
