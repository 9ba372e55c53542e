#include "compiler/extract/extractors.h"

namespace tg {

namespace {

enum class Kind : uint8_t { Greedy, Bounding, Proving };

struct Row {
  Extractor extractor;
  llvm::StringLiteral name;
  Result<Extraction> (*run)(const ExtractionProblem& problem, const IlpOptions& options);
  Kind kind;
};
constexpr Row kRows[] = {
#define TG_EXTRACTOR(id, name, function, kind) {Extractor::id, name, function, Kind::kind},
#include "compiler/extract/extractors.def"
#undef TG_EXTRACTOR
};

const Row& row_of(Extractor extractor) { return kRows[static_cast<size_t>(extractor)]; }

} // namespace

llvm::StringRef extractor_name(Extractor extractor) { return row_of(extractor).name; }
bool is_greedy(Extractor extractor) { return row_of(extractor).kind == Kind::Greedy; }
bool proves_optimum(Extractor extractor) { return row_of(extractor).kind == Kind::Proving; }

std::vector<Extractor> all_extractors() {
  std::vector<Extractor> all;
  for (const Row& row : kRows) all.push_back(row.extractor);
  return all;
}

std::vector<Extractor> greedy_extractors() {
  std::vector<Extractor> greedy;
  for (const Row& row : kRows)
    if (row.kind == Kind::Greedy) greedy.push_back(row.extractor);
  return greedy;
}

Result<Extraction> run_extractor(const ExtractionProblem& problem, Extractor extractor,
                                 const IlpOptions& options) {
  return row_of(extractor).run(problem, options);
}

} // namespace tg
