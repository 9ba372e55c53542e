#include "compiler/extract/extractors.h"

#include "compiler/extract/answer.h"
#include "compiler/extract/best.h"
#include "compiler/extract/greedy_dag.h"
#include "compiler/extract/greedy_shared.h"
#include "compiler/extract/solver/lp_rounding.h"

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

namespace {

template <class Found>
Result<Extraction> answer_of(const ExtractionProblem& problem, std::optional<Found> found,
                             const char* algorithm, const Stopwatch& watch) {
  if (!found) return no_solution(problem, greedy_trees(problem));
  Extraction out = checked_answer(problem, std::move(found->choice), algorithm);
  out.reported_cost = found->reported_cost;
  out.seconds = watch.seconds();
  return out;
}

Result<Extraction> extract_by_greedy_shared(const ExtractionProblem& problem,
                                            const IlpOptions& options) {
  Stopwatch watch;
  StopQuestion stop(options);
  std::optional<GreedySharedResult> found =
      greedy_shared(problem, options.time_limit_s, [&] { return stop(); });
  std::string note = found ? found->note : "";
  Result<Extraction> out = answer_of(problem, std::move(found), "greedy-shared", watch);
  if (out) out->note = note;
  return out;
}

Result<Extraction> extract_by_greedy_dag(const ExtractionProblem& problem,
                                         const IlpOptions& options) {
  Stopwatch watch;
  GreedyDagLimits limits;
  limits.seconds = options.time_limit_s;
  limits.stop = [stop = StopQuestion(options)]() mutable { return stop(); };
  std::optional<GreedyDagResult> found = greedy_dag(problem, limits);
  std::string stopped = found ? found->stopped : "";
  Result<Extraction> out = answer_of(problem, std::move(found), "greedy-dag", watch);
  if (out && !stopped.empty()) out->note = "greedy-dag: " + stopped;
  return out;
}

} // namespace

Result<Extraction> run_extractor(const ExtractionProblem& problem, Extractor extractor,
                                 const IlpOptions& options) {
  switch (extractor) {
  case Extractor::Greedy: return extract_by_greedy(problem, options);
  case Extractor::GreedyShared: return extract_by_greedy_shared(problem, options);
  case Extractor::GreedyDag: return extract_by_greedy_dag(problem, options);
  case Extractor::Ilp: return extract_by_ilp(problem, options);
  case Extractor::Lp: return extract_by_lp(problem, options);
  case Extractor::Best: return extract_best(problem, options);
  }
  return extract_by_greedy(problem, options);
}

} // namespace tg
