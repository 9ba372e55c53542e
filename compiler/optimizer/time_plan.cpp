#include "compiler/optimizer/time_plan.h"

namespace tg {

namespace {

/// Shares of the time that is left.
constexpr double kPricing = 0.55; // an operator without a price by then gets none
constexpr double kBeforeReplay = 0.75, kBeforeProof = 0.5, kBeforeWholeRuns = 0.6;
constexpr double kExploration = 0.5, kExplorationIfGreedy = 0.75; // the remainder is for extraction
constexpr double kRefining = 0.5;                                 // of the exploration

/// Shares of the free memory. Extraction takes at least as much as the e-graph again, a chain is
/// trimmed while its e-graph exists, and vectors double as they grow.
constexpr double kExplorationMemory = 0.6, kExplorationMemoryInOne = 0.4, kExtractionMemory = 0.8,
                 kExplanationMemory = 0.6;
constexpr double kMemoryBeforeExplanation = 0.6; // share of the exploration's memory

/// Seconds after the deadline in which a phase finishes.
constexpr double kExtractionGrace = 0.3, kExplanationGrace = 0.5, kWholeRunsGrace = 0.5,
                 kVerificationGrace = 0.7;

constexpr double kPatientUntil = 9, kMostKernelChoice = 1; // seconds

} // namespace

StopToken TimePlan::pricing() const { return end_.within(kPricing * end_.seconds_left()); }

SearchTime TimePlan::search(const SearchWork& work) const {
  double left = end_.seconds_left();
  if (later_.proof || later_.replay) left *= later_.proof ? kBeforeProof : kBeforeReplay;
  if (later_.whole_runs) left *= kBeforeWholeRuns;
  double share = !work.extracts_after_exploring ? 1
                 : work.greedy                  ? kExplorationIfGreedy
                                                : kExploration;
  double memory = (work.extracts_after_exploring ? kExplorationMemoryInOne : kExplorationMemory) *
                  (work.explains ? kMemoryBeforeExplanation : 1);
  double explore_s = share * left;
  return {.explore = end_.with_memory(memory).within(explore_s),
          .extract = end_.with_memory(kExtractionMemory).with_grace(kExtractionGrace).within(left),
          .explore_s = explore_s,
          .refine_s = kRefining * explore_s};
}

StopToken TimePlan::explanation() const {
  return end_.with_memory(kExplanationMemory).with_grace(kExplanationGrace);
}

StopToken TimePlan::whole_runs() const { return end_.with_grace(kWholeRunsGrace); }

ComparisonTime TimePlan::comparison(ComparisonTime wanted, bool guessed) const {
  // The grace is for the minimum number of runs.
  double left = end_.asked() ? 0 : end_.seconds_left();
  double seconds = std::min(wanted.seconds, left);
  double patience = std::min(wanted.patience_s, left);
  if (guessed)
    patience = std::min(patience, std::max(kPatientUntil - since_.seconds() - seconds, 0.0));
  return {seconds, patience};
}

double TimePlan::kernel_choice_s() const {
  return std::min(kMostKernelChoice, end_.asked() ? 0 : end_.seconds_left());
}

StopToken TimePlan::verification() const {
  return end_.with_memory().with_grace(kVerificationGrace);
}

} // namespace tg
