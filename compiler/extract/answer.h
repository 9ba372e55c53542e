// What all extractors do at the end: the checker's figures beside a choice, the error where there
// is none, and whether to go on.
#pragma once

#include "compiler/extract/greedy/greedy.h"
#include "compiler/extract/solver/ilp.h"
#include "lang/core/support/stopwatch.h"

namespace tg {

/// IlpOptions::stop, asked at once and then some ten times a second, however often this is called.
class StopQuestion {
public:
  explicit StopQuestion(const IlpOptions& options) : options_(options) {}
  bool operator()(double dag_cost = kInfiniteCost, double lower_bound = -kInfiniteCost);

private:
  const IlpOptions& options_;
  Stopwatch watch_;
  double next_ = 0; // seconds
  bool stopped_ = false;
};

/// Why there is no answer; `greedy` is the problem's own.
Diagnostic no_solution(const ExtractionProblem& problem, const GreedyResult& greedy);

/// Likewise, where the work was ended before the first one.
Diagnostic stopped_early();

/// A bound that needs no search: all rewards taken, nothing paid.
double sum_of_rewards(const ExtractionProblem& problem);

/// Fills in what the checker says of a sound choice, and trims it.
Extraction checked_answer(const ExtractionProblem& problem, Choice choice, std::string algorithm);

/// Of a greedy extractor, with what it says that the choice costs.
template <class Found>
Result<Extraction> answer_of(const ExtractionProblem& problem, std::optional<Found> found,
                             const char* algorithm, const Stopwatch& watch) {
  if (!found) return no_solution(problem, greedy_trees(problem));
  Extraction out = checked_answer(problem, std::move(found->choice), algorithm);
  out.reported_cost = found->reported_cost;
  out.seconds = watch.seconds();
  return out;
}

} // namespace tg
