// The common last steps of all extractors: the checked figures of a choice, the error if there is
// no choice, and the polling of the stop callback.
#pragma once

#include "compiler/extract/greedy/greedy.h"
#include "compiler/extract/solver/ilp.h"
#include "lang/core/support/stop.h"

namespace tg {

/// Polls IlpOptions::stop: at once, then some ten times a second, however often it is called.
class StopPoll {
public:
  explicit StopPoll(const IlpOptions& options) : options_(options) {}
  bool operator()(double dag_cost = kInfiniteCost, double lower_bound = -kInfiniteCost);

private:
  const IlpOptions& options_;
  Stopwatch watch_;
  double next_ = 0; // seconds
  bool stopped_ = false;
};

/// Returns the error that explains why there is no solution. `greedy` is the result on the
/// whole problem.
Diagnostic no_solution(const ExtractionProblem& problem, const GreedyResult& greedy);

/// Returns the error for work that was stopped before its first solution.
Diagnostic stopped_early();

/// Returns a lower bound that needs no search: the sum of all negative costs.
double sum_of_rewards(const ExtractionProblem& problem);

/// Returns a sound choice, trimmed, with the figures of check_choice().
Extraction checked_answer(const ExtractionProblem& problem, Choice choice, std::string algorithm);

/// Returns the answer of a greedy extractor, with its own estimate of the cost.
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
