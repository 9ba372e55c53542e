#include "compiler/extract/extractors.h"

namespace tg {

namespace {

struct Row {
  Extractor extractor;
  llvm::StringLiteral name;
  Result<Extraction> (*run)(const ExtractionProblem& problem, const IlpOptions& options);
  bool greedy;
};
constexpr Row kRows[] = {
#define TG_EXTRACTOR(id, name, function, greedy) {Extractor::id, name, function, greedy},
#include "compiler/extract/extractors.def"
#undef TG_EXTRACTOR
};

const Row& row_of(Extractor extractor) { return kRows[static_cast<size_t>(extractor)]; }

} // namespace

llvm::StringRef extractor_name(Extractor extractor) { return row_of(extractor).name; }
bool is_greedy(Extractor extractor) { return row_of(extractor).greedy; }

std::vector<Extractor> all_extractors() {
  std::vector<Extractor> all;
  for (const Row& row : kRows) all.push_back(row.extractor);
  return all;
}

Result<Extraction> run_extractor(const ExtractionProblem& problem, Extractor extractor,
                                 const IlpOptions& options) {
  return row_of(extractor).run(problem, options);
}

} // namespace tg
